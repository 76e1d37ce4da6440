"""A browser's tab without the browser: the websocket it opens to Streamlit, what it says and is told."""

import time
from collections.abc import Callable
from typing import Self

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect

_WRITER = "Written by"


class Tab:
    """One person's chat page."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._page = ""
        self._box = ""

    @classmethod
    async def open(cls, url: str) -> Self:
        """Ask for the first page, and read until its question box is there."""
        address = url.replace("http", "ws", 1) + "/_stcore/stream"
        tab = cls(await connect(address, subprotocols=["streamlit"], max_size=None))
        await tab._send(BackMsg(rerun_script={"query_string": ""}))
        await tab._until(lambda told: bool(tab._box) and _run_over(told))
        return tab

    async def ask(self, question: str, first: str, last: str) -> float:
        """Ask, read to the end of the answer, and return the milliseconds to its first word.

        The first word of the answer must stand in no other, for earlier answers are sent again.
        """
        asked = BackMsg(rerun_script={"page_script_hash": self._page})
        asked.rerun_script.widget_states.widgets.add(id=self._box).chat_input_value.data = question
        start = time.perf_counter()
        await self._send(asked)
        await self._until(lambda told: first in _text(told))
        waited = (time.perf_counter() - start) * 1000
        await self._until(lambda told: first in _text(told) and last in _text(told))
        await self._until(lambda told: _WRITER in _text(told))  # only under an answer as it was stored
        await self._until(_run_over)
        return waited

    async def close(self) -> None:
        """Close the tab."""
        await self._socket.close()

    async def _send(self, message: BackMsg) -> None:
        await self._socket.send(message.SerializeToString())

    async def _until(self, awaited: Callable[[ForwardMsg], bool]) -> None:
        async for data in self._socket:
            told = ForwardMsg.FromString(data)  # Streamlit speaks in bytes only
            self._note(told)
            if awaited(told):
                return
        raise ConnectionError("The server hung up.")

    def _note(self, told: ForwardMsg) -> None:
        match told.WhichOneof("type"):
            case "new_session":
                self._page = told.new_session.page_script_hash
            case "delta" if told.delta.new_element.WhichOneof("type") == "chat_input":
                self._box = told.delta.new_element.chat_input.id


def _run_over(told: ForwardMsg) -> bool:
    return told.WhichOneof("type") == "script_finished"


def _text(told: ForwardMsg) -> str:
    return told.delta.new_element.markdown.body if told.WhichOneof("type") == "delta" else ""
