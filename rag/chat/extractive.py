"""The answer without a model as it is written: the documents' own words, and what is said before them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag.citations.cite import Citation
from rag.passage import Passage
from rag.retrieval.sentences import Pick
from rag.text.markers import inert
from rag.text.tokenize import language

NOT_FOUND = {
    "en": "Your documents do not seem to answer this.",
    "ko": "문서에서 이 질문에 대한 답을 찾지 못했습니다.",
    "ja": "ドキュメントの中に、この質問への答えは見つかりませんでした。",
}
DOUBTFUL = {
    "en": "Your documents may not answer this. The nearest they come:",
    "ko": "문서에 이 질문에 대한 답이 없을 수 있습니다. 가장 가까운 내용은 다음과 같습니다:",
    "ja": "ドキュメントには、この質問への答えがないかもしれません。最も近い記述は次のとおりです:",
}
FURTHER = {
    "en": "Less close to the question, but near it:",
    "ko": "질문과 덜 가깝지만 관련될 수 있는 내용:",
    "ja": "質問からは少し離れますが、関連するかもしれない記述:",
}
APART = 2.0
"""How far behind the best a pick is said to be further away.

In the first 400 questions of XQuAD, KorQuAD and JaQuAD the best pick holds the answer in .91, .94 and .81,
one less than this behind it in .23, .34 and .33, and one further behind in .07, .17 and .20.
"""


@dataclass(frozen=True)
class AnswerPart:
    """A part of the answer's text, and what it quotes, if it does."""

    text: str
    citation: Citation | None = None


def write(
    question: str, passages: Sequence[Passage], picks: Sequence[Pick], *, doubtful: bool
) -> Iterator[AnswerPart]:
    """Yield the answer made of some picks, best first; of none, that the documents do not seem to answer.

    The pieces in a row are the text, in which each citation's `answer_start` and `answer_end` are.
    """
    length = 0
    for words, pick in _paragraphs(question, passages, picks, doubtful=doubtful):
        gap = "\n\n" if length else ""
        start, length = length + len(gap), length + len(gap) + len(words)
        cited = _citation(pick, passages[pick.number - 1], start, length) if pick else None
        yield AnswerPart(gap + words, cited)


def _paragraphs(
    question: str, passages: Sequence[Passage], picks: Sequence[Pick], *, doubtful: bool
) -> Iterator[tuple[str, Pick | None]]:
    """Yield the answer's paragraphs, each with the pick that it quotes."""
    if not picks or doubtful:
        yield _in_its_language(DOUBTFUL if picks else NOT_FOUND, question), None
    together = False  # whether the rest was said to be near only, as all of a doubtful answer is
    for pick in picks:
        if pick.score < picks[0].score - APART and not (doubtful or together):
            together = True
            yield _in_its_language(FURTHER, question), None
        passage = passages[pick.number - 1]
        yield f"{inert(passage.text[pick.start : pick.end])} [{pick.number}]", pick


def _citation(pick: Pick, passage: Passage, start: int, end: int) -> Citation:
    place = (passage.start + pick.start, passage.start + pick.end)
    return Citation(pick.number, start, end, "verified", *place, passage.text[pick.start : pick.end])


def _in_its_language(sayings: dict[str, str], question: str) -> str:
    return sayings.get(language(question), sayings["en"])
