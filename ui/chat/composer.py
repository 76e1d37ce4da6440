"""Composer: what the browser does around the chat input while an answer is written, and between pages.

Send becomes Stop at the same place at once, the next question waits in the input, an unfinished one stays
there over other pages and a reload, and a new question goes to the top of the page.
"""

import streamlit as st

from rag.i18n import _

KEY, ANSWERING = "composer", "answering"
"""Keys of the component, and of the container around an answer that is being written."""

_HTML = """
<button type="button" hidden></button>
<p class="waits" role="status"></p>
<p class="told" role="status"></p>
"""
_CSS = """
button {
  position: fixed; z-index: 100; font: inherit; font-size: 0.875rem; font-weight: 600; cursor: pointer;
  min-width: 4rem; min-height: 2rem; padding: 0 0.75rem; border: none;
  border-radius: var(--st-button-radius, 0.5rem); color: #fff; background: var(--st-primary-color);
}
button[hidden] { display: none; }
button[aria-disabled="true"] { opacity: 0.7; cursor: default; }
button:focus-visible { outline: 2px solid var(--st-text-color); outline-offset: 2px; }
.told { position: absolute; width: 1px; height: 1px; margin: 0; overflow: hidden; clip-path: inset(50%); }
.waits {
  position: fixed; z-index: 100; margin: 0; font-size: 0.875rem; color: var(--st-text-color);
  background: var(--st-background-color);
}
"""
_JS = r"""
const BOX = '[data-testid="stChatInputTextArea"]';
const SEND = '[data-testid="stChatInputSubmitButton"]';
const KEYED = '[class*="st-key-stop-"]', STOP = `${KEYED} button`;
const ANSWER = '[aria-label="Chat message from assistant"]';
const QUESTIONS = '[class*="st-key-question-"]';
const SAID = '[data-testid="stChatMessage"] [data-testid="stMarkdownContainer"]';
const EDIT = '[class*="st-key-edit-"] button';
const NEW = '.st-key-new-chat button';
const CONTINUE = '[class*="st-key-continue-"] button';
const DRAWN = '[data-testid="stApp"][data-test-script-state="notRunning"]';
const SCOPE = '.st-key-scope details[open] > summary';
const OPENED = '[aria-expanded="true"], [role="dialog"] *';
const BLOCK = '[data-testid="stMainBlockContainer"]';
const DRAFT = 'footnote-draft';
const SOON = 4000;  // milliseconds in which a sent question is seen on the page
const SETTLED = 2500;  // milliseconds in which the page around it is drawn
const AGAIN = 3000;  // milliseconds after which Stop is pressed once more
const TICK = 100;  // milliseconds between two looks at whether an answer has ended
const TOP = 60;  // pixels of the header
const ROOM = '--footnote-room';
const BELOW = 32;  // pixels below the last answer, at least

// Streamlit may draw this component anew while an answer is written: what is under way outlasts that.
let sent = 0, answering = false;
let stopping = '', pressed = 0;  // the answer that is to end, or "next" until it is known; the last press

function keyOf(element, start = 'st-key-question-') {
  return element ? [...element.classList].find((name) => name.startsWith(start)) : '';
}

function drawn() { return document.querySelector(DRAWN) !== null; }

let pinned, waiting, newest, restored, twice, reached, anew;

function forget() {
  [pinned, waiting, newest, restored, twice, reached, anew] = [0, false, '', null, null, null, false];
}

forget();

function begin({ data, parentElement }) {
  const stop = parentElement.querySelector('button');
  stop.textContent = data.stop;
  const said = parentElement.querySelector('.waits'), told = parentElement.querySelector('.told');

  const box = () => document.querySelector(BOX);
  const asked = () => document.querySelector('.st-key-answering') !== null;
  const busy = () => asked() || Date.now() - sent < SOON;

  function place() {
    const send = document.querySelector(SEND), area = box();
    if (!send || !area) return;
    const at = send.getBoundingClientRect();
    const whole = area.closest('[data-testid="stChatInput"]').getBoundingClientRect();
    stop.style.right = `${document.documentElement.clientWidth - at.right}px`;
    stop.style.top = `${at.top + at.height / 2 - 16}px`;
    said.style.left = `${whole.left}px`;
    said.style.top = `${whole.bottom + 6}px`;
  }

  function draw() {
    if (asked()) { sent = 0; if (!answering) tell(data.begun); answering = true; }
    else if (answering && drawn()) { answering = false; room(); tell(data.ended); }
    const now = busy() && box() !== null;
    if (stop.hidden === now) stop.hidden = !now;
    const words = now && waiting ? data.waits : '';
    if (said.textContent !== words) said.textContent = words;
    if (now) place();
    pressStop();
    if (!now && drawn()) { stopping = ''; sendWaiting(); }
    const name = stopping ? data.stopping : data.stop;
    if (stop.textContent !== name) { stop.textContent = name; if (now) place(); }
    stop.ariaDisabled = String(stopping !== '');
  }

  // A press is forgotten where the page is drawn anew at that moment: it is repeated until the answer ends.
  function pressStop() {
    const server = document.querySelector(STOP);
    if (!stopping || !server) return;
    const answer = keyOf(server.closest(KEYED), 'st-key-stop-');
    if (stopping === 'next') stopping = answer;
    if (stopping !== answer) stopping = '';
    else if (Date.now() - pressed > AGAIN) { pressed = Date.now(); server.click(); }
  }

  // Read aloud, and not shown.
  function tell(words) { told.textContent = words; }

  function sendWaiting() {
    const send = document.querySelector(SEND);
    if (!waiting || !send || send.disabled) return;
    waiting = false;
    if (box().value.trim()) { remember(); send.click(); }
  }

  function remember() {
    sent = Date.now();
    stopping = '';
    setTimeout(() => { if (box() && !box().value) sessionStorage.removeItem(DRAFT); draw(); }, 50);
    setTimeout(draw, SOON + 50);
  }

  function typed(event) {
    if (!event.target.matches?.(BOX)) return;
    if (event.target.value) sessionStorage.setItem(DRAFT, event.target.value);
    else { sessionStorage.removeItem(DRAFT); waiting = false; draw(); }
  }

  function key(event) {
    if (event.key === 'Tab') scrolled();
    const scope = document.querySelector(SCOPE);
    if (event.key === 'Escape' && scope && !event.target.closest?.(OPENED)) {
      event.stopPropagation();
      scope.click();
      scope.focus();
      return;
    }
    if (event.key === 'ArrowUp' && event.target.matches?.(BOX) && !event.target.value && !busy()) {
      const edits = document.querySelectorAll(EDIT);
      if (edits.length) { event.preventDefault(); edits[edits.length - 1].click(); }
      return;
    }
    if (!event.target.matches?.(BOX) || event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    if (!event.target.value.trim()) return;
    if (!busy()) { remember(); draw(); return; }
    event.preventDefault();
    event.stopImmediatePropagation();
    waiting = true;
    draw();
  }

  function clicked(event) {
    if (event.target.closest?.('.st-key-sign-out')) sessionStorage.removeItem(DRAFT);
    if (event.target.closest?.(CONTINUE)) stopping = '';
    anew = Boolean(event.target.closest?.(NEW));
    if (event.target.closest?.(SEND) && box()?.value.trim()) { remember(); draw(); }
  }

  function restore() {
    const area = box();
    if (!area || area === restored) return;
    restored = area;
    const at = document.activeElement;
    if ((at === document.body && !document.querySelector('[role="dialog"]')) || at?.closest(NEW)) focus();
    const kept = sessionStorage.getItem(DRAFT);
    if (!kept || area.value) return;
    Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, 'value').set.call(area, kept);
    area.dispatchEvent(new Event('input', { bubbles: true }));
  }

  // Where a finger types, the focus would bring the keyboard over the page.
  function focus() {
    if (matchMedia('(pointer: fine)').matches) box().focus({ preventScroll: true });
  }

  // Who begins a new chat types its question next.
  function greet() {
    if (!anew || !box() || document.querySelector(QUESTIONS)) return;
    anew = false;
    focus();
  }

  // An address that names an answer, or words that the chat was found by, leads there once.
  function reach() {
    const asked = location.search;
    if (reached === asked) return;
    const parameters = new URLSearchParams(asked);
    const answer = parameters.get('answer'), words = parameters.get('find');
    if (!answer && !words) { reached = asked; return; }
    const place = answer ? document.querySelector(`.st-key-rating-${CSS.escape(answer)}`) : wordsIn(words);
    if (!place) return;
    reached = asked;
    newest = keyOf([...document.querySelectorAll(QUESTIONS)].pop());
    pinned = 0;
    const turn = answer ? place.closest('[class*="st-key-asked-"]') : null;
    setTimeout(() => (turn || place).scrollIntoView({ block: turn ? 'start' : 'center' }), 300);
  }

  function wordsIn(words) {
    const first = words.toLocaleLowerCase().split(' ').filter(Boolean)[0];
    const messages = document.querySelectorAll(SAID);
    return first && [...messages].find((one) => one.textContent.toLocaleLowerCase().includes(first));
  }

  // Below the last turn there is as much room as brings its question to the top, and no more: what grows
  // takes it from there, and nothing moves. While the page is drawn, a turn may be gone for a moment: what is
  // seen stays where it is.
  function room() {
    const main = document.querySelector('.stMain'), block = main?.querySelector(BLOCK);
    const last = [...document.querySelectorAll(QUESTIONS)].findLast((one) => one.offsetParent !== null);
    const content = block?.firstElementChild;
    if (content && content !== measured) {
      sizes.disconnect();
      sizes.observe(content);
      measured = content;
    }
    if (!last || !content) return;
    const turn = last.closest('[class*="st-key-asked-"]') || last.parentElement;
    const end = content.getBoundingClientRect().bottom;
    const free = main.clientHeight - (document.querySelector('[data-testid="stBottom"]')?.offsetHeight || 0);
    const wanted = free - TOP - (end - turn.getBoundingClientRect().top);
    const held = drawn() ? 0 : free - (end - main.getBoundingClientRect().top);
    const left = `${Math.ceil(Math.max(BELOW, wanted, held))}px`;
    if (block.style.getPropertyValue(ROOM) !== left) block.style.setProperty(ROOM, left);
  }

  // What is drawn above a new question moves it for a moment; whoever scrolls then has the say.
  function pin() {
    const questions = document.querySelectorAll(QUESTIONS), last = questions[questions.length - 1];
    const found = keyOf(last);
    if (found !== newest) { newest = found; pinned = Date.now(); }
    const main = document.querySelector('.stMain');
    if (!last || !main || Date.now() - pinned > SETTLED) return;
    const turn = last.closest('[class*="st-key-asked-"]') || last.parentElement;
    const top = questions.length === 1 ? 0 : main.scrollTop + turn.getBoundingClientRect().top - TOP;
    if (Math.abs(main.scrollTop - top) > 1) main.scrollTop = top;
  }

  function scrolled() { pinned = 0; }

  // An answer that has ended is drawn above the one that was written, which goes a moment later: shown
  // together, one would push the other away.
  function showOnce() {
    if (twice) twice.style.display = '';
    const block = document.querySelector('.st-key-answering')?.parentElement.parentElement;
    const key = block && keyOf(block.querySelector(QUESTIONS));
    const ended = key && document.querySelector(`[class*="st-key-asked-"]:has(.${key}) ${ANSWER}`);
    twice = ended ? block : null;
    if (twice) twice.style.display = 'none';
  }

  function look() { restore(); greet(); showOnce(); room(); reach(); pin(); draw(); }

  stop.onclick = () => {
    if (stopping) return;
    stopping = 'next';
    pressed = 0;
    draw();
    tell(data.stopping);
  };

  let measured = null, due = 0;  // an answer is drawn in many parts: all is looked at once for each picture
  function lookOnce() { due = 0; look(); }
  const sizes = new ResizeObserver(room);
  const watch = new MutationObserver(() => { due ||= requestAnimationFrame(lookOnce); });
  watch.observe(document.body, { childList: true, subtree: true });
  const ticks = setInterval(() => { if (stopping || answering || waiting) draw(); }, TICK);
  const listeners = [
    ['input', typed], ['keydown', key], ['click', clicked], ['wheel', scrolled], ['touchmove', scrolled],
  ];
  for (const [kind, act] of listeners) document.addEventListener(kind, act, true);
  function resized() { place(); room(); }
  window.addEventListener('resize', resized);
  look();
  return () => {
    watch.disconnect();
    cancelAnimationFrame(due);
    clearInterval(ticks);
    for (const [kind, act] of listeners) document.removeEventListener(kind, act, true);
    window.removeEventListener('resize', resized);
    sizes.disconnect();
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
    forget();
  };
}
"""
_composer = st.components.v2.component("footnote_composer", html=_HTML, css=_CSS, js=_JS)


def mount() -> None:
    """Mount the composer's script; called once in each run of a page with a chat input."""
    words = {
        "stop": _("Stop"),
        "stopping": _("Stopping…"),
        "waits": _("Still answering. Your question will be sent next."),
        "begun": _("The answer is being written."),
        "ended": _("The answer has ended."),
    }
    _composer(key=KEY, height=1, data=words)
