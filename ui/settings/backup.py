"""Data and backup in the settings: the folder, the automatic backups, and the commands."""

import shlex

import streamlit as st

from rag.i18n import _, ngettext
from rag.settings import Settings
from ui.components.markdown import code

BACKUP, RESTORE = "footnote --data {folder} backup FILE", "footnote --data FOLDER restore FILE"


def show_backup(settings: Settings) -> None:
    """Show the folder of the data, and the backups by the clock or how to have them."""
    with st.expander(_("Data and backup"), key="data-and-backup"):
        folder = str(settings.data.resolve())
        st.markdown(_("Documents, chats and settings are in the folder {folder}.", folder=code(folder)))
        st.markdown(_scheduled(settings))
        st.markdown(
            _(
                "On the command line of this computer, {backup} writes everything into one file, and "
                "{restore} brings it back into an empty folder.",
                backup=code(BACKUP.format(folder=shlex.quote(folder))),
                restore=code(RESTORE),
            )
        )


def _scheduled(settings: Settings) -> str:
    if settings.database_url:
        return _("The ledger is on a database server: back it up with that server’s own tools.")
    if settings.backup_folder is None:
        return _(
            "No automatic backups are made. To have one made each day, set {setting} to a folder.",
            setting=code("FOOTNOTE_BACKUP_FOLDER"),
        )
    return ngettext(
        "A backup is written to {folder} every {hours} hours. The newest {count} is kept.",
        "A backup is written to {folder} every {hours} hours. The newest {count} are kept.",
        settings.backup_keep,
        folder=code(str(settings.backup_folder)),
        hours=f"{settings.backup_hours:g}",
    )
