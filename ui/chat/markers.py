"""The bridge from a citation marker to the page: a click, or Enter, on `#cite-...` opens its evidence.

It reads the targets and titles of links that ui/components/answer_text.py wrote. A title becomes the link's accessible
name, and a hint that a pointer and the keyboard's focus show alike; it is only ever set as text.
"""

from collections.abc import Callable

import streamlit as st

KEY = "markers"

_JS = """
const LINK = 'a[href^="#cite-"]';
let send = () => {};
let last = null;
let panel = false;
let hint = null;
let leaving = 0;

function open(event) {
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
    link.setAttribute('aria-label', `Source ${number}: ${link.title || 'open the cited words'}`);
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
  if (event.key === 'Escape') hide();
}

// When the panel closes, the reader goes on where they were.
function comeBack() {
  const open = document.querySelector('[role="dialog"]') !== null;
  if (panel && !open && last) {
    for (const link of document.querySelectorAll(LINK)) {
      if (link.getAttribute('href') === last) { link.focus(); break; }
    }
    last = null;
  }
  panel = open;
}

const watch = new MutationObserver(() => { name(); comeBack(); });

const LISTENERS = [
  ['click', open], ['mouseover', show], ['focusin', show], ['mouseout', leave], ['focusout', leave],
  ['keydown', escape], ['scroll', hide],
];

export default function (component) {
  send = component.setTriggerValue;
  for (const [kind, listener] of LISTENERS) document.addEventListener(kind, listener, true);
  watch.observe(document.body, { childList: true, subtree: true });
  name();
  return () => {
    hide();
    for (const [kind, listener] of LISTENERS) document.removeEventListener(kind, listener, true);
    watch.disconnect();
  };
}
"""

_bridge = st.components.v2.component("footnote_markers", js=_JS)


def listen(opened: Callable[[str], None]) -> None:
    """Mount the bridge once on the page; `opened` is called with the target of the marker that was chosen."""

    def changed() -> None:
        target = st.session_state[KEY].get("opened")
        if isinstance(target, str):
            opened(target)

    _bridge(key=KEY, height=1, on_opened_change=changed)
