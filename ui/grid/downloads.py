"""Downloads of a grid."""

from functools import partial

import streamlit as st

from rag.grid.export import GRID_MEDIA_TYPES, GridForm, file_name_of
from rag.grid.grids import Grid
from rag.i18n import N_, _, in_language, language, translated
from rag.workspace import Workspace
from ui.server.services import workspace

FORMS: dict[GridForm, str] = {
    "xlsx": N_("Excel, quotes as comments"),
    "csv": "CSV",
    "md": "Markdown",
    "html": N_("Web page"),
    "json": N_("JSON (verifiable)"),
}


def show_downloads(grid: Grid) -> None:
    """Show the menu of downloads; the file is made when one is pressed."""
    with st.popover(_("Download"), icon=":material/download:", type="tertiary", key="grid-download"):
        for form, name in FORMS.items():
            st.download_button(
                translated(name),
                data=partial(_exported, workspace(), grid.id, form, language(), _address()),
                file_name=file_name_of(grid, form),
                mime=GRID_MEDIA_TYPES[form],
                on_click="ignore",
                type="tertiary",
                key=f"grid-download-{form}",
            )


def _address() -> str:
    """Return the address of this page's server, for links in a file."""
    url = st.context.url or ""
    scheme, _separator, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}" if rest else ""


def _exported(here: Workspace, grid_id: str, form: GridForm, code: str, address: str) -> bytes:
    with in_language(code):  # the server asks for it outside of the page
        return here.exported_grid(grid_id, form, address)
