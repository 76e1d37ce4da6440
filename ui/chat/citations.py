"""Citations of a stored answer on the page: markers, and the quotes of an answer without a model.

Markers are links with targets, which a bridge in the browser opens. An answer without a model is its best
quote, the cards of the others, and text between them.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import streamlit as st

from rag.citations.support import OPEN, citation_of, markers, passage_of, place_and_heading
from rag.i18n import N_, _, quoted, translated
from rag.text.language import STOP_WORDS, without_particle
from rag.text.markdown import plain_words
from rag.text.tokenize import tokens
from storage.records import CitationRecord, Message, PassageRecord
from ui.components.markdown import VERBATIM, Link

_HANGUL = r"[가-힣]+"
_HAN = r"[\u3400-\u9fff々]+|[ァ-ヺー]+"  # Katakana, too: words that are told apart by their script
_LATIN = r"(?:(?![가-힣\u3041-\u30ff\u3400-\u9fff々])[\w'’-])+(?:[.,]\d+)*%?"
_WORD = re.compile(rf"(?P<hangul>{_HANGUL})|(?P<han>{_HAN})|{_LATIN}")
# Words that ask, and verbs that stand in any sentence.
_ASKING = re.compile("누구|언제|무엇|어디|얼마|어느|어떤|어떻|무슨|하는|있는|되는|[何誰]")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*%?")


@dataclass(frozen=True)
class QuotePart:
    """Part ``content[start:end]`` of an answer, with the number of the passage that it quotes, if any."""

    start: int
    end: int
    marker: int | None = None
    best: bool = False


def is_search_result(message: Message) -> bool:
    """Return True for an answer of quotes: no model wrote it."""
    return message.model is None and message.state == "complete" and bool(message.citations)


def quote_parts(message: Message) -> list[QuotePart]:
    """Return the parts of an answer in order; the entries of a list are no quotes of their own.

    The first quote is the best one, and so is each under the words of a step.
    """
    parts: list[QuotePart] = []
    for part in _parts(message):
        is_quote = part.marker is not None and not _is_entry(message.content, part)
        if is_quote:
            above = parts[-1] if parts and parts[-1].marker is None else None
            parts.append(replace(part, best=above is not None and _is_heading(message, above)))
        elif parts and parts[-1].marker is None:
            parts[-1] = QuotePart(parts[-1].start, part.end)
        else:
            parts.append(QuotePart(part.start, part.end))
    if parts and parts[0].marker is not None:
        first = parts[0]
        parts[0] = QuotePart(first.start, first.end, first.marker, best=True)
    return parts


def _is_entry(content: str, part: QuotePart) -> bool:
    """Return True for an entry of a list of findings, which follow on each other without an empty line.

    The rows of a listed table follow on its header.
    """
    before = content[: part.start]
    follows = before.endswith("\n") and not before.endswith("\n\n")
    if content.startswith("| ", part.start):
        return follows
    return content.startswith("- ", part.start) and (follows or before.rstrip().endswith(":**"))


def _is_heading(message: Message, part: QuotePart) -> bool:
    return message.content[part.start : part.end].rstrip().endswith("**")


def _parts(message: Message) -> Iterator[QuotePart]:
    end = 0
    for citation in sorted(message.citations, key=lambda one: one.answer_start):
        if citation.answer_start < end:
            continue
        if message.content[end : citation.answer_start].strip():
            yield QuotePart(end, citation.answer_start)
        yield QuotePart(citation.answer_start, citation.answer_end, citation.marker)
        end = citation.answer_end
    if message.content[end:].strip():
        yield QuotePart(end, len(message.content))


def in_bold(text: str, question: str) -> str:
    """Return Markdown with the words of a question in bold: of Korean words the stem, of Japanese its nouns.

    Code and addresses stay as they are. Words that follow on each other are one bold run: two would need
    marks side by side, which Markdown shows as stars.

    >>> in_bold("The mill opened in 1932.", "When did the mill open?")
    'The **mill** **opened** in 1932.'
    >>> in_bold("It fell 1% to 1.2 million on May 1.", "May 1?")  # a number is marked as a whole
    'It fell 1% to 1.2 million on **May** **1**.'
    >>> in_bold("계약 기간은 누구나 볼 수 있다. 2분기", "누구의 2분기 계약 기간인가요?")
    '**계약** **기간**은 누구나 볼 수 있다. **2분기**'
    """
    shown, end = "", 0
    for start, stop in _joined(_bold_spans(text, question)):
        shown += f"{text[end:start]}**{text[start:stop]}**"
        end = stop
    return shown + text[end:]


def _bold_spans(text: str, question: str) -> Iterator[tuple[int, int]]:
    """Yield the places of the question's words in a text, in order."""
    found = list(_WORD.finditer(question))
    stems = [without_particle(word[0]) for word in found if word["hangul"] and not _ASKING.match(word[0])]
    runs = [word[0] for word in found if word["han"] and not _ASKING.match(word[0])]
    words = [word[0] for word in found if not (word["hangul"] or word["han"])]
    asked = frozenset(tokens(" ".join(words)))
    verbatim = [match.span() for match in VERBATIM.finditer(text)]
    for match in _WORD.finditer(text):
        word, start = match[0], match.start()
        if any(first < match.end() and start < last for first, last in verbatim):
            continue
        if match["hangul"]:
            length = max((_same_beginning(stem, word) for stem in stems), default=0)
            yield from [(start, start + length)] if length > 1 else []
        elif match["han"]:
            yield from ((start + first, start + last) for first, last in _shared_parts(word, runs))
        elif word in words if _NUMBER.fullmatch(word) else _is_asked(word, asked):
            yield match.span()


def _is_asked(word: str, asked: frozenset[str]) -> bool:
    return word.casefold() not in STOP_WORDS["en"] and bool(asked & frozenset(tokens(word)))


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join spans of which one begins where the other ends.

    >>> _joined([(0, 1), (1, 3), (4, 5)])
    [(0, 3), (4, 5)]
    """
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and joined[-1][1] == start:
            start = joined.pop()[0]
        joined.append((start, end))
    return joined


def _same_beginning(one: str, other: str) -> int:
    """Return the number of characters with which both begin."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _shared_parts(run: str, asked: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield what of a run of one script stands in one of the question, from two characters on.

    >>> list(_shared_parts("契約期間中", ["賃貸契約", "期間"]))
    [(0, 2), (2, 4)]
    """
    at = 0
    while at < len(run):
        starts = [start for one in asked for start in _places(run[at : at + 2], one)]
        length = max((_same_beginning(rest, run[at:]) for rest in starts), default=0)
        if length:
            yield at, at + length
        at += length or 1


def _places(pair: str, run: str) -> list[str]:
    """Return what a run says from each place on where a pair of characters stands in it."""
    return [run[at:] for at in range(len(run) - 1) if run[at : at + 2] == pair]


STATUSES = {"verified": N_("Verified: {hint}"), "differs": N_("Differs from the source: {hint}")}
SIGNS = {"verified": "✓", "differs": "≠"}
"""Signs of a marker; a statement that is not confirmed has none."""
CHECKING = N_("Checking: {hint}")
MAX_HINT = 180  # characters of the quote shown on hover


@dataclass(frozen=True)
class CitedPassage:
    """Passage that an answer was given, with the citation of its words, if any."""

    message: Message
    passage: PassageRecord
    citation: CitationRecord | None

    @classmethod
    def outside(cls, text: str, passage: PassageRecord, citation: CitationRecord) -> "CitedPassage":
        """Return a passage cited by a text that is no answer of a chat."""
        message = Message(
            "", "assistant", text, "complete", None, None, None, None, {}, datetime.now(UTC),
            passages=(passage,), citations=(citation,),
        )  # fmt: skip
        return cls(message, passage, citation)

    @property
    def exact(self) -> bool:
        """Return True if words of the passage are cited, not only the passage."""
        return self.citation is not None and bool(self.citation.quote)

    @property
    def start(self) -> int:
        """First code point of the cited words in the document's text; of the passage where none are."""
        return self.citation.quote_start if self.citation and self.exact else self.passage.start

    @property
    def end(self) -> int:
        """One past the last code point of the same."""
        return self.citation.quote_end if self.citation and self.exact else self.passage.end

    @property
    def quote(self) -> str:
        """The cited words as they were stored with the answer; the passage where none are."""
        return self.citation.quote if self.citation and self.exact else self.passage.text


def links(
    message: Message, *, checking: bool = False, rows: Mapping[str, str] | None = None
) -> list[tuple[int, Link]]:
    """Return the offset of each marker in an answer and what it opens; unknown numbers are left out.

    While the model reads for open statements, the hints of their markers say so. `rows` are the cited rows
    of spreadsheets, by target.
    """
    numbers = quote_numbers(message)
    return [
        (
            offset,
            Link(
                cited.passage.number,
                target_of(cited),
                _hint(cited, checking, (rows or {}).get(target_of(cited), "")),
                SIGNS.get(_status(cited), ""),
                numbers.get(target_of(cited), 0),
            ),
        )
        for offset, cited in marked(message)
    ]


def quote_numbers(message: Message) -> dict[str, int]:
    """Return the number of each target in an answer of quotes: quotes are counted there, not passages."""
    if not is_search_result(message):
        return {}
    targets = dict.fromkeys(target_of(cited) for _, cited in marked(message))
    return {target: number for number, target in enumerate(targets, 1)}


def passage_numbers(message: Message) -> dict[int, str]:
    """Return what the page calls each passage of an answer: its number, or those of the quotes from it.

    A passage that an answer of quotes does not quote has none.
    """
    quotes = quote_numbers(message)
    if not quotes:
        return {one.number: str(one.number) for one in message.passages}
    called: dict[int, set[int]] = {}
    for _offset, cited in marked(message):
        called.setdefault(cited.passage.number, set()).add(quotes[target_of(cited)])
    return {number: ", ".join(map(str, sorted(of))) for number, of in called.items()}


def marked(message: Message) -> list[tuple[int, CitedPassage]]:
    """Return the offset of each marker in an answer and what it cites; unknown numbers are left out."""
    return [
        (offset, CitedPassage(message, passage, None if at is None else message.citations[at]))
        for offset, number in markers(message.content)
        if (passage := passage_of(message, number)) is not None
        for at in [citation_of(message, offset, number)]
    ]


def target_of(evidence: CitedPassage) -> str:
    """Name a citation for a link: answer and position, or answer and passage: "a1-0", "a1-p2"."""
    if evidence.citation is None:
        return f"{evidence.message.id}-p{evidence.passage.number}"
    return f"{evidence.message.id}-{evidence.message.citations.index(evidence.citation)}"


def resolve(message: Message, place: str) -> CitedPassage | None:
    """Return the passage that `place` names in an answer, "0" or "p2"; None if unknown."""
    if place.startswith("p"):
        passage = passage_of(message, _number(place[1:]))
        return CitedPassage(message, passage, None) if passage else None
    position = _number(place)
    if not 0 <= position < len(message.citations):
        return None
    citation = message.citations[position]
    cited = passage_of(message, citation.marker)
    return CitedPassage(message, cited, citation) if cited else None


def cited_numbers(message: Message) -> list[int]:
    """Return the numbers of the cited passages, in order of first appearance."""
    return list(dict.fromkeys(evidence.passage.number for _, evidence in marked(message)))


def _number(digits: str) -> int:
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 6 else -1


def _status(evidence: CitedPassage) -> str:
    """Return the status that a marker shows: none for an answer without a model, which is of quotes."""
    return evidence.citation.status if evidence.citation and evidence.message.model is not None else ""


def _hint(evidence: CitedPassage, checking: bool, row: str) -> str:
    words = " ".join(plain_words(evidence.quote).replace("\t", ", ").split())
    short = words if len(words) <= MAX_HINT else words[: MAX_HINT - 1].rstrip() + "…"
    told = _status(evidence)
    if evidence.passage.is_from_picture:
        place = translated(place_and_heading(evidence.passage))
        return _("Read from a picture by a model: {hint}", hint=f"{short} — {place}")
    place = ", ".join(filter(None, [translated(place_and_heading(evidence.passage)), row]))
    hint = f"{quoted(short)} — {place}"
    status = CHECKING if checking and told in OPEN else STATUSES.get(told)
    return _(status, hint=hint) if status else hint


# A click, or Enter, on a link to `#cite-...` opens its source.
BRIDGE_KEY = "markers"
PANEL = "source-panel"
"""Key of the container that the bridge makes a panel, which takes the focus when it opens."""
_JS = """
const LINK = 'a[href^="#cite-"]';
const ANSWERED = '[class*="st-key-asked-"]', PRESSED = `${LINK}, button, summary`;
const READ = `${ANSWERED} [data-testid="stChatMessage"] [data-testid="stMarkdownContainer"] > *`;
const HELD = 1500;  // milliseconds in which the page around the panel is drawn
let send = () => {};
let last = null;
let panel = false, entered = false;  // whether the panel is there, and was given the focus
let opener = null;
let hint = null;
let leaving = 0;
let words = {};
let current = '';  // the source in the panel, whose marker is brought into sight
let until = 0;  // time to which it is kept there: a page that is drawn anew may lose its place
let held = null;  // what was pressed, or read, and its height on the screen
let holding = 0;  // time to which it is kept at that height: beside the panel the answers are narrower

function open(event) {
  note(event.target);
  const link = event.target instanceof Element ? event.target.closest(LINK) : null;
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  hide();
  last = link.getAttribute('href');
  send('opened', link.getAttribute('href').slice('#cite-'.length));
}

function name() {
  for (const link of document.querySelectorAll(`${LINK}[title], ${LINK}:not([aria-haspopup])`)) {
    const number = link.textContent.replace(/[^0-9]/g, '');
    link.setAttribute('aria-haspopup', 'dialog');
    const hint = link.title || words.open;
    const name = words.source.replace('{number}', number).replace('{hint}', () => hint);
    link.setAttribute('aria-label', name);
    link.dataset.hint = link.title;
    link.removeAttribute('title');  // the browser would show it a second time, and never on focus
  }
}

function pointed(event) {
  return event.target instanceof Element ? event.target.closest(LINK + ', #cite-hint') : null;
}

function show(event) {
  const at = pointed(event);
  if (!at) return;
  clearTimeout(leaving);
  if (at.id === 'cite-hint' || !at.dataset.hint) return;
  if (event.type === 'focusin' && !at.matches(':focus-visible')) return;
  hide();
  hint = document.createElement('div');
  hint.id = 'cite-hint';
  hint.setAttribute('aria-hidden', 'true');  // the link's own name says it
  hint.textContent = at.dataset.hint;
  (at.closest('.stApp') || document.body).append(hint);
  const box = at.getBoundingClientRect();
  const left = Math.min(box.left, innerWidth - hint.offsetWidth - 8);
  const below = box.bottom + 6 + hint.offsetHeight < innerHeight;
  hint.style.left = `${Math.max(8, left)}px`;
  hint.style.top = `${below ? box.bottom + 6 : box.top - 6 - hint.offsetHeight}px`;
}

function leave(event) {
  clearTimeout(leaving);
  if (pointed(event)) leaving = setTimeout(hide, 150);  // time to move onto the hint
}

function hide() {
  clearTimeout(leaving);
  if (hint) hint.remove();
  hint = null;
}

function escape(event) {
  if (event.key !== 'Escape') return;
  hide();
  note(null);
}

// A table that was drawn again has another button at the place of the one that was pressed.
function drawnAgain(button) {
  const key = button.dataset.focus;
  const roots = [...document.querySelectorAll('*')].map((one) => one.shadowRoot).filter(Boolean);
  return key && roots.map((root) => root.querySelector(`[data-focus="${CSS.escape(key)}"]`)).find(Boolean);
}

function active() {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  return at;
}

// On a phone the panel lies over the answer: what is under it stays where it is.
function isSeen(link) {
  const box = link.getBoundingClientRect();
  const input = document.querySelector('[data-testid="stBottom"]')?.getBoundingClientRect();
  const at = document.elementFromPoint(box.left + box.width / 2, box.top + 1);
  if (at?.closest('.st-key-source-panel')) return true;
  return at !== null && link.contains(at) && box.bottom <= (input?.top ?? innerHeight);
}

// The marker of the source in the panel is marked and in sight, also where another one was turned to there.
function point() {
  for (const link of document.querySelectorAll(LINK)) {
    const on = link.getAttribute('href') === `#cite-${words.chosen}`;
    if (on !== link.hasAttribute('aria-current')) {
      if (on) link.setAttribute('aria-current', 'true'); else link.removeAttribute('aria-current');
    }
    if (!on) continue;
    if (current !== words.chosen) {
      current = words.chosen;
      until = performance.now() + 1500;
      for (const after of [200, 600, 1200]) setTimeout(point, after);
    }
    if (performance.now() < until && !isSeen(link)) bring(link);
  }
  if (!words.chosen) current = '';
}

// A table is scrolled sideways to its marker, too.
function bring(link) {
  link.scrollIntoView({ block: 'center' });
  hold();
  if (!isSeen(link)) link.scrollIntoView({ block: 'center' });
}

function leaveAlone() {
  until = 0;
  holding = 0;
  held = null;
}

// What is pressed in an answer is held; where something else is pressed, what opened the panel, or is read.
function note(target) {
  const pressed = target instanceof Element && target.closest(ANSWERED) ? target.closest(PRESSED) : null;
  const marked = [...document.querySelectorAll(`${LINK}[aria-current]`)].find(isSeen);
  const before = panel && opener?.isConnected && isOnScreen(opener) ? opener : null;
  const element = pressed || marked || before || [...document.querySelectorAll(READ)].find(isRead);
  held = element ? { element, again: finder(element), top: element.getBoundingClientRect().top } : null;
}

function isRead(block) {
  const question = block.closest(ANSWERED).querySelector('[class*="st-key-question-"]');
  return block.getBoundingClientRect().top >= (question?.getBoundingClientRect().bottom ?? 0);
}

function isOnScreen(element) {
  const box = element.getBoundingClientRect();
  return element.closest(ANSWERED) !== null && box.top >= 0 && box.bottom <= innerHeight;
}

// A page that is drawn anew may have another element at the place of the one that is held.
function finder(element) {
  const href = element.getAttribute('href');
  const [key] = element.closest('[class*="st-key-"]').className.match(/st-key-[^ ]+/);
  return href ? `${LINK}[href="${CSS.escape(href)}"]` : `.${CSS.escape(key)}`;
}

function hold() {
  if (!held || performance.now() > holding) return;
  const element = held.element.isConnected ? held.element : document.querySelector(held.again);
  const main = element?.closest('.stMain');
  const moved = element ? element.getBoundingClientRect().top - held.top : 0;
  if (main && Math.abs(moved) > 1) main.scrollBy({ top: moved, behavior: 'instant' });
}

function holdSoon() {
  holding = performance.now() + HELD;
  hold();
  for (const after of [200, 600, 1200]) setTimeout(hold, after);
}

// The panel takes the focus when it opens, as soon as it can be closed; when it closes, the focus returns to
// what opened it.
function follow() {
  const shown = document.querySelector('.st-key-source-panel');
  if (panel !== (shown !== null)) holdSoon();
  if (shown && !shown.hasAttribute('role')) {
    shown.setAttribute('role', 'dialog');
    shown.setAttribute('aria-label', words.panel);
    shown.tabIndex = -1;
  }
  if (shown && !panel) opener = active();
  if (shown && !entered && shown.querySelector('.st-key-source-close button')) {
    entered = true;
    shown.focus({ preventScroll: true });
  }
  if (!shown) entered = false;
  if (panel && !shown && last) {
    for (const link of document.querySelectorAll(LINK)) {
      if (link.getAttribute('href') === last) { link.focus(); break; }
    }
    last = null;
  } else if (panel && !shown && opener) {
    (opener.isConnected ? opener : drawnAgain(opener))?.focus();
  }
  panel = shown !== null;
}

const watch = new MutationObserver(() => { name(); follow(); hold(); point(); });

const LISTENERS = [
  ['click', open], ['mouseover', show], ['focusin', show], ['mouseout', leave], ['focusout', leave],
  ['keydown', escape], ['scroll', hide], ['wheel', leaveAlone], ['touchmove', leaveAlone],
];

export default function (component) {
  send = component.setTriggerValue;
  words = component.data;
  for (const [kind, listener] of LISTENERS) document.addEventListener(kind, listener, true);
  watch.observe(document.body, { childList: true, subtree: true });
  name();
  follow();
  point();
  return () => {
    hide();
    for (const [kind, listener] of LISTENERS) document.removeEventListener(kind, listener, true);
    watch.disconnect();
  };
}
"""
_bridge = st.components.v2.component("footnote_markers", js=_JS)


def listen(opened: Callable[[str], None], chosen: str = "") -> None:
    """Mount the browser bridge; `opened` is called with the target of a marker that was activated.

    The marker of the target `chosen`, which is in the panel, is brought into sight.
    """

    def changed() -> None:
        target = st.session_state[BRIDGE_KEY].get("opened")
        if isinstance(target, str):
            opened(target)

    _bridge(
        key=BRIDGE_KEY,
        height=1,
        data={
            "source": _("Source {number}: {hint}", number="{number}", hint="{hint}"),
            "open": _("open the source"),
            "panel": _("Source"),
            "chosen": chosen,
        },
        on_opened_change=changed,
    )
