"""What a run remembers of how it was made, so that a later one can be compared with it."""

import hashlib
from collections.abc import Sequence

from storage.lab_records import RunRecord, SearchedRecord
from storage.records import DocumentRecord


def searched(records: Sequence[DocumentRecord], *, every: bool) -> SearchedRecord:
    """Return what a run remembers of the documents it searches."""
    contents = "\n".join(sorted(record.sha256 for record in records))
    return SearchedRecord(
        every=every,
        count=len(records),
        names=tuple(sorted(record.name for record in records)),
        fingerprint=hashlib.sha256(contents.encode()).hexdigest()[:16],
        chunks=sum(record.chunks for record in records),
    )


def differences(newer: RunRecord, older: RunRecord) -> list[str]:
    """Return what besides the retrievers differs between two runs over a set, as parts of a sentence.

    Empty when their figures can be compared as they stand: ``["10 questions in place of 8"]``.
    """
    told = {
        "questions": (newer.asked, older.asked),
        "passages a search": (newer.k, older.k),
        "documents": (newer.searched.count, older.searched.count),
        "chunks": (newer.searched.chunks, older.searched.chunks),
    }
    found = [f"{new} {what} in place of {old}" for what, (new, old) in told.items() if new != old]
    same_size = newer.searched.count == older.searched.count
    if same_size and newer.searched.fingerprint != older.searched.fingerprint:
        found.append("other documents, or other contents")
    for what, new, old in (
        ("embedding model", newer.embedding, older.embedding),
        ("mixture", newer.mixture, older.mixture),
    ):
        if new != old:
            found.append(f"{what} {new or 'unknown'} in place of {old or 'unknown'}")
    return found
