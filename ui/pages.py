"""Pages of the app, so that each can link to the others; style sheet, drawer and tab title of them all."""

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from rag.i18n import N_, _, language, translated
from ui.components.markdown import plain_line

_OPEN, _AWAY = "open-chat", "away-from-chat"  # the chat to come back to from another page
_bodies: dict[str, Callable[[], None]] = {}
_ICONS = {
    "CHAT": ":material/forum:",
    "GRID": ":material/table_chart:",
    "CHECK": ":material/fact_check:",
    "LIBRARY": ":material/library_books:",
    "SETTINGS": ":material/tune:",
    "ACTIVITY": ":material/history:",
    "PEOPLE": ":material/group:",
    "LAB": ":material/science:",
    "TREES": ":material/account_tree:",
}
_ADVANCED = frozenset({"LAB", "TREES"})  # linked from the advanced settings, and not in the navigation
_TITLES = {
    "CHAT": N_("Chat"),
    "GRID": N_("Grids"),
    "CHECK": N_("Check a text"),
    "LIBRARY": N_("Library"),
    "SETTINGS": N_("Settings"),
    "ACTIVITY": N_("Activity"),
    "PEOPLE": N_("People"),
    "LAB": N_("Lab"),
    "TREES": N_("Trees"),
}


def __getattr__(name: str) -> st.Page:
    """Return a new page: Streamlit makes complete ones in a script run only, and keeps state in them."""
    if name not in _ICONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _page(name)


def _page(name: str, *, listed: bool = True) -> st.Page:

    def show() -> None:
        _bodies[name]()

    return st.Page(
        show,
        title=translated(_TITLES[name]),
        icon=_ICONS[name],
        url_path=name.lower(),
        default=name == "CHAT",
        visibility="visible" if listed and name not in _ADVANCED else "hidden",
    )


def register(**bodies: Callable[[], None]) -> None:
    """Set the functions that draw the pages, by name; this module imports none of them."""
    _bodies.update(bodies)


def for_visitor(*, people: bool, signs_in: bool = True) -> list[st.Page]:
    """Return the pages of one run, with the People page or without it.

    Where nobody signs in the Activity page is not listed: Settings leads there.
    """
    shown = [name for name in _ICONS if people or name != "PEOPLE"]
    return [_page(name, listed=signs_in or name != "ACTIVITY") for name in shown]


MAX_TITLE = 60  # characters: browsers cut longer tab titles

# On a narrow screen the drawer lies over the page, so choosing a page or a chat closes it. What scrolls
# takes the focus, what can be undone is read aloud, and so is the end of reading. What Streamlit says in
# English, and no parameter changes, is said in the language of the page. A panel that opens with a field
# takes what is typed. The theme is a choice of Streamlit's menu, which no parameter makes: Settings presses
# it there, or has the page loaded with it where there is no menu, and shows which is kept.
_HTML = """<p class="footnote-told" role="status"></p>"""
_JS = """
const SCROLLS = '[data-testid="stMarkdownContainer"] table:not([tabindex])';
const CELLS = ':is([data-testid="stMarkdownContainer"], [data-testid="stTable"]) :is(td, th)';
const WHOLE = /^(?=.{1,24}$)(?=.*\\d)\\S+(?:\\s\\S{1,8}){0,2}$/;  // a date, a number with its unit
const READING = '.st-key-ingest [role="progressbar"]';
const LINKS = '[data-testid="stSidebarNavLink"]';
const CHOICES = `.st-key-chats button, .st-key-new-chat button, ${LINKS}`;
const STREAMLIT = ['stFileUploaderDropzone', 'InputInstructions', 'stMainMenuPopover', 'stStatusWidget']
  .map((part) => `[data-testid="${part}"] *`)
  .concat(['[role="dialog"] > h2', '[role="dialog"] > h2 + div > div', '[role="option"] *'])
  .concat(['[role="dialog"] > h2 + div', '[data-testid="stSkipToContent"]', '[role="spinbutton"]'])
  .join(', ');
const PICKED = ['stSelectbox', 'stMultiSelect']
  .map((part) => `[data-testid="${part}"] input[placeholder]`).join(', ');
const DIALOG = '[data-testid="stDialog"] [role="dialog"]';
const PANELS = `[data-testid="stPopoverBody"], ${DIALOG}`;
const FIRST = 'input, textarea, button:not([aria-label], [data-testid^="stBaseButton-pills"]), a[href]';
const LOADING = '[data-testid="stSkeleton"]';  // a part whose script has not come yet
const TYPED = 'input[type="text"]:not([role]), textarea';
const THEMES = '.st-key-appearance button, [data-testid^="stMainMenuItem-theme-"]';
const MENU = '[data-testid="stMainMenuButton"]';
const BACK = '.st-key-grid-all button';
const FIT = '.st-key-source-panel .st-key-source-zoom_out button';
const LEAVE_PANEL = '.st-key-source-panel .st-key-source-close button';
const OPENED = '[data-testid="stPopoverBody"] *, [aria-expanded="true"]';
const NEW_OPTION = 'input[role="combobox"][aria-activedescendant$="-option-__creatable__"]';
const OPTIONS = '[role="listbox"], [role="option"]';
const LIES_OVER = '[data-testid="stBottom"], .st-key-source-panel, [class*="st-key-question-"]';
const HEADER = 60;  // pixels
const SCROLLED = ['wheel', 'touchmove', 'keydown'];
const OPENS = 3000;  // milliseconds in which a page is drawn
const CLOSE = '[data-testid="stSidebarCollapseButton"] button';
const EXPAND = '[data-testid="stExpandSidebarButton"]';
const COLLAPSED = '[data-testid="stSidebar"][data-collapsed="true"]';
const SEARCH = '.st-key-search-chats input';
const MARKED = ':is(.st-key-source-page, .st-key-source-page-large) [class*="st-key-source-mark-"]';
const TEXT = '[class*="st-key-document-text-"]';
const WORDS = '[class*="st-key-source-words-"]';
const MATCH = `:is(${TEXT}, ${WORDS}) .stMarkdownColoredBackground`;

function closeDrawer(event) {
  const choice = event.target instanceof Element ? event.target.closest(CHOICES) : null;
  if (choice && window.matchMedia('(max-width: 767px)').matches) {
    const close = document.querySelector(CLOSE);
    if (close) setTimeout(() => close.click(), 0);
  }
}

// Ctrl+K leads to the search of chats from every page, also where the sidebar is hidden; out of no dialog.
function searchChats(event) {
  if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey) return;
  const search = document.querySelector(SEARCH);
  if (!search || document.querySelector(DIALOG)) return;
  event.preventDefault();
  if (document.querySelector(COLLAPSED)) document.querySelector(EXPAND)?.click();
  const hidden = search.getClientRects().length === 0;  // beside a panel, on a page with no room for both
  if (hidden) document.querySelector(LEAVE_PANEL)?.click();
  takeFocus(search, hidden ? 100 : 20);
}

// A name that was typed into a list of options counts also where Tab or a click leaves the field.
function keepTyped(event) {
  const field = document.activeElement;
  if (!field?.matches(NEW_OPTION) || event.isComposing) return;
  const inside = event.target instanceof Element && (event.target === field || event.target.closest(OPTIONS));
  if (event.type === 'keydown' ? event.key !== 'Tab' : inside) return;
  field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }));
}

// The link to the page that is open leaves what is open on it, as its own button does.
function reopen(event) {
  const link = event.target instanceof Element ? event.target.closest(LINKS) : null;
  const back = document.querySelector(BACK);
  if (!link || !back || link.pathname !== location.pathname) return;
  event.preventDefault();
  event.stopPropagation();
  back.click();
}

const written = new WeakMap();  // the English of what was translated, and what stands there in its place

function say(part, now, inOurs, write) {
  const [before, other] = written.get(part) || [];
  const english = now === other ? before : now;
  const said = inOurs(english);
  if (said === now) return;
  written.set(part, [english, said]);
  write(said);
}

// One of the words, or one that ends with a name: "Add: {name}".
function named(words, english) {
  if (Object.hasOwn(words, english)) return words[english];
  for (const [start, other] of Object.entries(words)) {
    const [before, after] = start.split('{name}');
    if (after === '' && before && english.startsWith(before)) {
      return other.replace('{name}', () => english.slice(before.length));
    }
  }
  return english;
}

function translate(words, labels) {
  for (const element of document.querySelectorAll(STREAMLIT)) {
    for (const text of element.childNodes) {
      if (text.nodeType !== Node.TEXT_NODE) continue;
      say(text, text.nodeValue, (english) => {
        const [, size, said] = english.match(/^([\\d.]+ ?[KMGT]?B)? ?(.*)$/s);
        const apart = size?.replace(/ ?(?=[KMGT]?B$)/, ' ');  // 50MB -> 50 MB
        const other = named(words, said);
        return other === said ? english : other.replace('{size}', apart);
      }, (other) => { text.nodeValue = other; });
    }
  }
  for (const field of document.querySelectorAll(PICKED)) {
    const empty = field.getAttributeNode('placeholder');
    say(empty, empty.value, (english) => named(words, english), (other) => { empty.value = other; });
  }
  for (const element of document.querySelectorAll('[aria-label]')) {
    const write = (other) => { element.ariaLabel = other; };
    say(element, element.ariaLabel, (english) => named(labels, english), write);
  }
}

// The field that a panel begins with takes the focus, a line selected; not where a keyboard would come up.
function focusField() {
  for (const panel of document.querySelectorAll(PANELS)) {
    const first = panel.querySelector(FIRST);
    if (!first || 'begun' in panel.dataset || panel.querySelector(LOADING)) continue;
    panel.dataset.begun = '';
    if (!first.matches(TYPED) || window.matchMedia('(pointer: coarse)').matches) continue;
    takeFocus(first, 20);
  }
}

// A panel that is still opening gives no focus to its field: it is asked for again. A text is written on.
function takeFocus(field, tries, before = document.activeElement) {
  field.focus();
  const active = document.activeElement;
  if (active !== field) {
    if (active !== before && active.matches('input, textarea')) return;  // somebody types elsewhere
    if (tries && field.isConnected) setTimeout(() => takeFocus(field, tries - 1, before), 50);
    return;
  }
  const start = field.matches('textarea') ? field.value.length : 0;
  setTimeout(() => field.setSelectionRange(start, field.value.length), 0);  // after Streamlit
}

let theme = '';

// Streamlit keeps a theme for the page alone that was loaded with it.
function keepTheme(name, pages) {
  const root = location.pathname.replace(/[^/]*$/, '');
  for (const path of new Set([location.pathname, root, ...pages.map((page) => root + page)])) {
    localStorage.setItem(`stActiveTheme-${path}-v2`, JSON.stringify(name));
  }
}

function keptTheme() {
  return JSON.parse(localStorage.getItem(`stActiveTheme-${location.pathname}-v2`)) || 'System';
}

// Without the menu the theme is taken from what is kept, as a page does when it is loaded.
function chooseTheme(event, pages) {
  const choice = event.target instanceof Element ? event.target.closest(THEMES) : null;
  if (!choice) return;
  const name = nameOf(choice);
  keepTheme(name, pages);
  showTheme();
  if (!choice.closest('.st-key-appearance')) return;
  const menu = document.querySelector(MENU);
  if (!menu) { location.reload(); return; }
  theme = name;
  document.documentElement.dataset.theming = '';
  if (menu.ariaExpanded !== 'true') menu.click();
}

function nameOf(choice) {
  const said = choice.closest('[class*="st-key-theme-"]')?.className || choice.dataset.testid;
  return said.match(/theme-(\\w+)/)[1];
}

function pressTheme() {
  const item = theme && document.querySelector(`[data-testid="stMainMenuItem-theme-${theme}"]`);
  if (!item) return;
  theme = '';
  item.click();
  setTimeout(() => {
    const menu = document.querySelector(MENU);
    if (menu.ariaExpanded === 'true') menu.click();
    delete document.documentElement.dataset.theming;
  }, 0);
}

function showTheme() {
  const group = document.querySelector('.st-key-appearance');
  if (!group) return;
  const kept = keptTheme();
  group.role = 'group';
  group.ariaLabel = group.querySelector('p')?.textContent ?? '';
  for (const choice of group.querySelectorAll('button')) choice.ariaPressed = String(nameOf(choice) === kept);
}

let hint = '';

// Streamlit leaves out how files are chosen once there are some: the style sheet says it again, also where
// the field was made anew with its files.
function keepUploaderHint() {
  for (const zone of document.querySelectorAll('[data-testid="stFileUploaderDropzone"]')) {
    const said = zone.querySelector('[data-testid="stFileUploaderDropzoneInstructions"]')?.textContent;
    hint = said || hint;
    const shown = said || zone.dataset.hint || hint;
    if (zone.dataset.hint !== shown) zone.dataset.hint = shown;
  }
}

let sought = '', cellRead = '';

// What is marked on a page, is cited from a text, or is the match of a search in one, is brought into sight
// once. The key of a page's image ends with the place of its mark in percent, that of cited words with their
// citation, that of a searched text with the place of the match. A cell of a grid opens at its value.
function seekMark() {
  const marked = document.querySelector(MARKED), image = marked?.querySelector('img');
  const match = marked ? null : document.querySelector(MATCH);
  const [key, across, down] = marked?.className.match(/st-key-source-mark-\\d+-(\\d+)-(\\d+)/)
    || match?.closest(`${TEXT}, ${WORDS}`).className.match(/st-key-(document-text|source-words)-\\S+/)
    || [''];
  if (!key) { sought = ''; return; }
  const page = marked?.closest('.st-key-source-page-large'), place = page ? `${key} enlarged` : key;
  if (place === sought || (marked && !image)) return;
  if (image && !image.complete) { image.addEventListener('load', seekMark, { once: true }); return; }
  sought = place;
  if (page) {
    page.scrollTo(
      image.offsetWidth * across / 100 - page.clientWidth / 2,
      image.offsetTop - page.offsetTop + image.offsetHeight * down / 100 - page.clientHeight / 2,
    );
    return;
  }
  const panel = (marked || match).closest('.st-key-source-panel');
  if (!panel) return;
  const cell = panel.querySelector('[class*="st-key-cell-"]')?.className;
  if (cell && cell !== cellRead) { cellRead = cell; return; }
  const box = (image || match).getBoundingClientRect(), seen = panel.getBoundingClientRect();
  const at = box.top + (image ? box.height * down / 100 : box.height / 2) - seen.top;
  if (at < seen.height / 5 || at > seen.height * 0.9) panel.scrollBy(0, at - seen.height / 2);
}

// Escape leaves an enlarged page first, then the panel, from the moment at which that has the focus: the
// shortcut of its button is known only a little later. A download takes the focus out of its dialog, which
// Escape would not close any more.
function escape(event) {
  if (event.key !== 'Escape' || event.isComposing) return;
  const dialog = document.querySelector(DIALOG), fit = document.querySelector(FIT);
  const leave = event.target.closest?.('.st-key-source-panel') ? document.querySelector(LEAVE_PANEL) : null;
  const way = dialog ? dialog.querySelector(':scope > button')
    : event.target.closest?.(OPENED) ? null : fit || leave;
  if (!way || dialog?.contains(event.target)) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  way.click();
}

// What takes the focus is scrolled out from under the input, and from under the question at the top.
function showFocused(event) {
  if (!event.target.matches?.(':focus-visible')) return;
  const place = event.composedPath()[0];
  requestAnimationFrame(() => bringOut(place, event.target));
}

function bringOut(place, within) {
  const main = document.querySelector('.stMain'), input = document.querySelector('[data-testid="stBottom"]');
  if (!input || !main.contains(within) || within.closest(LIES_OVER)) return;
  const turn = within.closest('[class*="st-key-asked-"]');
  const question = turn?.querySelector('[class*="st-key-question-"]')?.getBoundingClientRect();
  const above = Math.max(HEADER, question?.bottom ?? 0), below = input.getBoundingClientRect().top;
  const box = place.getBoundingClientRect();
  if (box.bottom > below) main.scrollBy(0, box.bottom - below + 8);
  else if (box.top < above) main.scrollBy(0, box.top - above - 8);
}

let rated = '';

// The reasons why an answer is not helpful are asked below it: they are brought into sight.
function noteRating(event) {
  const rate = event.target instanceof Element ? event.target.closest('[class*="st-key-rate-down-"]') : null;
  if (rate) rated = rate.className.match(/st-key-rate-down-(\\S+)/)[1];
}

function seekReasons() {
  const reasons = rated ? document.querySelector(`.st-key-why-${CSS.escape(rated)}`) : null;
  if (!reasons?.querySelector('button')) return;
  rated = '';
  bringOut(reasons, reasons);
}

let path = location.pathname, opening = 0;  // the page that is open; time to which it is kept at its head

// A page opens at its head, also after one that was scrolled; a chat goes to its last question itself.
function openAtHead() {
  if (location.pathname !== path) { path = location.pathname; opening = performance.now() + OPENS; }
  if (performance.now() > opening || document.querySelector('[class*="st-key-question-"]')) return;
  const main = document.querySelector('.stMain');
  if (main?.scrollTop) main.scrollTo({ top: 0, behavior: 'instant' });
}

function scrolled() { opening = 0; }

// A table that scrolls begins where its cell with a mark is seen: the others are beside it.
const shown = new WeakSet();  // once: whoever scrolls it back reads it there

function showMark(table) {
  const cell = table.querySelector('a[href^="#cite-"]')?.closest('td');
  if (!cell || shown.has(table)) return;
  shown.add(table);
  const over = cell.getBoundingClientRect().right - table.getBoundingClientRect().right;
  if (over > 0) table.scrollLeft += Math.ceil(over);
}

let reading = false;

function look(told, data) {
  for (const table of document.querySelectorAll(SCROLLS)) {
    if (table.scrollWidth <= table.clientWidth) continue;
    table.tabIndex = 0;
    showMark(table);
  }
  for (const cell of document.querySelectorAll(CELLS)) {
    cell.classList.toggle('footnote-whole', WHOLE.test(cell.textContent.trim()));
  }
  translate(data.words, data.labels);
  keepUploaderHint();
  openAtHead();
  focusField();
  pressTheme();
  showTheme();
  const head = document.querySelector('.st-key-source-head')?.parentElement;
  head?.parentElement.style.setProperty('--source-head', `${head.offsetHeight}px`);
  seekMark();
  seekReasons();
  document.querySelector('.st-key-undo:not([role])')?.setAttribute('role', 'status');
  const now = document.querySelector(READING) !== null;
  if (reading && !now) told.textContent = data.read;
  else if (now && told.textContent) told.textContent = '';
  reading = now;
}

function begin({ data, parentElement }) {
  document.documentElement.lang = data.language;
  const told = parentElement.querySelector('.footnote-told');
  let due = 0;  // a page is drawn in hundreds of parts: it is looked at once for each picture of it
  const watch = new MutationObserver(() => { due ||= requestAnimationFrame(lookOnce); });
  function lookOnce() { due = 0; look(told, data); }
  const listeners = [
    [document, 'click', closeDrawer, true], [document, 'click', noteRating, true],
    [document, 'focusin', showFocused, false], [window, 'keydown', escape, true],
    [window, 'keydown', searchChats, true], [window, 'keydown', keepTyped, true],
    [window, 'pointerdown', keepTyped, true], [document, 'click', reopen, true],
    [document, 'click', (event) => chooseTheme(event, data.pages), false],
    ...SCROLLED.map((kind) => [document, kind, scrolled, true]),
  ];
  watch.observe(document.body, { childList: true, subtree: true });
  for (const [place, kind, act, first] of listeners) place.addEventListener(kind, act, first);
  look(told, data);
  return () => {
    watch.disconnect();
    cancelAnimationFrame(due);
    for (const [place, kind, act, first] of listeners) place.removeEventListener(kind, act, first);
  };
}

let begun = null;

// Streamlit calls this again at a change of theme or data, without the cleanup of the time before.
export default function (component) {
  begun?.end();
  begun = { parent: component.parentElement, end: begin(component) };
  return () => {
    if (begun?.parent !== component.parentElement) return;
    begun.end();
    begun = null;
  };
}
"""
_CSS = Path(__file__).with_name("style.css").read_text(encoding="utf-8")
_shell = st.components.v2.component("footnote_shell", html=_HTML, js=_JS, css=_CSS, isolate_styles=False)


def mount() -> None:
    """Mount the style sheet and the drawer script; called once in each run."""
    _shell(
        key="shell",
        height=1,
        data={
            "language": language(),
            "pages": [name.lower() for name in _ICONS],
            "read": _("Reading has ended."),
            "words": _streamlit_words(),
            "labels": _streamlit_labels(),
        },
    )


NO_SERVER = "Streamlit server is not responding. Are you connected to the internet?"
NO_LOCAL_SERVER = (
    "Is Streamlit still running? If you accidentally stopped Streamlit, just restart it in your terminal:"
)
NO_SUCH_PAGE = "The page that you have requested does not seem to exist. Running the app's main page."


def _streamlit_words() -> dict[str, str]:
    """Return what Streamlit's own parts say, in the language of the page, by its English."""
    return {
        "Press Enter to apply": _("Press {key} to apply", key="Enter"),
        "Press Ctrl+Enter to apply": _("Press {key} to apply", key="Ctrl+Enter"),
        "Press ⌘+Enter to apply": _("Press {key} to apply", key="⌘+Enter"),
        "Press Enter to submit form": _("Press {key} to submit", key="Enter"),
        "Press Ctrl+Enter to submit form": _("Press {key} to submit", key="Ctrl+Enter"),
        "Press ⌘+Enter to submit form": _("Press {key} to submit", key="⌘+Enter"),
        "Upload": _("Choose files"),
        "per file": _("or drop them here, up to {size} each", size="{size}"),
        "Add files": _("Add files"),
        "System": _("Automatic"),
        "Light": _("Light"),
        "Dark": _("Dark"),
        "Print": _("Print"),
        "No results": _("No results"),
        "Select all": _("Select all"),
        "Choose an option": _("Choose"),
        "Choose options": _("Choose"),
        "Choose or add an option": _("Choose or add"),
        "Choose or add options": _("Choose or add"),
        "Add an option": _("Add"),
        "Add options": _("Add"),
        "No options to select": _("Nothing to choose from"),
        "Add: {name}": _("Add: {name}", name="{name}"),
        "Page not found": _("Page not found"),
        NO_SUCH_PAGE: _("There is no such page. The chat is shown instead."),
        "Skip to main content": _("Skip to the page’s content"),
        "Connection error": _("No connection to Footnote"),
        NO_SERVER: _("The page continues by itself once Footnote answers again."),
        NO_LOCAL_SERVER: _("The page continues by itself once Footnote answers again."),
        "Connecting": _("Connecting"),
        "Stop": _("Stop"),
        "Error": _("Error"),
        "yyyy": _("yyyy"),
        "mm": _("mm"),
        "dd": _("dd"),
    }


def _streamlit_labels() -> dict[str, str]:
    """Return what only screen readers say of Streamlit's own parts, in the language of the page."""
    return {
        "Add files": _("Choose files"),
        "Upload files": _("Add files"),
        "file upload": _("Add files"),
        "Send message": _("Send"),
        "Main menu": _("Menu"),
        "Theme": _("Appearance"),
        "App pages": _("Pages of Footnote"),
        "Sidebar": _("Sidebar"),
        "Expand sidebar": _("Show the sidebar"),
        "Collapse sidebar": _("Hide the sidebar"),
        "Close": _("Close"),
        "Open": _("Open"),
        "Clear value": _("Clear"),
        "Show password": _("Show what is typed"),
        "Hide password": _("Hide what is typed"),
        "Clear all": _("Clear"),
        "Clear date": _("Clear"),
        "Choose date": _("Choose a date"),
        "Previous month": _("Previous month"),
        "Next month": _("Next month"),
        "Increment": _("Increase"),
        "Decrement": _("Decrease"),
        "Notifications": _("Notifications"),
        "Help": _("Help"),
        "Help for {name}": _("Help for {name}", name="{name}"),
        "Upload {name}": _("Choose files for {name}", name="{name}"),
        "Remove {name}": _("Remove {name}", name="{name}"),
        "year, {name}": _("Year, {name}", name="{name}"),
        "month, {name}": _("Month, {name}", name="{name}"),
        "day, {name}": _("Day, {name}", name="{name}"),
        "Shortcut {name}": _("Shortcut {name}", name="{name}"),
    }


def name_tab(title: str) -> None:
    """Set the title of the browser's tab: "Lab · Footnote"."""
    st.set_page_config(page_title=f"{plain_line(title, MAX_TITLE)} · Footnote" if title else "Footnote")


MISSING_CHAT = "chat-missing"
"""Key of whether the address named a chat that does not exist, until another place is gone to."""


def keep_chat(conversation_id: str | None) -> None:
    """Remember the chat that is open, for those who come back from another page."""
    st.session_state[_OPEN] = conversation_id
    st.session_state[_AWAY] = False


def leave_chat() -> None:
    """Remember that another page was chosen."""
    st.session_state[_AWAY] = True
    st.session_state[MISSING_CHAT] = False


def return_to_chat(conversation_id: str) -> bool:
    """Have a chat opened by whoever comes back from another page; return False where none is open."""
    away = bool(st.session_state.get(_AWAY))
    if away:
        st.session_state[_OPEN] = conversation_id
    return away


def chat_left() -> str | None:
    """Return the chat that was open when another page was chosen; None to those who stayed."""
    kept: str | None = st.session_state.get(_OPEN) if st.session_state.get(_AWAY) else None
    return kept
