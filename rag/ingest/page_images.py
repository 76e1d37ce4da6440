"""Images of PDF pages with marked words: the latest are kept, and those that are expected are drawn ahead."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from storage.errors import FootnoteError

if TYPE_CHECKING:
    from rag.ingest.parsers.pdf_highlight import PageImage

KEPT = 64  # images, about a quarter of a megabyte each
SCALE = 2.0  # pixels per point: sharp on dense screens, about 200 kB a page

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class WantedPage:
    """Page of a PDF, from 1, with spans of its stored text to mark; none are marked if there are none.

    The `current` one of the spans, counted from 0, is framed, too.
    """

    path: Path
    number: int
    text: str
    spans: tuple[tuple[int, int], ...] = ()
    current: int | None = None


@dataclass
class _Drawing:
    lock: threading.Lock = field(default_factory=threading.Lock)
    image: PageImage | None = None


class PageImages:
    """Page images of one process; thread-safe."""

    def __init__(self, kept: int = KEPT):
        """Keep at most so many images."""
        self._kept = kept
        self._drawings: OrderedDict[WantedPage, _Drawing] = OrderedDict()
        self._lock = threading.Lock()
        self._ahead = ThreadPoolExecutor(1, "page-images")

    def draw(self, wanted: WantedPage) -> PageImage:
        """Return a page's image, drawn once for all who ask for it. Raises DocumentRefused."""
        from rag.ingest.parsers.pdf_highlight import page_image

        drawing = self._drawing(wanted)
        with drawing.lock:
            if drawing.image is None:
                drawing.image = page_image(
                    wanted.path,
                    wanted.number,
                    wanted.text,
                    wanted.spans,
                    current=wanted.current,
                    scale=SCALE,
                )
            return drawing.image

    def draw_ahead(self, expected: Iterable[WantedPage]) -> None:
        """Draw pages in the background, one at a time; `expected` is read there, too.

        What fails is logged: whoever asks for that page is told why.
        """
        self._ahead.submit(self._draw_all, expected)

    def close(self) -> None:
        """Draw nothing more ahead."""
        self._ahead.shutdown(cancel_futures=True)

    def _drawing(self, wanted: WantedPage) -> _Drawing:
        with self._lock:
            drawing = self._drawings.setdefault(wanted, _Drawing())
            self._drawings.move_to_end(wanted)
            while len(self._drawings) > self._kept:
                self._drawings.popitem(last=False)
            return drawing

    def _draw_all(self, expected: Iterable[WantedPage]) -> None:
        try:
            for wanted in expected:
                self.draw(wanted)
        except FootnoteError as error:
            log.info("A page was not drawn ahead: %s", error)
