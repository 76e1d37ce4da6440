"""The bridge from a citation marker to the page: a click, or Enter, on `#cite-...` opens its evidence.

It reads the targets of links that ui/markdown.py wrote and passes nothing into the page but an
accessible name for them, set as an attribute.
"""

from collections.abc import Callable

import streamlit as st

KEY = "markers"

_JS = """
const LINK = 'a[href^="#cite-"]';
let send = () => {};
let last = null;
let panel = false;

function open(event) {
  const link = event.target instanceof Element ? event.target.closest(LINK) : null;
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  last = link.getAttribute('href');
  send('opened', link.getAttribute('href').slice('#cite-'.length));
}

function name() {
  for (const link of document.querySelectorAll(LINK + ':not([aria-haspopup])')) {
    const number = link.textContent.replace(/[^0-9]/g, '');
    link.setAttribute('aria-haspopup', 'dialog');
    link.setAttribute('aria-label', `Source ${number}: ${link.title || 'open the cited words'}`);
  }
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

export default function (component) {
  send = component.setTriggerValue;
  document.addEventListener('click', open);
  watch.observe(document.body, { childList: true, subtree: true });
  name();
  return () => {
    document.removeEventListener('click', open);
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
