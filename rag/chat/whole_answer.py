"""Answers about whole documents without a model: overviews, sections, lists, authors, quoted."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rag.chat.extractive import AnswerPart, write
from rag.chat.whole_question import WholeQuestion
from rag.citations.support import Citation
from rag.ingest.document_facts import DocumentProfile
from rag.passage import Passage
from rag.retrieval.items import NamedItem, count_is_stated, find_items, find_mentions
from rag.retrieval.overview import central_sentences, section_on
from rag.retrieval.sentences import Pick
from rag.text.language import language
from rag.text.markers import inert

MOST_ITEMS = 200  # items that are listed; the others are counted
LEAST_SECTION = 2  # passages of a section that is told about as a whole
_FOUND = {
    "list": {
        "en": "**{count:,} found:**",
        "ko": "**{count:,}개를 찾았습니다:**",
        "ja": "**{count:,}件見つかりました:**",
    },
    "documents": {
        "en": "**{count:,} of {total:,} documents:**",
        "ko": "**문서 {total:,}개 중 {count:,}개:**",
        "ja": "**文書{total:,}件のうち{count:,}件:**",
    },
}
_MORE = {"en": "and {count:,} more", "ko": "외 {count:,}개", "ja": "ほか{count:,}件"}
_PROPERTY = {
    "en": "The file's properties name {names} as its author; its text names none.",
    "ko": "파일 속성에는 작성자가 {names}(으)로 되어 있고, 본문에는 저자 이름이 없습니다.",
    "ja": "ファイルのプロパティでは作成者は{names}ですが、本文に著者名はありません。",
}


@dataclass(frozen=True)
class WholeAnswer:
    """Parts of an answer about a whole scope, and the passages that their markers count in."""

    passages: tuple[Passage, ...]
    parts: tuple[AnswerPart, ...]


def answer_whole(
    question: str,
    asked: WholeQuestion,
    passages: Sequence[Passage],
    documents: Mapping[str, DocumentProfile],
) -> WholeAnswer | None:
    """Return the answer to a question about all of `passages`; None where nothing in them answers it so."""
    if asked.limited or (asked.counted and count_is_stated(question, asked.subject, passages)):
        return None
    if asked.kind == "overview":
        return _picked(question, passages, central_sentences(passages))
    if asked.kind == "topic":
        places = section_on(asked.subject, passages)
        section = [passages[at] for at in places]
        return (
            None if len(section) < LEAST_SECTION else _picked(question, section, central_sentences(section))
        )
    if asked.kind == "author":
        return _authors(question, passages, documents)
    if asked.kind == "documents":
        total = len({passage.document_id for passage in passages})
        return list_items(question, "documents", find_mentions(asked.subject, passages), passages, total)
    return list_items(question, "list", find_items(asked.subject, passages), passages, len(passages))


def _picked(question: str, passages: Sequence[Passage], picks: Sequence[Pick]) -> WholeAnswer | None:
    if not picks:
        return None
    order = list(dict.fromkeys(pick.number for pick in picks))
    shown = tuple(passages[number - 1] for number in order)
    numbered = [replace(pick, number=order.index(pick.number) + 1) for pick in picks]
    return WholeAnswer(shown, tuple(write(question, shown, numbered, doubtful=False)))


def list_items(
    question: str, kind: str, items: Sequence[NamedItem], passages: Sequence[Passage], total: int
) -> WholeAnswer | None:
    """Return the list of items with their number, each cited; None where there is none."""
    if not items:
        return None
    code = language(question)
    shown = items[:MOST_ITEMS]
    order = list(dict.fromkeys(item.number for item in shown))
    numbers = {number: place for place, number in enumerate(order, 1)}
    lead = _FOUND[kind].get(code, _FOUND[kind]["en"]).format(count=len(items), total=total)
    parts, length = [AnswerPart(lead)], len(lead)
    for place, item in enumerate(shown):
        passage = passages[item.number - 1]
        gap = "\n" if place else "\n\n"
        told = f"- {_line(item, passage, kind)} [{numbers[item.number]}]"
        start, length = length + len(gap), length + len(gap) + len(told)
        quote = passage.text[item.start : item.end]
        at = (passage.start + item.start, passage.start + item.end)
        cited = Citation(numbers[item.number], start, length, "verified", *at, quote)
        parts.append(AnswerPart(gap + told, cited))
    if more := len(items) - len(shown):
        parts.append(AnswerPart("\n- " + _MORE.get(code, _MORE["en"]).format(count=more)))
    return WholeAnswer(tuple(passages[number - 1] for number in order), tuple(parts))


def _line(item: NamedItem, passage: Passage, kind: str) -> str:
    name = " ".join(inert(item.name).split())
    if kind == "documents":
        return f"{name}: {' '.join(inert(passage.text[item.start : item.end]).split())[:300]}"
    return name


def _authors(
    question: str, passages: Sequence[Passage], documents: Mapping[str, DocumentProfile]
) -> WholeAnswer | None:
    """Return the line that names the authors; without one, those of the file's properties, uncited."""
    facts = [(id_, fact) for id_, one in documents.items() for fact in one.facts if fact.kind == "author"]
    written = [(id_, fact.start, fact.end or 0) for id_, fact in facts if fact.start is not None]
    picks = list(_author_picks(written, passages))
    if picks:
        return _picked(question, passages, picks)
    if not facts:
        return None
    names = ", ".join(dict.fromkeys(inert(fact.value) for _, fact in facts))
    told = _PROPERTY.get(language(question), _PROPERTY["en"]).format(names=names)
    return WholeAnswer((), (AnswerPart(told),))


def _author_picks(written: Sequence[tuple[str, int, int]], passages: Sequence[Passage]) -> Iterator[Pick]:
    """Yield, for each document, the span from its first to its last author in the passage with the first."""
    for id_ in dict.fromkeys(one for one, _, _ in written):
        spans = [(start, end) for one, start, end in written if one == id_]
        for number, passage in enumerate(passages, 1):
            inside = [
                (a - passage.start, b - passage.start)
                for a, b in spans
                if passage.document_id == id_ and passage.start <= a and b <= passage.end
            ]
            if inside:
                first, last = min(inside)[0], max(b for _, b in inside)
                yield Pick(number, first, last, 1.0, first, last)
                break
