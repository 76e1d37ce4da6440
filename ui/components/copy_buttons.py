"""Buttons that copy a text to the clipboard, which a page of Streamlit cannot do by itself."""

from collections.abc import Mapping

import streamlit as st

from rag.i18n import _

_HTML = """<div class="copy-buttons"></div><span class="copied" role="status"></span>
<template><svg viewBox="0 0 16 16" aria-hidden="true">
<rect x="5.2" y="5.2" width="8.3" height="8.3" rx="1.3"/>
<path d="M3.6 10.8h-.1a1 1 0 0 1-1-1V3.5a1 1 0 0 1 1-1h6.3a1 1 0 0 1 1 1v.1"/></svg></template>"""
_CSS = """
:host { display: block; }
.copy-buttons { display: inline-flex; flex-wrap: wrap; gap: 0.25rem; margin-left: -0.5rem; }
svg {
  width: 1rem; height: 1rem; margin-right: 0.4rem; vertical-align: -0.15rem;
  fill: none; stroke: currentColor; stroke-width: 1.3;
}
button {
  font: inherit; font-size: 0.875rem; color: var(--st-text-color); background: transparent; cursor: pointer;
  min-height: 1.9rem; padding: 0.1rem 0.5rem; border: none; border-radius: var(--st-button-radius, 0.5rem);
}
button:hover { color: var(--st-link-color); background: color-mix(in srgb, currentColor 10%, transparent); }
button:focus-visible { outline: 2px solid currentColor; outline-offset: 1px; }
.copied { font-size: 0.875rem; margin-left: 0.5rem; color: var(--st-text-color); }
"""
_JS = """
async function write(text, html) {
  try {
    if (!html) return await navigator.clipboard.writeText(text);
    const said = { 'text/plain': text, 'text/html': html };
    const kinds = Object.entries(said).map(([type, words]) => [type, new Blob([words], { type })]);
    await navigator.clipboard.write([new ClipboardItem(Object.fromEntries(kinds))]);
  } catch {  // no permission, or a page that came by plain HTTP
    writeAsCopied(text, html);
  }
}

function writeAsCopied(text, html) {
  const area = document.createElement('textarea');
  area.value = text;
  area.style.position = 'fixed';
  area.style.opacity = '0';
  area.oncopy = (event) => {
    event.clipboardData.setData('text/plain', text);
    if (html) event.clipboardData.setData('text/html', html);
    event.preventDefault();
  };
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  if (!done) throw new Error('the browser refuses');
}

export default function ({ data, parentElement }) {
  const row = parentElement.querySelector('.copy-buttons');
  const said = parentElement.querySelector('.copied');
  const icon = parentElement.querySelector('template').content.firstElementChild;
  let forget = 0;
  row.replaceChildren(...Object.entries(data.texts).map(([name, text]) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.append(icon.cloneNode(true), name);
    button.onclick = async () => {
      try {
        await write(text, data.html[name]);
        said.textContent = data.copied;
      } catch {
        said.textContent = data.refused;
      }
      clearTimeout(forget);
      forget = setTimeout(() => { said.textContent = ''; }, 2500);
    };
    return button;
  }));
  return () => clearTimeout(forget);
}
"""
_buttons = st.components.v2.component("footnote_copy", html=_HTML, css=_CSS, js=_JS)


def copy_buttons(texts: Mapping[str, str], key: str, html: Mapping[str, str] | None = None) -> None:
    """Show a button for each text, by the button's name; `html` is put beside a text for word processors.

    It is only written to the clipboard, never shown.
    """
    words = {
        "texts": dict(texts),
        "html": dict(html or {}),
        "copied": _("Copied"),
        "refused": _("The browser does not allow copying."),
    }
    _buttons(key=key, data=words, height="content")
