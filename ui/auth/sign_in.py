"""Sign-in before every page, and sign-out."""

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from rag.errors import EntryRefused
from rag.i18n import _, translated
from storage.errors import AccountClosed
from ui import pages
from ui.auth.identity import LocalUser, OpenID, Visitor
from ui.components.markdown import escape_text, label
from ui.components.messages import flash_errors
from ui.server.services import PageServices


def let_in(server: PageServices) -> Visitor:
    """Return the visitor; without one show the sign-in page and stop."""
    visitor, refused = _known(server)
    if visitor is None:
        _show_sign_in(server, refused)
        st.stop()
    return visitor


def show_visitor(visitor: Visitor, server: PageServices) -> None:
    """Show the signed-in person and the Sign out button, unless in local mode."""
    if isinstance(server.auth_mode, LocalUser):
        return
    with st.sidebar:
        st.caption(_("Signed in as **{name}**", name=label(visitor.name, 60)))
        if isinstance(server.auth_mode, OpenID):
            st.button(
                _("Sign out"),
                icon=":material/logout:",
                key="sign-out",
                on_click=_sign_out,
                args=(visitor, server),
                help=_("Signs you out in every browser."),
                width="stretch",
            )


def _known(server: PageServices) -> tuple[Visitor | None, str]:
    """Return the visitor, whose visit is recorded; else None and the reason of a refusal."""
    try:
        visitor = server.visitor()
        if visitor is not None and not isinstance(server.auth_mode, LocalUser):
            server.account(visitor.id).enter(visitor.since, visitor.name, visitor.email)
            if (context := get_script_run_ctx()) is not None:
                server.sessions.admit(context.session_id, visitor.id)
    except (EntryRefused, AccountClosed) as error:
        return None, str(error)
    return visitor, ""


def _show_sign_in(server: PageServices, refused: str) -> None:
    if (context := get_script_run_ctx()) is not None:
        server.sessions.refuse(context.session_id)
    st.navigation(pages.for_visitor(people=True), position="hidden")  # none of them is shown, nor run
    st.title("Footnote")
    if refused:
        st.warning(escape_text(translated(refused)), icon=":material/lock:")
    if isinstance(server.auth_mode, OpenID):
        st.markdown(_("Chat with your own documents. Sign in to see yours."))
        for name in server.auth_mode.providers:
            shown = _("Sign in with {name}", name=label(name, 40)) if name else _("Sign in")
            if st.button(shown, type="primary", icon=":material/login:", key=f"sign-in-{name}"):
                st.login(name or None)
    elif not refused:
        st.warning(_("The proxy in front of Footnote did not identify you."), icon=":material/lock:")


@flash_errors
def _sign_out(visitor: Visitor, server: PageServices) -> None:
    server.account(visitor.id).leave(visitor.since)
    server.sessions.end(visitor.id)
    st.logout()
