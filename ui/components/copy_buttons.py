"""Buttons that copy a text to the clipboard, which a page of Streamlit cannot do by itself."""

from collections.abc import Mapping

import streamlit as st

from rag.i18n import _

_HTML = """<div class="copy-buttons"></div><span class="copied" role="status"></span>"""
_CSS = """
:host { display: block; }
.copy-buttons { display: inline-flex; flex-wrap: wrap; gap: 0.5rem; }
button {
  font: inherit; font-size: 0.875rem; color: var(--st-text-color); background: transparent; cursor: pointer;
  min-height: 1.9rem; padding: 0.1rem 0.5rem; border: none; border-radius: var(--st-button-radius, 0.5rem);
}
button:hover { color: var(--st-link-color); background: color-mix(in srgb, currentColor 10%, transparent); }
button:focus-visible { outline: 2px solid currentColor; outline-offset: 1px; }
.copied { font-size: 0.875rem; margin-left: 0.5rem; color: var(--st-text-color); }
"""
_JS = """
async function write(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {  // no permission, or a page that came by plain HTTP
    const area = document.createElement('textarea');
    area.value = text;
    area.style.position = 'fixed';
    area.style.opacity = '0';
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    if (!done) throw new Error('the browser refuses');
  }
}

export default function ({ data, parentElement }) {
  const row = parentElement.querySelector('.copy-buttons');
  const said = parentElement.querySelector('.copied');
  let forget = 0;
  row.replaceChildren(...Object.entries(data.texts).map(([name, text]) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = name;
    button.onclick = async () => {
      try {
        await write(text);
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


def copy_buttons(texts: Mapping[str, str], key: str) -> None:
    """Show a button for each text, by the button's name."""
    words = {
        "texts": dict(texts),
        "copied": _("Copied"),
        "refused": _("The browser does not allow copying."),
    }
    _buttons(key=key, data=words, height="content")
