"""Introduction of a document: some of its own sentences, and questions that it was seen to answer."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, zip_longest
from pathlib import PurePath

from rag.chat.answer import Done
from rag.chat.pipeline import RagPipeline
from rag.errors import FootnoteError
from rag.jobs import Cancel, never
from rag.passage import Passage
from rag.retrieval.overview import back_matter, central_sentences
from rag.retrieval.sentences import width
from rag.text.language import language
from rag.text.markdown import read_tables
from rag.text.markers import inert
from rag.text.questions import NaturalQuestion, heading_question, sentence_questions, table_questions
from storage.records import ChunkRecord

INTRODUCE = "introduce"  # kind of the jobs, and their lane
LANES = {INTRODUCE: 1}
MOST_QUESTIONS = 3
MOST_TRIED = 24  # questions that are asked until some are answered
MOST_CHUNKS = 80  # of a long document that are looked at, from its beginning to its end
MOST_SENTENCES, LONGEST_SUMMARY = 3, 500  # of the summary: its sentences, and their width in Latin letters
_SAMPLE = 200  # characters of each chunk that show the language of the document
_TABLES = {
    "en": ("a table with the columns {columns}.", ", ", ": "),
    "ko": ("{columns} 열이 있는 표입니다.", ", ", ": "),
    "ja": ("{columns}の列がある表です。", "、", "："),
    "": ("{columns}", "、", "："),
}
"""Sentence about the columns of a table by language, and what stands between them and after its heading."""
_SHEETS = frozenset({".xlsx", ".xlsm", ".xls", ".ods"})
_SIZES = {"ko": "시트 {sheets}개, {rows}행", "ja": "シート{sheets}枚、{rows}行"}
_RULE = re.compile(r"\|(?: *:?-+:? *\|)+")
_EMPHASIS = re.compile(r"\*\*|__|`")


@dataclass(frozen=True)
class Introduction:
    """Summary of a document, and questions that are answered from it by the search; both may be empty."""

    summary: str = ""
    questions: tuple[str, ...] = ()


def introduce(
    chunks: Sequence[ChunkRecord], pipeline: RagPipeline, cancelled: Cancel = never
) -> Iterator[Introduction]:
    """Yield an introduction that grows: the summary, then one question after the other.

    `pipeline` searches the document without a language model; a question is kept where the first words that
    it quotes are of the passage that the question was made from, and it states no doubt.
    """
    body = chunks[: back_matter([chunk.text for chunk in chunks])]
    shown = spread(body, MOST_CHUNKS)
    so_far = Introduction("\n".join(filter(None, (summarise(shown), sheet_size(chunks)))))
    yield so_far
    for question, chunk in islice(candidates(shown), MOST_TRIED):
        if cancelled() or len(so_far.questions) == MOST_QUESTIONS:
            return
        if is_answered(question, chunk, pipeline):
            so_far = replace(so_far, questions=(*so_far.questions, question))
            yield so_far


def summarise(chunks: Sequence[ChunkRecord]) -> str:
    """Return the most central sentences of a document, in their order; without any, what its tables hold."""
    passages = [
        Passage(c.id, c.document_id, c.document, c.sha256, c.page, c.heading, c.start, c.end, c.text)
        for c in chunks
    ]
    told, left = dict[tuple[int, int], str](), float(LONGEST_SUMMARY)
    for pick in central_sentences(passages, MOST_SENTENCES):
        said = inert(_EMPHASIS.sub("", passages[pick.number - 1].text[pick.start : pick.end]))
        left -= width(said)
        if told and left < 0:
            left += width(said)
            continue
        told[pick.number, pick.start] = " ".join(said.split())
    return "\n".join(told[place] for place in sorted(told)) or _columns(chunks)


def sheet_size(chunks: Sequence[ChunkRecord]) -> str:
    """Return the number of sheets and rows of a spreadsheet in its language; empty for other documents.

    The headings of its columns are rows, as a spreadsheet program numbers them; empty rows are not counted.
    """
    if not chunks or PurePath(chunks[0].document).suffix.lower() not in _SHEETS:
        return ""
    rows = {
        chunk.start + line.start()
        for chunk in chunks
        for line in re.finditer(r"^\|.*$", chunk.text, re.MULTILINE)
        if not _RULE.fullmatch(line[0])
    }
    sheets = {chunk.heading.partition(" > ")[0] for chunk in chunks if chunk.heading}
    spoken = language(" ".join(chunk.text[:_SAMPLE] for chunk in chunks))
    if spoken in _SIZES:
        return _SIZES[spoken].format(sheets=f"{len(sheets):,}", rows=f"{len(rows):,}")
    return f"{_english(len(sheets), 'sheet')}, {_english(len(rows), 'row')}"


def _english(number: int, word: str) -> str:
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def _columns(chunks: Sequence[ChunkRecord]) -> str:
    """Return what columns the first tables have, a line for each."""
    found = (
        (chunk.heading.rpartition(" > ")[2], [name for name in table.header if re.search(r"[^\W\d_]", name)])
        for chunk in chunks
        for table in read_tables(chunk.text)
    )
    named = dict.fromkeys((heading, tuple(names)) for heading, names in found if names)
    spoken = _TABLES.get(language(" ".join(chunk.text[:_SAMPLE] for chunk in chunks)), _TABLES[""])
    return "\n".join(_told_columns(spoken, *one) for one in islice(named, MOST_SENTENCES))


def _told_columns(spoken: tuple[str, str, str], heading: str, names: Sequence[str]) -> str:
    """Return the sentence about the columns of one table, after its heading.

    >>> _told_columns(_TABLES["en"], "Bikes", ["Model", "Price"])
    'Bikes: a table with the columns Model, Price.'
    >>> _told_columns(_TABLES["ja"], "", ["品名", "単価"])
    '品名、単価の列がある表です。'
    """
    sentence, separator, colon = spoken
    told = sentence.format(columns=separator.join(names))
    return f"{heading}{colon}{told}" if heading else told[:1].upper() + told[1:]


def candidates(chunks: Sequence[ChunkRecord]) -> Iterator[tuple[str, ChunkRecord]]:
    """Yield questions with the chunks they were made from, each once: of sentences, tables, then headings."""
    asked: set[str] = set()
    spoken = language(" ".join(chunk.text[:_SAMPLE] for chunk in chunks))
    whole = "\n".join(chunk.text for chunk in chunks)
    title = _title_above(chunks)
    found = chain(
        _in_turn(chunks, lambda chunk: sentence_questions(chunk.text, _above(chunk), whole)),
        _in_turn(chunks, lambda chunk: table_questions(chunk.text)),
        (
            (heading_question(_above(chunk), chunk.text, spoken, whole), chunk)
            for chunk in chunks
            if chunk.heading and chunk.heading != title
        ),
    )
    for question, chunk in found:
        if question and question.casefold() not in asked:
            asked.add(question.casefold())
            yield question, chunk


def _title_above(chunks: Sequence[ChunkRecord]) -> str:
    """Return the heading that stands above all others; nothing of a document without one."""
    roots = {chunk.heading.partition(" > ")[0] for chunk in chunks}
    return roots.pop() if len(roots) == 1 and len(chunks) > 1 else ""


def _above(chunk: ChunkRecord) -> str:
    """Return the headings above a chunk, the name of its document first."""
    return " > ".join(filter(None, (PurePath(chunk.document).stem, chunk.heading)))


def _in_turn(
    chunks: Sequence[ChunkRecord], make: Callable[[ChunkRecord], Iterable[NaturalQuestion]]
) -> Iterator[tuple[str, ChunkRecord]]:
    """Yield the first question of each chunk, then the second of each."""
    each = [[(found.text, chunk) for found in make(chunk)] for chunk in chunks]
    return (pair for turn in zip_longest(*each) for pair in turn if pair is not None)


def is_answered(question: str, chunk: ChunkRecord, pipeline: RagPipeline) -> bool:
    """Return True where the search answers a question from a chunk first, without a doubt before it."""
    try:
        done = next((event for event in pipeline.ask(question, (), never) if isinstance(event, Done)), None)
    except FootnoteError:  # no search, no question
        return False
    if done is None or not done.citations:
        return False
    first = done.citations[0]
    doubt = "\n\n" in done.text[: first.answer_start]
    inside = first.quote_start < chunk.end and chunk.start < first.quote_end
    return inside and not doubt


def spread(chunks: Sequence[ChunkRecord], most: int) -> list[ChunkRecord]:
    """Return at most so many chunks of a document, evenly from its beginning to its end."""
    step = max(1.0, len(chunks) / most)
    return [chunks[int(at * step)] for at in range(min(most, len(chunks)))]
