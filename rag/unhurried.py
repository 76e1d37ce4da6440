"""A stream read a few times a second rather than at every word of it.

A process that wakes for one word of an answer takes half a millisecond or more for it, whatever the word:
where twenty answers came at fifty words a second, waking alone kept a core busy. Words that came meanwhile
cost a twentieth of that.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

REST = 0.1  # seconds: a page draws an answer no more often


class Unhurried:
    """The chunks of a stream; while `rests`, a moment passes after each that had to be waited for.

    What comes in that moment is there at once after it. The first words are to be seen as they come, so
    that it `rests` only once it is told to.
    """

    def __init__(
        self,
        chunks: AsyncIterator[bytes],
        rest: Callable[[], Any] = lambda: asyncio.sleep(REST),
    ):
        self.rests = False
        self._chunks = chunks
        self._rest = rest
        self._waited = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if self.rests and self._waited:
            await self._rest()
        self._waited = False
        # The loop only comes to this where the chunk is not there yet.
        notice = asyncio.get_running_loop().call_soon(self._note)
        try:
            return await anext(self._chunks)
        finally:
            notice.cancel()

    def _note(self) -> None:
        self._waited = True
