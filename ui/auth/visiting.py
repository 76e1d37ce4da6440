"""Who is at the page that is being drawn, as the door and Streamlit's sign-in know it."""

from datetime import UTC, datetime

import streamlit as st

from rag.errors import EntryRefused
from rag.settings import Settings
from ui.auth.identity import LOCAL_VISITOR, Alone, Entrance, OpenID, Visitor, by_header, by_token
from ui.auth.middleware import ENTRANCE, PERSON

SINCE = "here-since"


def visitor(entrance: Entrance, settings: Settings) -> Visitor | None:
    """Return who is here; None where nobody has signed in. Raises EntryRefused for one who is not let in."""
    _confirm_door(entrance)
    if isinstance(entrance, Alone):
        return LOCAL_VISITOR
    if isinstance(entrance, OpenID):
        return by_token(st.user.to_dict(), settings, datetime.now(UTC)) if st.user.is_logged_in else None
    named = st.context.headers.get_all(PERSON)
    return by_header(named[0], settings, _since()) if len(named) == 1 else None


def _confirm_door(entrance: Entrance) -> None:
    """Raise EntryRefused unless the connection came through the door, by the same way of knowing people.

    Where there is no connection at all, as in tests of single pages, nobody is at the other end.
    """
    headers = st.context.headers
    if list(headers) and headers.get_all(ENTRANCE) != [entrance.name]:
        raise EntryRefused(
            "How people sign in was changed since this server was started, or it was not started with "
            "app.py. Start it again: streamlit run app.py"
        )


def _since() -> datetime:
    """Return when this session began, where the proxy does not say since when someone is signed in."""
    since: datetime = st.session_state.setdefault(SINCE, datetime.now(UTC))
    return since
