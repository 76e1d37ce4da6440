"""Data and backup in the settings: the folder, a backup on request, those by the clock, and the commands."""

import shlex
from functools import partial
from pathlib import Path

import streamlit as st

from rag.backups import BackupProgress
from rag.errors import FootnoteError, SettingsError
from rag.i18n import N_, _, ngettext, short_moment
from rag.models.local.catalog import size
from rag.settings import Settings
from ui.components.job_progress import follow_job
from ui.components.local_time import local_time
from ui.components.markdown import code
from ui.components.messages import confirm_deletion, flash, show_sentence
from ui.server.services import PageServices

_OPTION, _FOLDER = "FOOTNOTE_BACKUP_PASSPHRASE", "FOOTNOTE_BACKUP_FOLDER"
BACKUP, RESTORE = "footnote --data {folder} backup FILE", "footnote --data FOLDER restore FILE"
_PASSPHRASE, _AGAIN = "backup-passphrase", "backup-passphrase-again"
_REFUSED = "backup-refused"  # error of the last press of the button, for the next run of the page
_STEPS = {
    "copying the ledger": N_("Copying the ledger"),
    "copying originals": N_("Copying original files: {done} of {total}"),
    "reading the backup again": N_("Verifying the backup: {done} of {total}"),
}


def show_backup(server: PageServices) -> None:
    """Show the folder of the data, a button for a backup, the backups by the clock, and the commands."""
    settings, backups = server.settings, server.backups_on_request
    busy = backups.job is not None or backups.failure is not None
    with st.expander(_("Data and backup"), expanded=busy, key="data-and-backup"):
        folder = str(settings.data.resolve())
        st.markdown(_("Documents, chats and settings are in the folder {folder}.", folder=code(folder)))
        if backups.possible:
            _show_making(server)
        _show_scheduled(settings)
        st.markdown(
            _(
                "On the command line of this computer, {backup} writes everything into one file, and "
                "{restore} brings it back into an empty folder.",
                backup=code(BACKUP.format(folder=shlex.quote(folder))),
                restore=code(RESTORE),
            )
        )


def _show_making(server: PageServices) -> None:
    """Show a form that makes a backup, or its progress, and the backups that are there."""
    backups = server.backups_on_request
    with st.container(border=True, key="backups"):
        refused, job = st.session_state.pop(_REFUSED, None), backups.job
        if refused is not None:
            show_sentence(refused)
        if job is not None:
            follow_job(job, lambda _event: backup_progress(backups.progress), key="stop-backup")
        else:
            if backups.failure is not None:
                show_sentence(backups.failure)
            _show_form(server)
        for moment, path in backups.list():
            _show_made(server, path, short_moment(local_time(moment), local_time().date()))


def _show_form(server: PageServices) -> None:
    encrypted = bool(server.settings.backup_passphrase.get_secret_value())
    with st.form("make-backup", border=False):
        whose = (
            _(
                "One file with everyone’s documents, chats and settings. Keys and passwords are left out, "
                "except the secrets that sign the events of webhooks."
            )
            if server.knows_people()
            else _(
                "One file with all documents, chats and settings. Keys and passwords are left out, "
                "except the secrets that sign the events of webhooks."
            )
        )
        st.markdown(whose)
        if encrypted:
            st.caption(
                _("Encrypted with the passphrase that was set on the server."),
                help=_("The setting {setting}.", setting=code(_OPTION)),
            )
        else:
            left, right = st.columns(2)
            left.text_input(
                _("Passphrase (optional)"),
                type="password",
                autocomplete="new-password",
                key=_PASSPHRASE,
                help=_("Encrypts the file. Without the passphrase nobody can read it, so keep it elsewhere."),
            )
            right.text_input(
                _("Repeat the passphrase"),
                type="password",
                autocomplete="new-password",
                key=_AGAIN,
            )
        st.form_submit_button(
            _("Make a backup"), icon=":material/save:", key="back-up", on_click=_make, args=(server,)
        )


def _make(server: PageServices) -> None:
    """Start a backup; called at each press, also where the next run finds another's and shows no form."""
    passphrase: str = st.session_state.get(_PASSPHRASE, "")
    try:
        if passphrase != st.session_state.get(_AGAIN, ""):
            raise SettingsError(N_("The two passphrases differ. Nothing was written. Try again."))
        server.back_up(passphrase)
    except FootnoteError as error:
        st.session_state[_REFUSED] = error


def _show_made(server: PageServices, path: Path, when: str) -> None:
    """Show where a backup is, with its size and a button that deletes it."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"made-{path.name}"):
        st.markdown(
            _(
                "{file}, {megabytes} MB, made {when}",
                file=code(str(path)),
                megabytes=f"{path.stat().st_size / 1e6:,.1f}",
                when=when,
            ),
            width="stretch",
        )
        st.link_button(_("Download"), server.offer_backup(path), icon=":material/download:", type="tertiary")
        if st.button(_("Delete"), icon=":material/delete:", type="tertiary", key=f"delete-{path.name}"):
            confirm_deletion(
                _("Delete this backup?"),
                _("{file} will be deleted. Your documents and chats stay.", file=code(path.name)),
                key=f"really-delete-{path.name}",
                act=partial(_delete, server, path.name),
            )


def _delete(server: PageServices, name: str) -> None:
    server.delete_backup(name)
    flash(_("The backup was deleted."), ":material/delete:")


def backup_progress(now: BackupProgress | None) -> tuple[float, str]:
    """Return the share of the step that is done, and a sentence.

    >>> backup_progress(BackupProgress("copying originals", 30_000_000, 120_000_000))
    (0.25, 'Copying original files: 30 MB of 120 MB')
    """
    if now is None:
        return 0.0, _("Waiting")
    share = now.done / now.total if now.total else 1.0
    if now.step not in _STEPS:
        return share, _("Waiting")
    return share, _(_STEPS[now.step], done=size(now.done), total=size(now.total))


def _show_scheduled(settings: Settings) -> None:
    if settings.database_url:
        st.markdown(_("The ledger is on a database server: back it up with that server’s own tools."))
    elif settings.backup_folder is None:
        st.markdown(
            _("Automatic backups are off. Whoever runs the server can turn them on."),
            help=_("Set {setting} to a folder before Footnote starts.", setting=code(_FOLDER)),
        )
    else:
        st.markdown(
            ngettext(
                "A backup is written to {folder} every {hours} hours. The newest {count} is kept.",
                "A backup is written to {folder} every {hours} hours. The newest {count} are kept.",
                settings.backup_keep,
                folder=code(str(settings.backup_folder)),
                hours=f"{settings.backup_hours:g}",
            )
        )
