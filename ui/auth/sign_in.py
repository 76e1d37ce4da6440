"""The gate before every page: the way to sign in and out, and nothing else until it is known who is there."""

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from rag.errors import EntryRefused
from storage.errors import AccountClosed
from ui import pages
from ui.auth.identity import Alone, OpenID, Visitor
from ui.components.markdown import label, verbatim
from ui.components.messages import tried
from ui.server.services import PageServices


def let_in(held: PageServices) -> Visitor:
    """Return who is at this page; where nobody is let in, show how to sign in and end the page here."""
    there, refused = _known(held)
    if there is None:
        _show_sign_in(held, refused)
        st.stop()
    return there


def show_visitor(there: Visitor, held: PageServices) -> None:
    """Show who is signed in, and the way out, where people sign in at all."""
    if isinstance(held.entrance, Alone):
        return
    with st.sidebar:
        st.caption(f"Signed in as **{label(there.name, 60)}**")
        if isinstance(held.entrance, OpenID):
            st.button(
                "Sign out",
                icon=":material/logout:",
                key="sign-out",
                on_click=_sign_out,
                args=(there, held),
                help="Signs you out in every browser.",
                width="stretch",
            )


def _known(held: PageServices) -> tuple[Visitor | None, str]:
    """Return who is let in; else None, and why not where someone asked to be."""
    try:
        there = held.visitor()
        if there is not None:
            _enter(there, held)
    except (EntryRefused, AccountClosed) as error:
        return None, str(error)
    return there, ""


def _enter(there: Visitor, held: PageServices) -> None:
    """Note that someone is here; raises AccountClosed. The local user comes and goes unnoted."""
    if isinstance(held.entrance, Alone):
        return
    held.account(there.id).enter(there.since, there.name, there.email)
    context = get_script_run_ctx()
    if context is not None:
        held.sessions.admit(context.session_id, there.id)


def _show_sign_in(held: PageServices, refused: str) -> None:
    context = get_script_run_ctx()
    if context is not None:
        held.sessions.refuse(context.session_id)
    st.navigation(pages.offered(people=True), position="hidden")  # none of them is shown, nor run
    st.title("Footnote")
    if refused:
        st.warning(verbatim(refused), icon=":material/lock:")
    if isinstance(held.entrance, OpenID):
        st.markdown("Chat with your own documents. Sign in to see yours.")
        _show_providers(held.entrance)
    elif not refused:
        st.warning("The proxy in front of Footnote did not identify you.", icon=":material/lock:")


def _show_providers(entrance: OpenID) -> None:
    for name in entrance.providers:
        shown = f"Sign in with {label(name, 40)}" if name else "Sign in"
        if st.button(shown, type="primary", icon=":material/login:", key=f"sign-in-{name}"):
            st.login(name or None)


@tried
def _sign_out(there: Visitor, held: PageServices) -> None:
    held.account(there.id).leave(there.since)
    held.sessions.end(there.id)
    st.logout()
