"""A browser's tab without the browser: the websocket it opens to Streamlit, what it says and is told.

    tab = Tab.open(server.url)
    tab.ask("How many containers were handled?")
    tab.until(lambda: "4.1 million" in tab.text)
    tab.press("delete-...")
    tab.close()

It tells the server what a browser would tell it, and shows what a browser would show: elements that a whole
run of the page has not drawn again are gone. It draws nothing, so hundreds cost little.
"""

import socket
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any, Self

import httpx
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Common_pb2 import FileUploaderState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.Navigation_pb2 import Navigation
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.sync.client import ClientConnection, connect

from tests.faults.shown import Shown

PATIENCE = 300.0  # seconds: a busy machine takes its time
AGAIN, TRIES = 3.0, 100  # seconds after which a press is taken for forgotten
NO_TOKEN = "PLACEHOLDER_AUTH_TOKEN"  # what a browser says where nobody signs in
XSRF = "_streamlit_xsrf"


def wait_for(holds: Callable[[], bool]) -> None:
    """Wait until something holds that no tab shows."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, f"It did not come to hold in {PATIENCE:g} seconds."
        time.sleep(0.05)


class Tab:
    """One person's tab: `query` is what stands behind the question mark of its address."""

    def __init__(self, url: str, query: str = "", page: str = "", cookies: Mapping[str, str] | None = None):
        self.shown = Shown()
        self.query = query
        self.cookies = dict(cookies or {})  # of who has signed in
        self.led_to = ""  # address that the page sends its browser to
        self.pages: list[str] = []  # that the sidebar links to, by what their addresses end with
        self.runs = 0  # that have ended
        self.drawn = False  # wholly, with nothing that is to be cleared yet
        self._url, self._name, self._page = url, page, ""
        self._session = ""
        self._fragments: set[str] = set()
        self._dropped: list[WidgetState] = []  # what lies in the uploader: a browser tells of it each time
        self._links: list[Any] = []
        self._open = ExitStack()  # closes the connection
        self._socket: ClientConnection

    @classmethod
    def open(
        cls, url: str, query: str = "", page: str = "", cookies: Mapping[str, str] | None = None
    ) -> Self:
        """Ask for a page by its address."""
        tab = cls(url, query, page, cookies)
        tab._connect()
        return tab

    @property
    def text(self) -> str:
        """All words on the page."""
        return self.shown.text

    @property
    def chat(self) -> str:
        """The id of the open chat; empty where none is."""
        return dict(part.split("=", 1) for part in self.query.split("&") if "=" in part).get("chat", "")

    def ask(self, question: str, *files: tuple[str, bytes]) -> None:
        """Send a question, along with files if any are given, once the page can take one."""
        self.until(lambda: self.shown.way("question") is not None)
        state = self._state("question")
        state.chat_input_value.data = question
        if files:
            state.chat_input_value.file_uploader_state.CopyFrom(self._uploaded(files))
        self._act(state, "question")

    def press(self, key: str, then: Callable[[], bool] = lambda: True) -> None:
        """Press a button by its key, once it is there; again where `then` is not seen after a while.

        Streamlit forgets a press where a fragment's look arrives before it is worked on.
        """
        self.until(lambda: self.shown.way(key) is not None)
        for _ in range(TRIES):
            if self.shown.way(key) is not None:
                state = self._state(key)
                state.trigger_value = True
                self._act(state, key)
            if self._seen(then, AGAIN):
                return
        raise AssertionError(f"Pressing {key} led nowhere:\n{self.text}")

    def write(self, key: str, text: str) -> None:
        """Write into a field and leave it."""
        self.until(lambda: self.shown.way(key) is not None)
        state = self._state(key)
        state.string_value = text
        self._act(state, key)

    def submit(self, key: str, text: str, button: str) -> None:
        """Fill in the one field of a form, once it is there, and send it by its button."""
        self.until(lambda: self.shown.way(button) is not None)
        written, sent = self._state(key), self._state(button)
        written.string_value, sent.trigger_value = text, True
        self._act(written, key, sent)

    def drop(self, *files: tuple[str, bytes]) -> None:
        """Drop files, as names and contents, on the uploader of the page, once it is there."""
        self.until(lambda: self.shown.way("uploader") is not None)
        state = self._state("uploader")
        state.file_uploader_state_value.CopyFrom(self._uploaded(files))
        self._dropped = [state]
        self._act(state, "uploader")

    def look(self) -> None:
        """Have those parts of the page drawn again that look by themselves every few seconds."""
        for fragment in sorted(self._fragments):
            self._send(BackMsg(rerun_script=self._script(fragment_id=fragment, is_auto_rerun=True)))

    def reload(self) -> None:
        """Ask for the same address anew."""
        self.close()
        self.__init__(self._url, self.query, self._name, self.cookies)  # type: ignore[misc]
        self._connect()

    def go(self, query: str) -> None:
        """Go to another address of the same page, as the browser's Back does."""
        self.query = query
        self._rerun(is_history_navigation=True)

    def cut(self) -> None:
        """Lose the connection without a goodbye, as with a network that is away."""
        self._socket.socket.shutdown(socket.SHUT_RDWR)

    def reconnect(self) -> None:
        """Come back into the same session, as a browser does once the network is there again."""
        self.shown = Shown()
        self._connect()

    def close(self) -> None:
        """Close the tab."""
        self._open.close()

    def until(self, seen: Callable[[], bool], *, look: bool = False) -> None:
        """Read what the server says until something is seen; `look` also draws what looks by itself."""
        assert self._seen(seen, PATIENCE, look=look), f"Not seen in {PATIENCE:g} seconds, but:\n{self.text}"

    def _seen(self, seen: Callable[[], bool], seconds: float, *, look: bool = False) -> bool:
        deadline = time.monotonic() + seconds
        while not seen():
            if time.monotonic() > deadline:
                return False
            if not self._read(0.2) and look:
                self.look()
        return True

    def _connect(self) -> None:
        address = self._url.replace("http", "ws", 1) + "/_stcore/stream"
        token = self.cookies.get(XSRF, NO_TOKEN)
        named = ["streamlit", token, *filter(None, [self._session])]
        held = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        connecting = connect(
            address,
            origin=self._url,  # type: ignore[arg-type]
            additional_headers={"Cookie": held} if held else None,
            subprotocols=named,  # type: ignore[arg-type]
            max_size=None,
            max_queue=None,  # what the server says is taken at once, whenever it is read
            ping_interval=None,  # no browser asks whether a busy server is there
            proxy=None,
        )
        self._socket = self._open.enter_context(connecting)
        self._rerun()

    def _rerun(self, **told: Any) -> None:
        self._send(BackMsg(rerun_script=self._script(**told)))

    def _script(self, **told: Any) -> dict[str, Any]:
        named = {"page_script_hash": self._page} if self._page else {"page_name": self._name}
        return {"query_string": self.query, "widget_states": {"widgets": self._dropped}, **named, **told}

    def _state(self, key: str) -> WidgetState:
        way = self.shown.way(key)
        assert way is not None, f"Nothing here is called {key}:\n{self.text}"
        return WidgetState(id=getattr(way.element, way.element.WhichOneof("type")).id)

    def _act(self, state: WidgetState, key: str, *sent: WidgetState) -> None:
        way = self.shown.way(key)
        assert way is not None
        others = [dropped for dropped in self._dropped if dropped.id != state.id]
        self._rerun(widget_states={"widgets": [state, *sent, *others]}, fragment_id=way.fragment)

    def _uploaded(self, files: tuple[tuple[str, bytes], ...]) -> FileUploaderState:
        """Send files up, and return how the page names them afterwards."""
        self._links = []
        asked = {
            "request_id": "files",
            "file_names": [name for name, _ in files],
            "session_id": self._session,
        }
        self._send(BackMsg(file_urls_request=asked))
        self.until(lambda: bool(self._links))
        state = FileUploaderState()
        with httpx.Client(base_url=self._url) as client:
            client.get("/_stcore/health")
            token = {"X-Xsrftoken": client.cookies.get(XSRF, "")}
            for (name, content), link in zip(files, self._links, strict=True):
                sent = client.put(link.upload_url, files={"file": (name, content)}, headers=token)
                sent.raise_for_status()
                state.uploaded_file_info.add(
                    name=name, size=len(content), file_id=link.file_id, file_urls=link
                )
        return state

    def _send(self, message: BackMsg) -> None:
        self._socket.send(message.SerializeToString())

    def _read(self, seconds: float) -> bool:
        """Take one message, if one comes within some seconds."""
        try:
            data = self._socket.recv(seconds)
        except TimeoutError:
            return False
        message = ForwardMsg.FromString(data)  # type: ignore[arg-type]  # Streamlit speaks in bytes only
        self._note(message)
        self.shown.take(message)
        return True

    def _note(self, message: ForwardMsg) -> None:
        self.led_to = message.auth_redirect.url or self.led_to
        match message.WhichOneof("type"):
            case "new_session":
                self.drawn = False
                self._session = message.new_session.initialize.session_id
                if not message.metadata.run.fragment_ids:
                    self._fragments = set()
            case "navigation":
                self._page = message.navigation.page_script_hash
                shown = message.navigation.position != Navigation.HIDDEN
                self.pages = [
                    page.url_pathname for page in message.navigation.app_pages if shown and not page.is_hidden
                ]
            case "page_info_changed":
                self.query = message.page_info_changed.query_string
            case "auto_rerun":
                self._fragments.add(message.auto_rerun.fragment_id)
            case "script_finished":
                self.drawn = message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN
                self.runs += self.drawn
            case "file_urls_response":
                self._links = list(message.file_urls_response.file_urls)
