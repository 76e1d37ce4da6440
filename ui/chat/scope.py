"""Scope of a conversation: the documents, collections and tags it searches, shown above the input."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from functools import partial

import streamlit as st

from rag.chat.map_reduce import Coverage
from rag.chat.scope import DocumentFilter, NarrowedTo, counted, file_type, filter_in_words
from rag.i18n import N_, _, enumerated, ngettext, translated, written_period
from rag.workspace import Workspace
from storage.choices import FILTERS, Chosen, Filter, Kind
from storage.collections import LONGEST_NAME, LONGEST_TAG
from storage.records import ConversationRecord, Message
from ui import pages
from ui.components.job_progress import unread_line
from ui.components.markdown import label, plain_line
from ui.components.messages import flash, flash_errors

_CONTROL = "scope-expander"
_CHANGED, _SHOWN_FOR = "scope-changed", "scope-shown-for"  # whether it was, and the chat whose form was shown
NEXT, _CHOSEN_AT = "scope-next", "scope-next-chosen-at"  # scope of a chat that has not begun, and since when
ALL = N_("All documents")
OLDEST = date(1900, 1, 1)

_RANGE = re.compile(r"(\d{4}-\d\d-\d\d) to (\d{4}-\d\d-\d\d)")
_DAY = re.compile(  # none inside of a file's name; a month in parentheses, that of the latest document
    r"(?<![\w.-])\d{4}-\d\d-\d\d(?![\d.-])(?! \w)|(?<=\()\d{4}-\d\d(?=\))"
)
# A filter of a stored answer, also as earlier versions wrote it: "to 2025-12-31".
_FILTER = re.compile(
    r"(?:documents )?(?P<side>from|until|to) (?P<day>\d{4}-\d\d-\d\d)|(?P<type>[A-Z0-9]+) files"
)
_MORE = re.compile(r" and (\d+) more$")

MAX_NAMED = 3  # documents that were added since
MAX_CHIPS = 8  # of a scope; more of it are only counted

Choice = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[Filter, ...]]
"""Ids of collections, documents and tags, and filters."""
NO_CHOICE: Choice = ((), (), (), ())


def show(conversation: ConversationRecord | None, here: Workspace) -> None:
    """Show the scope and a form to change it; nothing while the library is empty."""
    choices = here.choices
    chosen = choices.of(conversation.id) if conversation else choices.would_be(*next_choice())
    if not chosen and not here.library.documents.count():
        return
    with st.container(key="scope", horizontal=True):
        _show_chips(chosen, conversation, here)
        _show_control(chosen, conversation, here)
        if conversation is None:
            _offer_added(here)


def _show_control(chosen: Sequence[Chosen], conversation: ConversationRecord | None, here: Workspace) -> None:
    _close_if_done(conversation)
    # No popover: it would open below the input, where there is no space.
    icon = "library_books" if not chosen else "filter_alt" if counted(chosen) else "warning"
    said = bool(chosen) and all(one.there for one in chosen)  # by the chips
    control = st.expander(
        _("Change") if said else _("Search in: {scope}", scope=label(summary(chosen), 60)),
        icon=f":material/{icon}:",
        type="compact",
        key=_CONTROL,
        on_change="rerun",
    )
    if control.open:
        with control:
            _show_choice(conversation, here, chosen)


def _close_if_done(conversation: ConversationRecord | None) -> None:
    """Close the form, which hides a part of the chat, after a choice and where another chat is open."""
    chat = conversation.id if conversation else ""
    changed = st.session_state.pop(_CHANGED, False)
    if changed or st.session_state.get(_SHOWN_FOR, chat) != chat:
        st.session_state[_CONTROL] = False
    st.session_state[_SHOWN_FOR] = chat


def next_choice() -> Choice:
    """Return the scope of the next chat: collections, documents and tags."""
    choice: Choice = st.session_state.get(NEXT, NO_CHOICE)
    return choice


def forget_next() -> None:
    """Reset the scope of the next chat to all documents."""
    st.session_state.pop(NEXT, None)


def choose_next(collections: Collection[str] = (), documents: Collection[str] = ()) -> None:
    """Set the scope of a new chat, which opens next, to these collections and documents."""
    _set_next((tuple(collections), tuple(documents), (), ()))
    pages.keep_chat(None)


def _set_next(choice: Choice) -> None:
    st.session_state[NEXT], st.session_state[_CHOSEN_AT] = choice, datetime.now(UTC)


def _offer_added(here: Workspace) -> None:
    """Say which documents came after the scope of the next chat was chosen; a button adds them to it."""
    chosen_at: datetime | None = st.session_state.get(_CHOSEN_AT)
    if chosen_at is None or not any(next_choice()[:3]):
        return
    collections, documents, tags, filters = next_choice()
    inside = {
        *documents,
        *here.library.collections.documents_of(collections),
        *here.tags.documents_of(tags),
    }
    added = [
        one
        for one in here.documents()
        if one.created > chosen_at and one.state != "refused" and one.id not in inside
    ]
    if added:
        names = [label(one.name, 40) for one in added[:MAX_NAMED]]
        if more := added[MAX_NAMED:]:
            names.append(_("{number} more", number=f"{len(more):,}"))
        st.caption(_("Added since, not searched: {names}", names=enumerated(names)), width="content")
        wider = (collections, (*documents, *(one.id for one in added)), tags, filters)
        st.button(
            _("Search these too"), icon=":material/add:", key="scope-added", on_click=_set_next, args=(wider,)
        )


def _show_chips(chosen: Sequence[Chosen], conversation: ConversationRecord | None, here: Workspace) -> None:
    """Show each choice as a chip that one click removes; without any, all documents are searched."""
    if not chosen:
        return
    with st.container(key="scope-chips", horizontal=True, gap="xsmall", vertical_alignment="center"):
        if all(one.there for one in chosen):
            st.caption(_("Search in:"), width="content")
        for one in chosen[:MAX_CHIPS]:
            name = _filter_chip(one) if one.kind in FILTERS else one.name
            shown = label(name, 40) if one.there else _("{name} (deleted)", name=label(name, 40))
            show_chip(shown, f"chip-{one.kind}-{one.id}", partial(_drop, conversation, here, one))
        if len(chosen) > MAX_CHIPS:
            st.caption(_("and {number} more", number=f"{len(chosen) - MAX_CHIPS:,}"), width="content")


def _filter_chip(one: Chosen) -> str:
    """Return a filter as the words of its chip: "Documents until 31 Dec 2025"."""
    said = filter_in_page_words(one.kind, one.id)
    return said[:1].upper() + said[1:]


def show_chip(name: str, key: str, remove: Callable[[], object]) -> None:
    """Show a part of a scope that one click removes; the style sheet hides the verb, which is read aloud."""
    st.button(
        _("*Remove* {name}", name=name),
        icon=":material/close:",
        icon_position="right",
        key=key,
        on_click=flash_errors(remove),
    )


def _drop(conversation: ConversationRecord | None, here: Workspace, one: Chosen) -> None:
    if conversation is not None:
        here.choices.drop(conversation.id, one)
        return
    collections, documents, tags, filters = next_choice()
    ids = (tuple(id_ for id_ in ids if id_ != one.id) for ids in (collections, documents, tags))
    st.session_state[NEXT] = (*ids, tuple(each for each in filters if each != (one.kind, one.id)))


def summary(chosen: Sequence[Chosen]) -> str:
    """Return the scope in a few words: "All documents", or "2 collections, 1 document"."""
    there = [one for one in chosen if one.there]
    if chosen and not there:
        return _("nothing (the selection was deleted)")
    gone = len(chosen) - len(there)
    if not chosen:
        return translated(ALL)
    said = counted(chosen)
    return _("{chosen} ({gone} deleted)", chosen=said, gone=gone) if gone else said


def answer_scope(message: Message, now: str) -> str:
    """Return the scope of an answer, if it is not the one that the chat has `now` and the chips show.

    An answer that reworks an earlier one was not searched, and has none.
    """
    reworked = bool(message.timings_ms) and "retrieve" not in message.timings_ms
    said = message.searched_in or ""
    if said == now or not message.passages or (reworked and not said):
        return ""
    return searched_in(said or _("all documents"))


def searched_in(said: str) -> str:
    """Return the scope of an answer, as it is stored, as Markdown."""
    return _("Searched in: {scope}", scope=label(in_page_words(said), 300))


def narrowed_to(said: str) -> str:
    """Return as Markdown which documents the question of an answer names."""
    return ":material/filter_alt: " + _("Only documents of: {said}", said=label(in_page_words(said), 300))


def in_page_words(said: str) -> str:
    """Return what a scope, a filter or a question names, in the language of the page, with its days.

    >>> in_page_words("Apple Inc., 2023-04-02 to 2023-07-01 and 2 more")
    'Apple Inc., 2 Apr 2023 – 1 Jul 2023 and 2 more'
    >>> in_page_words("PDF files, documents until 2023-07-01")
    'PDF files, documents until 1 Jul 2023'
    >>> in_page_words("latest (2024-03)")
    'latest (March 2024)'
    """
    more = _MORE.search(said)
    whole = said[: more.start()] if more else said
    named = ", ".join(map(_part_in_page_words, whole.split(", ")))
    named = _DAY.sub(_written, _RANGE.sub(r"\1 – \2", named))
    if more is None:
        return named
    return ngettext("{names} and {count} more", "{names} and {count} more", int(more[1]), names=named)


def _part_in_page_words(part: str) -> str:
    """Return one part of a scope, as it is stored, in the language of the page."""
    match = _FILTER.fullmatch(part)
    if match is None:
        return translated(part)
    if match["type"]:
        return filter_in_page_words("type", f".{match['type']}")
    return filter_in_page_words("since" if match["side"] == "from" else "until", match["day"])


def filter_in_page_words(kind: Kind, value: str) -> str:
    """Return a filter in the language of the page.

    >>> filter_in_page_words("until", "2023-07-01")
    'documents until 1 Jul 2023'
    """
    shown = value if kind == "type" else _DAY.sub(_written, value)
    return translated(filter_in_words(kind, shown))


def _written(match: re.Match[str]) -> str:
    try:
        return written_period(match[0])
    except ValueError:
        return match[0]


def told(event: NarrowedTo | Coverage) -> str:
    """Return which documents a question names, or how much of them was read, as Markdown."""
    if isinstance(event, Coverage):
        return f":material/menu_book: {translated(event.said())}"
    return narrowed_to(event.said)


def _show_choice(conversation: ConversationRecord | None, here: Workspace, chosen: Sequence[Chosen]) -> None:
    records = [record for record in here.documents() if record.replaces is None]
    kept = {one.id for one in chosen}
    documents = [record for record in records if record.state != "refused" or record.id in kept]
    names = distinct({record.id: plain_line(record.name, 80) for record in documents})
    collections = {one.id: plain_line(one.name, LONGEST_NAME) for one in here.library.collections.list()}
    tagged = {one.id: plain_line(one.name, LONGEST_TAG) for one in here.tags.list()}
    with st.form("scope-form", border=False):
        st.caption(
            _(
                "Leave empty to search all {number} documents. The date is the one written in the document.",
                number=f"{sum(record.state != 'refused' for record in documents):,}",
            )
        )
        if collections or tagged:
            st.caption(adding_up())
        if unread := unread_line(records):
            st.caption(unread)
        if gone := ", ".join(label(one.name, 60) for one in chosen if not one.there):
            st.caption(":material/warning: " + _("Deleted: {names}.", names=gone))
        single = _pick(_("Documents"), names, "document", chosen)
        with st.container(horizontal=True, gap="small"):
            wanted = _pick(_("Collections"), collections, "collection", chosen)
            tags = _pick(_("Tags"), tagged, "tag", chosen)
        now = DocumentFilter.of(chosen)
        of = pick_filter(names.values(), now, "scope-" + "-".join(value for _, value in now.choices))
        with st.container(horizontal=True, gap="small"):
            search = st.form_submit_button(_("Search these"), type="primary")
            search_all = st.form_submit_button(_("Search all documents"), disabled=not chosen)
    if search_all:
        _keep(conversation, here, NO_CHOICE)
        st.rerun()
    if search and not (single or wanted or tags or of.choices or chosen):
        flash(_("Nothing is chosen. Choose what to search in first."), ":material/filter_alt_off:")
        st.rerun()
    elif search:
        among = {*single, *here.library.collections.documents_of(wanted), *here.tags.documents_of(tags)}
        if any(of.passing(here.library.profiles().values(), among or None)):
            _keep(conversation, here, (tuple(wanted), tuple(single), tuple(tags), of.choices))
        else:
            flash(_none_passes(of), ":material/filter_alt_off:")
        st.rerun()


def adding_up() -> str:
    """Return how what is chosen goes together: what is named adds up, types and dates narrow it."""
    return _("Documents, collections and tags add up. File types and dates then narrow the choice.")


def _none_passes(of: DocumentFilter) -> str:
    """Return that no document is of the chosen types and dates, naming only what was chosen."""
    if of.types and (of.since or of.until):
        return _("No document has that type and date. The choice is unchanged.")
    if of.types:
        return _("No document has that type. The choice is unchanged.")
    if of.since or of.until:
        return _("No document has a date in that time. The choice is unchanged.")
    return _("No document is in what was chosen. The choice is unchanged.")


def pick_filter(names: Iterable[str], now: DocumentFilter, key: str) -> DocumentFilter:
    """Show file types and days to choose documents by, under keys that begin with `key`."""
    types = sorted({*now.types, *(kind for name in names if (kind := file_type(name)))})
    with st.container(horizontal=True, gap="small"):
        picked = st.multiselect(
            _("File types"),
            types,
            default=sorted(now.types),
            format_func=lambda ending: ending.removeprefix(".").upper(),
            placeholder=_("Any"),
            key=f"{key}-types",
        )
        since = st.date_input(_("Dated from"), value=now.since, min_value=OLDEST, key=f"{key}-since")
        until = st.date_input(_("Dated to"), value=now.until, min_value=OLDEST, key=f"{key}-until")
    return DocumentFilter(frozenset(picked), since, until)


def _pick(title: str, names: Mapping[str, str], kind: Kind, chosen: Sequence[Chosen]) -> list[str]:
    """Show a multiselect; its key changes when another tab changes the scope."""
    if not names:
        return []
    ids = [one.id for one in chosen if one.kind == kind and one.id in names]
    return st.multiselect(
        title,
        list(names),
        default=ids,
        format_func=lambda id_: names.get(id_, id_),
        placeholder=_("None selected"),
        key=f"scope-{kind}-{'-'.join(ids)[:200]}",
    )


def distinct(names: Mapping[str, str]) -> dict[str, str]:
    """Return names by id, made distinct, since a list of options identifies them by their text.

    >>> distinct({"3fa29c": "README.md", "81c025": "README.md", "aa0000": "a.md"})
    {'3fa29c': 'README.md · 3fa2', '81c025': 'README.md · 81c0', 'aa0000': 'a.md'}
    """
    there = Counter(names.values())
    return {id_: f"{name} · {id_[:4]}" if there[name] > 1 else name for id_, name in names.items()}


@flash_errors
def _keep(conversation: ConversationRecord | None, here: Workspace, choice: Choice) -> None:
    if conversation is None:
        _set_next(choice)
    else:
        here.choices.choose(conversation.id, *choice)
    st.session_state[_CHANGED] = True
