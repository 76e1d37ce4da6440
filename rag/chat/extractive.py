"""Extractive answers: sentences of the documents, and a doubt before them where they may not answer."""

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from itertools import product
from math import log

import numpy as np
from langchain_core.embeddings import Embeddings

from rag.chat.followup import named_alone
from rag.chat.past_turns import PastTurn, Rework
from rag.chat.small_talk import phrase_file
from rag.citations.checker import scale_of
from rag.citations.quantities import quantities
from rag.citations.sentence import LIGHT, LIGHT_WEIGHT
from rag.citations.support import Citation
from rag.errors import EmbeddingError
from rag.passage import Passage
from rag.retrieval.question_type import (
    QuestionType,
    asks_amount,
    defined_thing,
    has_only_dates,
    without_periods,
)
from rag.retrieval.sentences import (
    GRAMMAR_WEIGHT,
    Pick,
    extract,
    grammar,
    sentence_words,
    substance,
)
from rag.retrieval.spelling import corrected
from rag.text.dates import Period, find_periods, is_quarter_word, with_quarter_words
from rag.text.facts import defines, nouns
from rag.text.labels import begins_entry, label_of
from rag.text.language import answer_language, language, may_share_words, shows_language
from rag.text.markdown import (
    TableRow,
    column_of,
    escape_bars,
    markdown_table,
    read_tables,
    rows,
    whole_caption,
)
from rag.text.markers import inert
from rag.text.tokenize import Rarity, named_letters, tokens, word_language

_log = logging.getLogger(__name__)

NOT_FOUND = {
    "en": "Your documents do not seem to answer this.",
    "ko": "문서에서 이 질문에 대한 답을 찾지 못했습니다.",
    "ja": "文書の中に、この質問への答えは見つかりませんでした。",
}
DOUBTFUL = {
    "en": "I found no clear answer. Closest passages:",
    "ko": "분명한 답을 찾지 못했습니다. 가장 가까운 구절:",
    "ja": "明確な答えは見つかりませんでした。最も近い抜粋:",
}
_ITEM_START = re.compile(r"(?m)^(?=[ \t]*(?:[-*+•·▪‣◦※○●■□]|\d{1,2}[.)]|\(\d{1,3}\)|[①-⑳])[ \t　]+\S)")
_MARKDOWN_ITEM = re.compile(r"(?:-|\d{1,2}[.)])[ \t]")
_OF = re.compile(r"[가-힣]의 |の|\bof\b")
_BULLET = re.compile(r"\A[-*+•·▪‣◦※○●■□][ \t]+")


@dataclass(frozen=True)
class AnswerPart:
    """Part of an answer's text, with the citation of the words it quotes, if any."""

    text: str
    citation: Citation | None = None


def write(
    question: str,
    passages: Sequence[Passage],
    picks: Sequence[Pick],
    *,
    doubtful: bool,
    worded: str = "",
    spoken: str = "",
) -> Iterator[AnswerPart]:
    """Yield the parts of an extractive answer: the best sentence in bold, then the other picks.

    A `doubtful` one says so first, and has nothing in bold. Without picks it only says that nothing was
    found. `worded` is the question with all of its words, which say the column of a table, and `spoken` as it
    was typed: what is said of the quotes is in its language. Joined they are the text that each citation's
    `answer_start` and `answer_end` count in.
    """
    told = _paragraphs(question, passages, picks, doubtful=doubtful, worded=worded or question, spoken=spoken)
    yield from _parts(told, passages)


@dataclass(frozen=True)
class StepQuote:
    """Quotes for one of several steps of a question, under the step's words."""

    words: str
    picks: Sequence[Pick]
    doubtful: bool


def write_steps(
    question: str, passages: Sequence[Passage], quotes: Sequence[StepQuote], *, spoken: str = ""
) -> Iterator[AnswerPart]:
    """Yield the parts of an extractive answer in steps: the words of each, then what it quotes."""
    yield from _parts(
        (
            paragraph
            for one in quotes
            for paragraph in (
                (step_heading(one.words), None),
                *_paragraphs(
                    question, passages, one.picks, doubtful=one.doubtful, worded=one.words, spoken=spoken
                ),
            )
        ),
        passages,
    )


def step_heading(words: str) -> str:
    """Return the line above the quote of a step.

    >>> step_heading("the *rent* [1] in 2021?")
    '**the rent in 2021?**'
    """
    return f"**{inert(words.replace('*', ''))}**"


def _parts(
    paragraphs: Iterable[tuple[str, Pick | None]], passages: Sequence[Passage]
) -> Iterator[AnswerPart]:
    length = 0
    for words, pick in paragraphs:
        gap = "\n\n" if length else ""
        start, length = length + len(gap), length + len(gap) + len(words)
        cited = _citation(pick, passages[pick.number - 1], start, length) if pick else None
        yield AnswerPart(gap + words, cited)


def _paragraphs(
    question: str,
    passages: Sequence[Passage],
    picks: Sequence[Pick],
    *,
    doubtful: bool,
    worded: str,
    spoken: str,
) -> Iterator[tuple[str, Pick | None]]:
    if not picks or doubtful:
        asked = spoken if shows_language(spoken) else worded
        yield _translated(DOUBTFUL if picks else NOT_FOUND, asked, passages), None
    for place, pick in enumerate(_once_each_picture(picks, passages)):
        passage = passages[pick.number - 1]
        if passage.is_from_picture:
            told = _from_picture(question, passage)
        elif place == 0 and not doubtful:
            told = _lead(passage, pick)
        else:
            told = quoted(passage, pick.start, pick.end)
        yield _marked(told, pick.number, worded, spoken, _cell_of(passage, pick)), pick


def _cell_of(passage: Passage, pick: Pick) -> int | None:
    """Return the column of the cell that is the best of a pick, where that is one of a single row."""
    found = list(rows(passage.text, pick.start, pick.end))
    if len(found) != 1 or found[0].start != pick.start:
        return None
    return column_of(passage.text, found[0], pick.best_start, pick.best_end)


def _lead(passage: Passage, pick: Pick) -> str:
    """Return the words of the best pick, its best sentence in bold; rows of a table are as they are."""
    told = quoted(passage, pick.start, pick.end)
    first, last = max(pick.start, pick.best_start), min(pick.end, pick.best_end)
    best = _in_lines(passage.text[first:last]).strip()
    if "\n" in best or "*" in best or not best or told.count(best) != 1:
        return told
    return _in_bold(told, best)


def _in_bold(text: str, words: str) -> str:
    """Return a text with the only place of some words in bold.

    Directly before other words the marks end before the full stop, as Markdown takes no others there.

    >>> _in_bold("It fell. So?", "It fell."), _in_bold("雨が降った。寒い。", "雨が降った。")
    ('**It fell.** So?', '**雨が降った**。寒い。')
    """
    before, _words, after = text.partition(words)
    if after and not after[0].isspace():
        words = words.rstrip("".join(one for one in words if not one.isalnum()))
    return f"{before}**{words}**{text[len(before) + len(words) :]}" if words else text


READ_FROM_PICTURE = {
    "en": "Read from a picture by a model:",
    "ko": "모델이 그림에서 읽음:",
    "ja": "モデルが図から読み取った内容:",
}
"""Words before the description of a figure, which is no quote."""


def _once_each_picture(picks: Sequence[Pick], passages: Sequence[Passage]) -> list[Pick]:
    """Return picks without later ones of a picture's description, which is shown whole."""
    shown = {pick.number: pick for pick in reversed(picks) if passages[pick.number - 1].is_from_picture}
    return [pick for pick in picks if shown.get(pick.number, pick) is pick]


def _from_picture(question: str, passage: Passage) -> str:
    """Return the description of a figure, as words of a model, under its caption."""
    caption = f"{inert(passage.heading)}\n\n" if passage.heading else ""
    return f"{caption}*{_translated(READ_FROM_PICTURE, question)}* {inert(passage.text)}"


def quoted_part(
    passage: Passage, number: int, start: int, end: int, after: int, question: str = ""
) -> AnswerPart:
    """Return the quote of a passage's span as a paragraph after `after` characters, with its citation."""
    words = _marked(quoted(passage, start, end), number, question)
    place = (passage.start + start, passage.start + end)
    here = (after + 2, after + 2 + len(words))
    return AnswerPart("\n\n" + words, Citation(number, *here, "verified", *place, passage.text[start:end]))


def quoted(passage: Passage, start: int, end: int) -> str:
    """Return the words of a passage's span as they are quoted: rows of a table under its header."""
    table = next((one for one in read_tables(passage.text) if one.start <= start < one.end), None)
    found = list(rows(passage.text, start, end))
    if not found or not all(_is_whole(row, passage.text) for row in found):
        return _in_lines(passage.text[start:end])
    if found[0].start > start:
        return _lead_in_and_table(passage, start, end)
    header = table.header if table else header_above(passage, start)
    told = markdown_table([inert(cell) for cell in header], [[*map(inert, row.cells)] for row in found])
    caption = inert(whole_caption(passage.text, table)) if table else ""
    return f"{caption}\n\n{told}" if caption else told


def _lead_in_and_table(passage: Passage, start: int, end: int) -> str:
    """Return the words of a span that a table ends: those before it, then its rows under its header."""
    table = next((one for one in read_tables(passage.text) if start < one.start < end <= one.end), None)
    told = [] if table is None else table.within(start, end)
    if table is None or not told:
        return _in_lines(passage.text[start:end])
    written = markdown_table([*map(inert, table.header)], [[*map(inert, row.cells)] for row in told])
    return f"{_in_lines(passage.text[start : table.start])}\n\n{written}"


def _in_lines(text: str) -> str:
    r"""Return words of a document with each item and labelled line on its own line, all else on one line.

    >>> _in_lines("- Ann\n  buys.\n- Tom sells."), _in_lines("- Ann buys.")
    ('- Ann buys.\n- Tom sells.', 'Ann buys.')

    Two spaces end a line that Markdown would join with the next one.

    >>> _in_lines("(1) Ann buys.\n(2) Tom sells.")
    '(1) Ann buys.  \n(2) Tom sells.'

    >>> _in_lines("Chair: Ann\nPresent: Tom,\nKim")
    'Chair: Ann  \nPresent: Tom, Kim'
    """
    items = [_BULLET.sub("- ", _entries(part)) for part in _ITEM_START.split(text) if part.strip()]
    if len(items) < 2:
        return "".join(items).removeprefix("- ")
    first = "" if _ITEM_START.match(items[0]) else f"{items.pop(0)}\n\n"
    return first + "".join(map(_with_line_end, items[:-1])) + items[-1]


def _with_line_end(item: str) -> str:
    """Return an item with the end of its line, for a mark that is none of Markdown with a hard one."""
    return f"{item}\n" if _MARKDOWN_ITEM.match(item) else f"{item}  \n"


def _entries(text: str) -> str:
    """Return a paragraph on one line, but for lines that state a value below one that does."""
    first, *others = text.strip("\n").split("\n")
    entries = [[first]]
    for line in others:
        if begins_entry(line, first):
            entries.append([])
        entries[-1].append(line)
    return "  \n".join(inert("\n".join(lines)) for lines in entries)


def _is_whole(row: TableRow, text: str) -> bool:
    return text[row.start : row.end].rstrip().endswith("|") and text[row.end : row.end + 1] in ("", "\n")


def header_above(passage: Passage, start: int) -> tuple[str, ...]:
    """Return the header of a row; that of a table begun before is the end of the heading path."""
    table = next((one for one in read_tables(passage.text) if one.start <= start < one.end), None)
    if table is not None:
        return table.header
    header = passage.heading.rpartition(" > ")[2]
    return tuple(header.split(" | ")) if " | " in header else ()


def _marked(words: str, number: int, question: str, spoken: str = "", column: int | None = None) -> str:
    """Return a quote with its marker: after it, or in the last row of a table, in the `column` meant.

    Where none is, the question as it was typed says it first: to one that was completed an earlier question
    may have given the name of another column.
    """
    table = next(reversed(read_tables(words)), None) if words.endswith(" |") else None
    if table is None or not table.rows:
        return f"{words[:-1]}[{number}] |" if words.endswith(" |") else f"{words} [{number}]"
    last = table.rows[-1]
    row = [escape_bars(cell) for cell in last.cells]
    at = named_column(spoken, table.header, row) if column is None else column
    at = asked_column(question, table.header, row) if at is None else at
    row[at] = f"{row[at]} [{number}]"
    return f"{words[: last.start]}| {' | '.join(row)} |"


def asked_column(question: str, header: Sequence[str], row: Sequence[str]) -> int:
    """Return the column of a row that a question names by its header, else the last that has words.

    A question for an amount that names none is answered by the only number of a row.

    >>> asked_column("How many in 2025?", ["Cargo", "2025", "2024"], ["Grain", "880", "915"])
    1
    >>> asked_column("How much grain?", ["Cargo", "2025", "2024"], ["Grain", "880", "915"])
    2
    >>> asked_column("交通費はいくらですか?", ["日付", "費目", "金額"], ["2025-10-15", "交通費", "12,650"])
    2
    """
    named = named_column(question, header, row)
    if named is not None:
        return named
    amounts = [at for at, cell in enumerate(row) if _AMOUNT.fullmatch(cell.strip())]
    if len(amounts) == 1 and _ASKS_AMOUNT.search(question):
        return amounts[0]
    return next((at for at in reversed(range(len(row))) if row[at]), len(row) - 1)


def named_column(question: str, header: Sequence[str], row: Sequence[str]) -> int | None:
    """Return the one column of a row, after the first, that a question names by its header; None if none.

    >>> named_column("12월 서울 매출은?", ["월", "서울", "합계"], ["12월", "3805", "17480"])
    1
    """
    asked = frozenset(tokens(with_quarter_words(question)))
    named = [len(asked & frozenset(tokens(with_quarter_words(cell)))) for cell in header[: len(row)]]
    best = max(named[1:], default=0)
    return named.index(best, 1) if best and named[1:].count(best) == 1 else None


_ASKS_AMOUNT = re.compile(r"\bhow (?:much|many)\b|いくら|何円|얼마|몇 원", re.I)
_AMOUNT = re.compile(r"[¥￥$€£₩]?\s?\d+(?:,\d{3})*(?:\.\d+)?\s?(?:円|원)?")


def _citation(pick: Pick, passage: Passage, start: int, end: int) -> Citation:
    if passage.is_from_picture:
        return Citation(pick.number, start, end, "related")
    place = (passage.start + pick.start, passage.start + pick.end)
    return Citation(pick.number, start, end, "verified", *place, passage.text[pick.start : pick.end])


def _translated(sayings: dict[str, str], question: str, passages: Sequence[Passage] = ()) -> str:
    """Return a sentence in the language of an answer, else in English."""
    return sayings.get(answer_language(question, (one.text for one in passages)), sayings["en"])


# Answerability
LEAST = 0.6
LEAST_UNSPACED = {"ko": 0.5, "ja": 0.5}
"""Least scores of an answered question. Korean and Japanese questions share fewer pairs of letters
with their answers than English ones share words."""
COMMON = 4.0
"""Weight of any word beside its rarity of 0 to 10: in a few documents a word is rare by chance."""
SEARCH_BY_MEANING = "similarity"


SENTENCE_WEIGHT, LEAST_WITH_SENTENCE = 6.0, 0.3
"""Weight of the cosine of the question and the sentence that is quoted first, and the least score with it.

Both were fitted on halves of XQuAD, KorQuAD and JaQuAD (docs/developer/citations.md)."""
LEAST_WITH_SENTENCE_UNSPACED = {"ko": 0.4, "ja": 0.4}
LEAST_FOREIGN = -0.06
"""Least nearness of a sentence in another language that answers without a doubt, of a passage that may.

It was fitted on half of XQuAD's questions in Spanish and Chinese over its English articles."""
LEAST_SHARE = 0.3
"""Least share of a question's weight that the passage quoted first must have, its heading included."""
FAR, FAR_UNNAMED = 0.35, 0.75
"""Shares of the least score below which nothing is quoted; the higher where a name asked for is nowhere."""
NEARNESS_OF_CLOSEST = -0.01
"""Least nearness of passages that are shown although few of a question's words are in them.

It is above that of 95 in 100 questions of XQuAD, KorQuAD and JaQuAD to a library on other subjects."""
CLOSEST = 2
"""Quotes of such passages, at most."""
_NAMED = re.compile(r"(?<=[^\n.!?])\b[A-Z][\w'-]*")
_REQUEST = frozenset(
    tokens(
        "tell show explain describe give find list summarize summary paper document report file article text "
        "page passage please know want info information detail thing about question answer mean",
        "en",
    )
) | frozenset(tokens("모두 전부 목록 全て 全部 一覧"))
"""Words of a request that no answer repeats."""


@dataclass(frozen=True)
class Decision:
    """Answerability of a question from passages; a higher score is likelier.

    Passages that are `far` are not worth showing, unless their meaning is `near`. `shares` are those of the
    question's weight that each passage has with its heading; none where words decide nothing. With `foreign`
    the nearest passage is in another language, and its words do not answer.
    """

    answered: bool
    score: float
    far: bool = False
    near: bool = field(default=False, repr=False)
    shares: tuple[float, ...] = field(default=(), repr=False)
    foreign: bool = field(default=False, repr=False)


def decide(
    question: str, passages: Sequence[Passage], rarity: Rarity | None = None, *, middle: float | None = None
) -> Decision:
    """Decide from the retrieved passages if the documents seem to answer a question.

    `rarity` is the inverse document frequency of a word, by default among the passages. `middle` is the
    cosine of a neutral passage; None where the model's scale is not known. Words say little about passages in
    another language: where there are only such, or one of them is nearest in meaning, meaning decides unless
    the words answer.

    >>> from rag.passage import Passage
    >>> text = "The hall opened in 1932. It has a tower."
    >>> decide("When did the hall open?", [Passage("c", "d", "a.txt", "", None, "", 0, len(text), text)])
    Decision(answered=True, score=1.0, far=False)
    """
    own = [passage for passage in passages if may_share_words(question, passage.text)]
    if passages and (not own or _nearest(passages) not in own):
        return _decide_foreign(question, passages, rarity, middle)
    return _decide_by_words(question, passages, own, rarity, middle)


def _decide_foreign(
    question: str, passages: Sequence[Passage], rarity: Rarity | None, middle: float | None
) -> Decision:
    """Decide from passages of which the nearest is in another language; names and numbers may be shared."""
    by_words = _decide_by_words(question, passages, passages, rarity, middle)
    if by_words.answered:
        return by_words
    nearness = _nearness(passages, middle)
    near = nearness is not None and nearness >= LEAST_FOREIGN
    return Decision(near, by_words.score, near=near, foreign=True)


def _decide_by_words(
    question: str,
    passages: Sequence[Passage],
    own: Sequence[Passage],
    rarity: Rarity | None,
    middle: float | None,
) -> Decision:
    """Decide from the words of the `own` passages, those in the question's language."""
    told_by = [[words | _title(passage) for words in sentence_words(passage)] for passage in own]
    told = [words for sentences in told_by for words in sentences]
    question = corrected(with_quarter_words(without_periods(question)), told)
    weights = _weights(question, rarity or _rarity_among(told))
    if not weights:
        return Decision(bool(own), 1.0)
    total = sum(weights.values())

    def share(words: frozenset[str]) -> float:
        return sum(weights[word] for word in weights.keys() & words) / total

    nearness = _nearness(own, middle)
    score = round(max(map(share, told), default=0.0) + (nearness or 0.0), 4)
    least = LEAST_UNSPACED.get(language(question), LEAST)
    known = frozenset[str]().union(*told)
    unnamed = any(known.isdisjoint(tokens(name)) for name in _NAMED.findall(question) if tokens(name))
    shares = {
        passage.id: share(frozenset[str]().union(*words)) for passage, words in zip(own, told_by, strict=True)
    }
    return Decision(
        score >= least,
        score,
        score < (FAR_UNNAMED if unnamed else FAR) * least,
        nearness is not None and nearness >= NEARNESS_OF_CLOSEST and not unnamed,
        tuple(shares.get(passage.id, 1.0) for passage in passages),
    )


def quotes_for(decision: Decision, quotes: Callable[..., list[Pick]]) -> list[Pick]:
    """Return the quotes that are worth showing, of `extract`; few where only the meaning is near."""
    found = [] if decision.far else quotes(by_meaning=True) if decision.foreign else quotes()
    if found:
        return found
    return quotes(by_meaning=True)[:CLOSEST] if decision.near else []


def is_astray(typed: str, passages: Sequence[Passage], picks: Sequence[Pick]) -> bool:
    """Return True where what is quoted first has none of the nouns of a question as it was typed.

    It was then found by terms of the conversation alone. Its own heading and, for a row, its passage count; a
    title that stands above all of a document does not: minutes are not about "the next meeting" throughout.

    >>> text = "The sales were 4 million. The deposit is 900 euros."
    >>> found = [Passage("c", "d", "a.txt", "", None, "", 0, len(text), text)]
    >>> picks = [Pick(1, start, end, 1.0, start, end) for start, end in ((0, 25), (26, 51))]
    >>> [is_astray("What is the deposit?", found, [pick]) for pick in picks]
    [True, False]
    """
    own = _subject(typed)
    if not own or not picks:
        return False
    passage = passages[picks[0].number - 1]
    quoted = passage.text[picks[0].start : picks[0].end]
    told = passage.text if quoted.startswith("|") else quoted
    told = f"{passage.heading.rpartition(' > ')[2]} {told}"
    return own.isdisjoint(tokens(with_quarter_words(told)))


def answers_alone(
    question: str,
    completed: str,
    passages: Sequence[Passage],
    rarity: Rarity | None = None,
    embedder: Embeddings | None = None,
) -> bool:
    """Return True where a question needs no terms of the conversation, by the passages that it finds alone.

    `completed` is the question with those terms. It asks something itself and names a subject. The passages
    have this subject and the terms together nowhere, or they answer: the sentence quoted first has all of the
    subject and is clear, and no other document has it. Of two leases that state a rent, the one that was
    talked about is meant. "Hamburg?" and "What about Hamburg?" ask what was asked before, "The end of the
    lease?" does not.
    """
    subject = _subject(question)
    if not subject or not _asks_itself(question):
        return False
    told = [(one, words | _title(one)) for one in passages for words in sentence_words(one)]
    carried = frozenset(tokens(with_quarter_words(completed))) - frozenset(
        tokens(with_quarter_words(question))
    )
    if _is_unrelated(subject, carried, [words for _, words in told]):
        return True
    named = _subject_nouns(question)
    told_by = {passage.document_id for passage, words in told if _holds_all(words, named)}
    if len(told_by) != 1:
        return False
    scale = scale_of(embedder)
    decision = decide(question, passages, rarity, middle=None if scale is None else scale.asked)
    picks = quotes_for(decision, partial(extract, question, passages, embedder=embedder, rarity=rarity))
    quoted_from = passages[picks[0].number - 1].document_id if picks else ""
    return quoted_from in told_by and is_clear(question, passages, picks, decision, embedder)


def _asks_itself(question: str) -> bool:
    """Return True for a question with a word that asks, or that names something of something."""
    if term := named_alone(question):
        return _OF.search(term) is not None
    return (
        re.search(phrase_file(language(question))["steps"]["question"], question, re.IGNORECASE) is not None
    )


def _is_unrelated(subject: frozenset[str], carried: frozenset[str], told: Sequence[frozenset[str]]) -> bool:
    """Return True where no sentence that has all known words of a subject has a term of the conversation."""
    known = subject & frozenset[str]().union(*told)
    about = [words for words in told if known <= words]
    return bool(known and about) and all(carried.isdisjoint(words) for words in about)


def _subject(question: str) -> frozenset[str]:
    """Return the words of a question that name its subject: those of its nouns but for the asking ones.

    A period is no subject.
    """
    return frozenset[str]().union(*_subject_nouns(question))


def _subject_nouns(question: str) -> list[frozenset[str]]:
    """Return the words of each noun of the subject; a Korean or Japanese one has its pairs of letters."""
    asking = phrase_file(language(question))["question_words"]
    code = word_language(question)
    named = (noun for noun in nouns(without_periods(question)) if noun not in asking)
    words = (frozenset(tokens(with_quarter_words(noun), code)) for noun in named)
    return [
        frozenset(word for word in noun if not is_quarter_word(word)) - _REQUEST - LIGHT for noun in words
    ]


def is_clear(
    question: str,
    passages: Sequence[Passage],
    picks: Sequence[Pick],
    decision: Decision,
    embedder: Embeddings | None = None,
) -> bool:
    """Return True where the sentence quoted first seems to answer, and no doubt need be stated.

    A line with the label or the definition that is asked for answers, and so does a sentence with the kind of
    value asked for beside every noun of the question. Else its nearness in meaning decides with the words,
    where the model's scale is known; the words alone decide about a row of a table. A passage that has few of
    the question's words does not answer it, however near.
    """
    scale = scale_of(embedder)
    best = picks[0] if picks else None
    sentence = passages[best.number - 1].text[best.best_start : best.best_end] if best else ""
    if best and not decision.far and _states_it(question, sentence, passages[best.number - 1]):
        return True
    if best and _is_beside(question, sentence, passages[best.number - 1]):
        return False
    if best and not decision.far and _tells_value(question, sentence, passages[best.number - 1]):
        return True
    if decision.far or (best and decision.shares and decision.shares[best.number - 1] < LEAST_SHARE):
        return False
    if embedder is None or scale is None or not sentence or sentence.startswith("|"):
        return decision.answered and not decision.foreign
    try:
        asked, told = embedder.embed_query(question), embedder.embed_documents([sentence])[0]
    except EmbeddingError as error:
        _log.warning("An answer was judged by its words alone. %s", error)
        return decision.answered and not decision.foreign
    near = float(np.dot(asked, told)) - scale.middle
    if decision.foreign:
        return near >= LEAST_FOREIGN
    least = LEAST_WITH_SENTENCE_UNSPACED.get(language(question), LEAST_WITH_SENTENCE)
    return decision.score + SENTENCE_WEIGHT * near >= least


def _is_beside(question: str, sentence: str, passage: Passage) -> bool:
    """Return True for a sentence without the amount that is asked for, or of a passage of other periods only.

    >>> told = Passage("c", "d", "a.md", "", None, "", 0, 9, "Income in 2024 was 41,300 euros.")
    >>> [_is_beside(f"How much was the income in {year}?", told.text, told) for year in (2024, 2019)]
    [False, True]
    >>> _is_beside("What is the price of the lamp? How much is it?", "It hangs in the hall.", told)
    True
    """
    if asks_amount(question) and has_only_dates(sentence) and not _has_amount_in_words(sentence):
        return True
    asked = find_periods(question)
    if not asked:
        return False
    told = find_periods("\n".join((passage.about, passage.document, passage.heading, passage.text)))
    return bool(told) and not any(_may_overlap(*pair) for pair in product(asked, told))


_IN_WORDS = re.compile(
    r"\b(?:free|gratis|no (?:charge|cost|fee)|nothing)\b|무료|공짜|無料|無償|ただで"
    r"|[一二三四五六七八九十百千万億]+円|[일이삼사오육칠팔구십백천만억]*[십백천만억] ?원",
    re.IGNORECASE,
)


def _has_amount_in_words(sentence: str) -> bool:
    """Return True for a sentence with an amount without digits, or that says that nothing is paid.

    >>> told = "The fee is fifteen pounds.", "会費は三百円とする。", "참가비는 무료입니다.", "It ends 8 May."
    >>> list(map(_has_amount_in_words, told))
    [True, True, True, False]
    """
    return bool(_IN_WORDS.search(sentence)) or any(one.unit not in ("", "d") for one in quantities(sentence))


def _may_overlap(one: Period, other: Period) -> bool:
    """Return True for periods with a day in common; those counted in fiscal years may be a year off."""
    years = timedelta(days=366 * (one.fiscal + other.fiscal))
    return one.first - years <= other.last and other.first - years <= one.last


_ADNOMINAL = re.compile(r"(?<=[가-힣]{2})(?:한|된|하는|되는|할|될)\b")


def _states_it(question: str, sentence: str, passage: Passage) -> bool:
    """Return True for a line with the label asked for, or a sentence that defines what is asked for."""
    thing = defined_thing(question)
    return _is_labelled(question, sentence, passage) or (bool(thing) and defines(thing, sentence))


def _is_labelled(question: str, sentence: str, passage: Passage) -> bool:
    """Return True for a line whose label has the question's subject, but for what its title tells.

    >>> minutes = Passage("c", "d", "회의록.md", "", None, "회의록", 0, 9, "불참: 최유진")
    >>> _is_labelled("회의에 불참한 사람은 누구인가요?", "- 불참: 최유진", minutes)
    True
    """
    label = frozenset(tokens(label_of(sentence)))
    subject = _subject(_ADNOMINAL.sub("", question)) - _title(passage)
    return bool(subject) and subject <= label


HELD = 0.5
"""Least share of a noun's pairs of letters in a sentence that says it: "施行する" is said of a 施行日."""


def _tells_value(question: str, sentence: str, passage: Passage) -> bool:
    """Return True for a sentence with the kind of value asked for, and every noun of the question's subject.

    A row of a table is read with its header.

    >>> told = Passage("c", "d", "a.md", "", None, "", 0, 9, "定年は満65歳とする。")
    >>> [_tells_value(asked, told.text, told) for asked in ("定年は何歳ですか", "定年はいつですか")]
    [True, False]
    """
    asked = QuestionType(question)
    if not asked.is_told_in(sentence):
        return False
    row = sentence.startswith("|")
    header = " ".join(header_above(passage, passage.text.find(sentence))) if row else ""
    said = frozenset(tokens(with_quarter_words(f"{sentence} {header}"), word_language(passage.text)))
    subject = [noun for words in _subject_nouns(question) if (noun := words - asked.asking)]
    return bool(subject) and _holds_all(said, subject)


def _holds_all(words: frozenset[str], subject: Sequence[frozenset[str]]) -> bool:
    """Return True for the words of a sentence that has every noun of a subject."""
    return all(len(noun & words) >= HELD * len(noun) for noun in subject)


def _weights(question: str, rarity: Rarity) -> dict[str, float]:
    outside = grammar(question, phrase_file(language(question))["question_words"])
    return {
        word: (COMMON + rarity(word))
        * (LIGHT_WEIGHT if word in LIGHT else 1.0)
        * (GRAMMAR_WEIGHT if word in outside else 1.0)
        * substance(word)
        for word in frozenset([*tokens(question), *named_letters(question)]) - _REQUEST
    }


def _title(passage: Passage) -> frozenset[str]:
    return frozenset(tokens(with_quarter_words(f"{passage.document} {passage.heading} {passage.about}")))


def _rarity_among(told: Sequence[frozenset[str]]) -> Rarity:
    def rarity(word: str) -> float:
        there = sum(word in words for words in told)
        return log(1 + (len(told) - there + 0.5) / (there + 0.5))

    return rarity


def _nearest(passages: Sequence[Passage]) -> Passage:
    return max(passages, key=lambda passage: _cosine(passage) or 0.0)


def _cosine(passage: Passage) -> float | None:
    found = passage.found_by.get(SEARCH_BY_MEANING)
    return None if found is None else found.score


def _nearness(passages: Sequence[Passage], middle: float | None) -> float | None:
    """Return the highest cosine, less that of a neutral passage; None where that is unknown."""
    cosines = [cosine for passage in passages if (cosine := _cosine(passage)) is not None]
    return max(cosines) - middle if cosines and middle is not None else None


def quotes_again(message: str, turn: PastTurn, kind: Rework) -> Iterator[AnswerPart]:
    """Yield that a rework needs a model, then the quotes of the answer: half of them for a shorter one.

    For "what did you say about X" the quotes that share a word with the message come alone, if there are any.
    An answer that quotes nothing is said to.
    """
    spans = _spans(message, turn, kind)
    said = phrase_file(language(message))["replies"]["rework" if spans else "rework_of_nothing"]
    yield AnswerPart(said)
    length = len(said)
    for marker, start, end in spans:
        part = quoted_part(turn.passages[marker - 1], marker, start, end, length, turn.question)
        length += len(part.text)
        yield part


def _spans(message: str, turn: PastTurn, kind: Rework) -> list[tuple[int, int, int]]:
    spans = list(dict.fromkeys(_cited_spans(turn)))
    if kind == "shorter":
        return spans[: (len(spans) + 1) // 2]
    if kind == "recall":
        asked = frozenset(tokens(message))
        about = [
            one for one in spans if asked & frozenset(tokens(turn.passages[one[0] - 1].text[one[1] : one[2]]))
        ]
        return about or spans
    return spans


def _cited_spans(turn: PastTurn) -> Iterator[tuple[int, int, int]]:
    """Yield marker, start and end within the passage of each quote that is still found there."""
    for citation in turn.citations:
        if citation.quote and 1 <= citation.marker <= len(turn.passages):
            passage = turn.passages[citation.marker - 1]
            start, end = citation.quote_start - passage.start, citation.quote_end - passage.start
            if start >= 0 and passage.text[start:end] == citation.quote:
                yield citation.marker, start, end
