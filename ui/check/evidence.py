"""Words of a checked statement as the evidence panel shows them."""

from rag.chat.check_text import CheckedStatement, CheckedText, SourceWords
from storage.records import CitationRecord, CitationStatus, PassageRecord
from ui.chat.citations import CitedPassage


def as_evidence(checked: CheckedText, one: CheckedStatement, source: SourceWords) -> CitedPassage:
    """Return the evidence of a statement; its message is not stored and has no id."""
    passage = source.passage
    status: CitationStatus = "related" if one.status == "not found" else one.status
    cited = PassageRecord(
        number=1,
        chunk_id=passage.id,
        document_id=passage.document_id,
        document=passage.document,
        sha256=passage.sha256,
        page=passage.page,
        heading=passage.heading,
        start=passage.start,
        end=passage.end,
        text=passage.text,
        score=passage.score,
    )
    citation = CitationRecord(
        1, one.start, one.end, status, source.start, source.end, source.quote, note=one.note
    )
    return CitedPassage.outside(checked.text, cited, citation)
