"""Coverage of an answer: how many passages of its scope were read."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag.i18n import N_plural
from rag.passage import Passage

_SAID = {
    "ko": "문서 {documents:,}개의 구절 {total:,}개 중 {read:,}개를 읽었습니다",
    "ja": "文書 {documents:,} 件の抜粋 {total:,} 件中 {read:,} 件を読みました",
}


@dataclass(frozen=True)
class Coverage:
    """Event: an answer about a whole scope has read `read` of its `total` passages, in `documents`."""

    read: int
    total: int
    documents: int

    def said(self, code: str = "en") -> str:
        """Return the coverage in words, in a language.

        >>> Coverage(214, 214, 12).said()
        'Read 214 of 214 passages in 12 documents'
        """
        if code in _SAID:
            return _SAID[code].format(read=self.read, total=self.total, documents=self.documents)
        return N_plural(
            "Read {read} of {total} passages in {count} document",
            "Read {read} of {total} passages in {count} documents",
            self.documents,
            read=f"{self.read:,}",
            total=f"{self.total:,}",
        )


def coverage_of(read: Sequence[Passage], scope: Sequence[Passage]) -> Coverage:
    """Return the coverage of an answer from some passages of a scope."""
    return Coverage(len(read), len(scope), len({passage.document_id for passage in scope}))
