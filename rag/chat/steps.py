"""Several steps for one question: comparisons, chains and questions with several parts as sub-questions.

Without a model the plan is made by rule: one step for each named party or period, for each side of a
comparison, and for each question in a sentence; the patterns are data, in rag/chat/phrases. A connected model
is asked for a plan where a cheap test says that the question may have parts. A step may use what an earlier
one found. A plan is kept as text: the question, then a numbered line for each step.
"""

import re
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from typing import Generic, TypeVar

from rag.chat.corpus import spans_apart
from rag.chat.extractive import Decision
from rag.chat.prompts import other_words_messages, plan_messages, step_messages
from rag.chat.rewrite import QueryVariant, StandaloneQuestion, rejection_reason
from rag.chat.small_talk import phrase_file
from rag.errors import Cancelled, LLMError
from rag.i18n import N_
from rag.ingest.document_facts import DocumentProfile
from rag.jobs import Cancel, never
from rag.models.protocol import LanguageModel
from rag.passage import Passage
from rag.retrieval.fusion import step_share
from rag.retrieval.sentences import score_sentences
from rag.text.dates import find_periods
from rag.text.facts import names, nouns
from rag.text.language import STOP_WORDS, language
from rag.text.normalize import normalize
from rag.text.tokenize import tokens

E = TypeVar("E")
TextsAbout = Callable[[str], Sequence[str]]
"""Returns passages of the documents that use some words most."""
LEAST_JOINED = 2  # passages in which two words must stand joined to be one thing: "terms and conditions"
MOST_STEPS = 4
WHOLE_WEIGHT = 0.25  # of the whole question's results in the search of a step, whose own weigh 1
MOST_CARRIED = 4  # names that a step takes over from an earlier one
PLAN_TOKENS, STEP_TOKENS = 160, 60
SHOWN = 3  # passages of an earlier step that a model reads to complete a later one
LONGEST_STEP = 400  # characters
_USES = re.compile(r"\s*#\s?(\d)")
_NUMBERED = re.compile(r"(\d)[.)]\s+(\S.*)")
_BULLET = re.compile(r"^\s*(?:(?:step\s*)?\d+\s*[.):]|[-*•])\s*", re.IGNORECASE)
_THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_CARRIED_TERMS = re.compile(r"\s*[(（][^()（）]{1,120}[)）]\s*\Z")
_ABOUT = {"ko": ("{} ({})", ", "), "ja": ("{}（{}）", "、")}


@dataclass(frozen=True)
class Step:
    """Sub-question; `uses` is the number of the step whose findings it needs, 0 for none.

    `found` counts its passages among the sources, None before it is searched. `note` says what was special.
    """

    question: str
    uses: int = 0
    found: int | None = None
    note: str = ""


@dataclass(frozen=True)
class Planned:
    """Event: the steps in which a question is searched, again after each of them; `note` is for the trace."""

    question: str
    steps: tuple[Step, ...]
    note: str = ""

    @property
    def text(self) -> str:
        """The plan as it is kept with the answer."""
        return plan_text(self.question, [step.question for step in self.steps])

    def counted(self, k: int | None) -> "Planned":
        """Return the plan with each step's share of `k` passages, where it found more."""
        most = None if k is None else step_share(k, len(self.steps))
        steps = (
            replace(one, found=most) if most is not None and (one.found or 0) > most else one
            for one in self.steps
        )
        return replace(self, steps=tuple(steps))

    @property
    def remarks(self) -> str:
        """Its note and those of its steps, a line each, for the trace."""
        return "\n".join(filter(None, (self.note, *(step.note for step in self.steps))))


def plan_text(question: str, steps: Sequence[str]) -> str:
    r"""Return a plan as text, of which the reader may change the lines.

    >>> plan_text("A or B?", ["A", "B"])
    'A or B?\n1. A\n2. B'
    """
    return "\n".join([question, *(f"{number}. {step}" for number, step in enumerate(steps, 1))])


def read_plan(text: str) -> tuple[str, tuple[str, ...]]:
    r"""Return the question and the steps of a plan; the text itself and no steps where it is none.

    >>> read_plan("A or B?\n1. A\n2. B"), read_plan("A or B?")
    (('A or B?', ('A', 'B')), ('A or B?', ()))
    """
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    matches = [_NUMBERED.fullmatch(line) for line in lines]
    first = next((at for at, found in enumerate(matches) if found), len(lines))
    steps = [found[2] for found in matches[first:] if found]
    numbers = [int(found[1]) for found in matches[first:] if found]
    if len(steps) != len(lines) - first or not 2 <= len(steps) <= MOST_STEPS:
        return text, ()
    if numbers != list(range(1, len(steps) + 1)):
        return text, ()
    return " ".join(lines[:first]) or " ".join(steps), tuple(steps)


# Plan by rule
@cache
def _patterns(code: str) -> dict[str, re.Pattern[str]]:
    told = phrase_file(code)["steps"]
    filled = {
        name: one.replace("{question}", told["question"]).replace("{request}", told["request"])
        for name, one in told.items()
        if name not in ("compare", "endings")
    }
    return {name: re.compile(one, re.IGNORECASE) for name, one in filled.items()}


@cache
def _comparisons(code: str) -> tuple[re.Pattern[str], ...]:
    told = phrase_file(code)["steps"]
    return tuple(re.compile(one.replace("{rest}", told["rest"]), re.IGNORECASE) for one in told["compare"])


@cache
def _endings(code: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return what ends a clause as a question of its own; a line feed stands where it was cut off."""
    told = phrase_file(code)["steps"]["endings"]
    return tuple((re.compile(pattern), ending) for pattern, ending in told)


def _code(question: str) -> str:
    code = language(question)
    return code if code in ("ko", "ja") else "en"


def no_texts(words: str) -> Sequence[str]:  # noqa: ARG001
    """Return no passages: for documents whose words are not known."""
    return ()


def plan_by_rule(
    question: str, documents: Sequence[DocumentProfile] = (), texts: TextsAbout = no_texts
) -> tuple[Step, ...]:
    """Return the steps of a question, none for a single one.

    `texts` tells what the documents call things: whether "and" joins two of them, and where both end.

    >>> [step.question for step in plan_by_rule("What is the difference between a lease and a licence?")]
    ['A lease?', 'A licence?']
    >>> plan_by_rule("Which lease ends first, and who signed it?")[1]
    Step(question='Who signed it?', uses=1, found=None, note='')
    >>> plan_by_rule("What do the terms and conditions say?")
    ()
    """
    own, ending = _without_terms(question)
    code = _code(own)
    steps = _listed(own) or _parts(own, code) or _sides(own, code, documents, texts)
    if not 2 <= len(steps) <= MOST_STEPS or len({step.question for step in steps}) < len(steps):
        return ()
    period = _only_period(own)
    return tuple(
        replace(one, question=_with_capital(_in_period(one.question, period, code)) + ending) for one in steps
    )


def _with_capital(step: str) -> str:
    """Return a step that begins with a capital, unless its first word is written in a way of its own.

    >>> _with_capital("who signed it?"), _with_capital("useState"), _with_capital("iPhone sales")
    ('Who signed it?', 'useState', 'iPhone sales')
    """
    first = step.partition(" ")[0]
    return step[:1].upper() + step[1:] if first.islower() and first.isascii() else step


def _only_period(question: str) -> str:
    """Return the period of a question that names a single one, which holds for all of its steps."""
    found = {question[one.start : one.end] for one in find_periods(question)}
    return found.pop() if len(found) == 1 else ""


def _in_period(step: str, period: str, code: str) -> str:
    return with_names(step, [period], code) if period and not find_periods(step) else step


def may_have_parts(
    question: str, documents: Sequence[DocumentProfile] = (), texts: TextsAbout = no_texts
) -> bool:
    """Return True where a model is asked for a plan: a comparison, or more than one question word.

    >>> may_have_parts("Who signed the lease which ends first?"), may_have_parts("When does the lease end?")
    (True, False)
    """
    told = _patterns(_code(question))
    several = len(told["asks"].findall(question)) > 1 or told["parts"].search(question) is not None
    return several or bool(plan_by_rule(question, documents, texts))


def _without_terms(question: str) -> tuple[str, str]:
    """Return a question and the terms in brackets after it, which a rewrite has carried over."""
    found = _CARRIED_TERMS.search(question)
    if found is None or not question[: found.start()].endswith(("?", "？", "。", ".")):
        return question, ""
    return question[: found.start()], question[found.start() :].rstrip()


def _listed(question: str) -> list[Step]:
    """Return the questions of a numbered list."""
    _, lines = read_plan(question)
    return [Step(line) for line in lines] if all(line.endswith(("?", "？")) for line in lines) else []


def _parts(question: str, code: str) -> list[Step]:
    """Return the questions of a text: its sentences that ask, each split where a second question begins."""
    told = _patterns(code)
    asked = [part.strip() for part in re.findall(r"[^?？]+[?？]*", question) if part.strip()]
    found = [half for sentence in asked for half in _halves(sentence, code)]
    if len(found) < 2 or not all(told["question"].search(one) for one in found[1:]):
        return []
    if not all(_has_subject(one, code) for one in found):
        return []
    steps = [Step(found[0])]
    for before, one in pairwise(found):
        refers = told["refers"].search(one) is not None
        depends = refers or not _has_own_subject(one, code)
        if told["entity"].search(before) and (refers or (depends and code != "en")):
            steps.append(Step(one, uses=len(steps)))
        elif refers or not _has_own_subject(one, code):
            steps.append(Step(with_names(one, _named_in(found[0], code), code)))
        else:
            steps.append(Step(with_names(one, filter(None, [_owner(found[0], code)]), code)))
    return steps


def _has_own_subject(text: str, code: str) -> bool:
    """Return True for a question with a noun that is marked as its subject or topic, in English with two.

    >>> [_has_own_subject(text, "ja") for text in ("家賃はいくらですか", "いつ払いますか", "誰が払いますか")]
    [True, False, False]
    """
    found = _subjects(text, code)
    if code == "en":
        return len(found) > 1
    topic = _patterns(code)["topic"]
    return any(topic.match(text, text.index(word) + len(word)) for word in found)


def _owner(text: str, code: str) -> str:
    """Return the words of a question that say whose its subject is; none in English, where they stand behind.

    >>> _owner("青葉ビルの賃料はいくらですか", "ja"), _owner("월세는 얼마인가요?", "ko")
    ('青葉ビル', '')
    """
    if code == "en":
        return ""
    subject = re.split(_patterns(code)["topic"], text, maxsplit=1)[0]
    return subject.rpartition("의 " if code == "ko" else "の")[0].strip()


def _halves(sentence: str, code: str) -> Iterator[str]:
    """Yield the questions of a sentence; one half that asks nothing stays with the other."""
    told = _patterns(code)
    start = 0
    for found in told["split"].finditer(sentence):
        left, right = sentence[start : found.start()], sentence[found.end() :]
        asks = told["question"].search(left) or (code == "en" and told["request"].match(left.strip()))
        if asks and told["question"].search(right) and all(_has_subject(one, code) for one in (left, right)):
            yield _as_question(left.strip(" ,;、"), right, code)
            start = found.end()
    yield sentence[start:].strip()


def _as_question(clause: str, after: str, code: str) -> str:
    """Return a clause that others follow as a question of its own: its last verb no longer goes on.

    >>> _as_question("월 차임은 얼마이고", "언제 내나요?", "ko")
    '월 차임은 얼마인가요?'
    """
    cut = f"{' '.join(clause.split())}\n{after}"
    ended = (pattern.sub(ending, cut, count=1) for pattern, ending in _endings(code) if pattern.search(cut))
    return next(ended, cut).partition("\n")[0]


def _subjects(text: str, code: str) -> list[str]:
    return [word for word in nouns(text) if len(word) > 1 and not _is_asking(word, code)]


def _is_asking(word: str, code: str) -> bool:
    known = STOP_WORDS["en"].union(phrase_file(code)["question_words"])
    return word.casefold() in known or _patterns(code)["question"].search(word) is not None


def _has_subject(text: str, code: str) -> bool:
    """Return True where a question has words beside those that ask."""
    if code == "en":
        return bool(_subjects(text, code))
    told = _patterns(code)
    return len(told["empty"].sub("", told["question"].sub("", text))) > 1


def _named_in(text: str, code: str) -> list[str]:
    """Return the periods and names of a text, else its nouns."""
    periods = [text[one.start : one.end] for one in find_periods(text)]
    own = [name for name in names(text) if not _is_asking(name, code) and name not in " ".join(periods)]
    return list(dict.fromkeys([*own, *periods] or _subjects(text, code)))


def with_names(question: str, found: Iterable[str], code: str = "en", source: str = "") -> str:
    """Return a question with names that it lacks, at most MOST_CARRIED, in brackets.

    Those that stand side by side in the `source` that they are from stay together.

    >>> with_names("who signed it?", ["Harbour Lease", "Ann"]), with_names("Who is Ann?", ["Ann"])
    ('who signed it? (about Harbour Lease, Ann)', 'Who is Ann?')
    >>> with_names("How many?", ["iPhone", "net", "sales"], source="of iPhone net sales")
    'How many? (about iPhone net sales)'
    """
    folded = question.casefold()
    new = [name for name in dict.fromkeys(found) if name.casefold() not in folded][:MOST_CARRIED]
    form, separator = _ABOUT.get(code, ("{} (about {})", ", "))
    return form.format(question, separator.join(_phrases(new, source))) if new else question


def _phrases(words: Sequence[str], source: str) -> list[str]:
    """Join words that stand side by side in a text.

    >>> _phrases(["Quay", "Hall", "1932"], "Quay Hall, built in 1932")
    ['Quay Hall', '1932']
    """
    phrases: list[str] = []
    end = -1
    for word in words:
        start = source.find(word, max(end, 0))
        if end >= 0 and start >= end and not source[end:start].strip():
            phrases[-1] += source[end:start] + word
        else:
            phrases.append(word)
        end = start + len(word) if start >= 0 else -1
    return phrases


def _sides(question: str, code: str, documents: Sequence[DocumentProfile], texts: TextsAbout) -> list[Step]:
    """Return the sides of a comparison: its named parties or periods, or the two things it names."""
    spans = spans_apart(question, documents)
    if spans:
        paired = len(spans) == 2 and len(spans[0]) == len(spans[1])
        return [Step(one) for one in _each(question, spans if paired else spans[:1], code)]
    for pattern in _comparisons(code):
        if found := _compared(pattern, question, texts):
            a, b = found["a"].strip(), found["b"].strip()
            before, after = found.string[: found.start()], found.string[found.end() :]
            if code != "en":
                after = ""
            if not (_has_subject(a, code) and _has_subject(b, code)):
                return []
            both = _of_documents(a, b, code, documents) or (
                _with_head(a, b, code, texts),
                _with_beginning(a, b),
            )
            sides = (_tidy(f"{before} {side} {after}") for side in both)
            return [Step(side.replace(_JOINER, " ")) for side in sides]
    return []


_JOINER = "\u2060"  # in the place of a space that a comparison must not be cut at


def _compared(pattern: re.Pattern[str], question: str, texts: TextsAbout) -> re.Match[str] | None:
    """Return how a pattern cuts a comparison; where it can, not within what the documents call one thing."""
    first = found = pattern.search(question)
    if first is not None and not _is_word(first, texts):
        return None
    while found is not None:
        start = found.end("a") - len(found["a"].split()[-1])
        end = found.start("b") + len(found["b"].split()[0])
        joined = question[start:end]
        if not _is_one(joined, texts):
            return found
        question = question[:start] + joined.replace(" ", _JOINER) + question[end:]
        found = pattern.search(question)
    return first


_KANJI, _HIRAGANA = re.compile("[一-鿿々]"), re.compile("[ぁ-ゖ]")


def _is_word(found: re.Match[str], texts: TextsAbout) -> bool:
    """Return True where the sign between two sides is a word of its own: 対 begins 対象 and ends 絶対, too.

    Before kanji it is one where the documents have the noun after it without it, and nowhere with it.

    >>> told = "大阪支店の目標は600台。", "対象外の品目は別に定める。"
    >>> sign = re.compile("(?P<a>.+?)(?P<versus>対)(?P<b>.+)")
    >>> asked = "東京支店対大阪支店", "返品対象外の品目", "送料の対象"
    >>> [_is_word(found, lambda words: told) for one in asked if (found := sign.search(one))]
    [True, False, False]
    """
    if not found.groupdict().get("versus"):
        return True
    after = found["b"]
    if _HIRAGANA.match(found.string[found.start("versus") - 1]) or _HIRAGANA.match(after):
        return False
    if not _KANJI.match(after):
        return True
    thing = next(iter(nouns(after)), "")
    known = [text for text in texts(thing) if thing in text] if len(thing) > 1 else []
    return bool(known) and not any(f"対{thing}" in text for text in known)


def _is_one(joined: str, texts: TextsAbout) -> bool:
    """Return True where documents that have both words mostly have them joined so.

    >>> told = "Terms and conditions apply.", "Accept the terms and conditions.", "Its terms or conditions."
    >>> [_is_one(joined, lambda words: told) for joined in ("terms and conditions", "terms or conditions")]
    [True, False]
    """
    phrase = normalize(joined)
    words = phrase.split()
    both = [text for text in map(normalize, texts(joined)) if words[0] in text and words[-1] in text]
    there = sum(phrase in text for text in both)
    return there >= LEAST_JOINED and 2 * there >= len(both)


_NAME = r"[A-Z][\w-]*(?: [A-Z][\w-]*)*"
_OF_NAME = re.compile(rf"(?P<of>.+ (?:in|of|for|from|at|by|to|on) (?:the )?){_NAME}")


_OF_LAST = re.compile(r"(?P<of>.+ (?:in|of|for|from|on) (?:the )?)(?P<last>[^ ]+(?: [^ ]+)?)")


def _of_documents(a: str, b: str, code: str, documents: Sequence[DocumentProfile]) -> tuple[str, str] | None:
    """Return both sides with what is asked of two documents: one of them has it, the other only a name.

    "The rent in the lease and the draft" is that of both, and so is "契約書と見積書の納期". None for others.
    """
    if code == "en":
        found = _OF_LAST.fullmatch(a)
        if found and all(_names_document(one, documents) for one in (found["last"], b)):
            return a, found["of"] + re.sub(r"^the ", "", b)
        return None
    owner, of, thing = b.partition("의 " if code == "ko" else "の")
    if thing and all(_names_document(one, documents) for one in (a, owner)):
        return a + of + thing, b
    return None


def _names_document(words: str, documents: Sequence[DocumentProfile]) -> bool:
    """Return True for words that are all in the title of a document."""
    own = frozenset(tokens(words))
    return bool(own) and any(own <= one.title_words for one in documents)


def _with_beginning(a: str, b: str) -> str:
    """Return the second side with the words that both share, where it is a name like the end of the first.

    >>> _with_beginning("the hotel limits in Japan", "South Korea"), _with_beginning("the lease", "Bail")
    ('the hotel limits in South Korea', 'Bail')
    """
    found = _OF_NAME.fullmatch(a) if re.fullmatch(_NAME, b) else None
    return found["of"] + b if found else b


def _with_head(a: str, b: str, code: str, texts: TextsAbout) -> str:
    """Return the first side with the words that both share: "iPhone net sales" of "iPhone and Mac net sales".

    They are the most words at the end of the second side that the documents use after the first, too;
    else a plural: "query" and "path parameters". A period named by today has what the other one has.

    >>> _with_head("昨年", "今年の入館者数", "ja", no_texts), _with_head("작년", "올해 매출", "ko", no_texts)
    ('昨年の入館者数', '작년 매출')
    """
    period = _patterns(code)["spoken_period"]
    if period.fullmatch(a) and (found := period.match(b)):
        return a + b[found.end() :]
    for head in _heads(b, code):
        known = texts(f"{a} {head}")
        for side in (f"{a}{head}", f"{a} {head}"):
            if any(normalize(side) in normalize(text) for text in known):
                return side
    words, others = a.split(), b.split()
    if code != "en" or len(words) != 1 or len(others) != 2 or not others[-1].endswith("s"):
        return a
    return f"{a} {others[-1]}"


def _heads(side: str, code: str) -> list[str]:
    """Return the ends of a side that another may share, longest first; after "의" or "の" where there is one.

    >>> _heads("Mac net sales", "en"), _heads("맥의 매출", "ko"), _heads("契約の期間", "ja")
    (['net sales', 'sales'], ['의 매출', '매출'], ['の期間', '期間'])
    """
    if code != "en":
        owner, of, thing = side.partition("의 " if code == "ko" else "の")
        return [of + thing, thing] if owner and thing else []
    words = side.split()
    return [" ".join(words[at:]) for at in range(1, len(words))]


def _each(question: str, kinds: Sequence[Sequence[tuple[int, int]]], code: str) -> Iterator[str]:
    """Yield a question for each of several names: without the others and the words that join them."""
    told = _patterns(code)
    joining, cues = re.compile(f"{told['and'].pattern}\\Z", re.IGNORECASE), told["cues"]
    spans = sorted((start, end, place) for kind in kinds for place, (start, end) in enumerate(kind))
    firsts = {min(kind) for kind in kinds}
    for place in range(len(kinds[0])):
        text, end = "", 0
        for start, stop, _ in spans:
            gap = question[end:start]
            if (start, stop) in firsts:
                kind = next(one for one in kinds if min(one) == (start, stop))
                text += gap + question[slice(*kind[place])]
            else:
                text += joining.sub("", gap)
            end = stop
        yield _tidy(cues.sub(" ", text + question[end:]))


def _tidy(text: str) -> str:
    return re.sub(r"\s+([?.,;])", r"\1", " ".join(text.split())).strip(" ,;.")


# Plan by a model
@dataclass
class StepBudget:
    """Seconds and requests to the language model that the steps of one question may take."""

    seconds: float
    requests: int
    _until: float = field(init=False)

    def __post_init__(self) -> None:
        self._until = time.monotonic() + self.seconds

    @property
    def over(self) -> bool:
        """True where its time has passed."""
        return time.monotonic() > self._until

    def take(self) -> bool:
        """Count a request; False where none is left."""
        if self.over or self.requests < 1:
            return False
        self.requests -= 1
        return True


def complete(
    llm: LanguageModel,
    messages: list[dict[str, str]],
    tokens: int,
    budget: StepBudget,
    seconds: float,
    cancelled: Cancel = never,
) -> str:
    """Return what a model writes within the budget and `seconds`, else nothing; raises Cancelled."""
    if not budget.take():
        return ""
    until = time.monotonic() + seconds
    late = lambda: cancelled() or budget.over or time.monotonic() > until  # noqa: E731
    try:
        reply = llm.complete(messages, max_tokens=tokens, cancelled=late)
    except Cancelled:
        if cancelled():
            raise
        return ""
    except LLMError:
        return ""
    return _THOUGHT.sub("", reply).strip()


def plan_of(reply: str, question: str) -> tuple[Step, ...] | None:
    r"""Return the steps of a model's plan, none for one line; None where the plan is not sound.

    >>> reply = "1. Which lease ends first?\n2. Who signed #1?"
    >>> [step.uses for step in plan_of(reply, "Who signed the lease that ends first?")]
    [0, 1]
    >>> plan_of("What does Bob say?\nWhat does Ann say?", "What do they say?") is None
    True
    """
    lines = [_BULLET.sub("", line).strip(' "*`') for line in reply.split("\n")]
    lines = [line for line in lines if line]
    if len(lines) < 2:
        return ()
    steps: list[Step] = []
    for line in lines:
        uses = [int(number) for number in _USES.findall(line)]
        plain = _USES.sub(" ", line)
        if any(not 0 < one <= len(steps) for one in uses) or len(line) > LONGEST_STEP:
            return None
        if rejection_reason(_tidy(plain), question, ()):
            return None
        steps.append(Step(line, max(uses, default=0)))
    return tuple(steps) if len(steps) <= MOST_STEPS else None


def plan_with(
    llm: LanguageModel, question: str, budget: StepBudget, seconds: float, cancelled: Cancel = never
) -> tuple[Step, ...] | None:
    """Return a model's plan, none for a single question; None where it has no sound one. Raises Cancelled."""
    reply = complete(llm, plan_messages(question, MOST_STEPS), PLAN_TOKENS, budget, seconds, cancelled)
    return plan_of(reply, question) if reply else None


# Search in steps
Search = Callable[[StandaloneQuestion], Generator[E, None, Sequence[Passage]]]
Relevance = Callable[[str, Sequence[Passage]], Decision]


@dataclass(frozen=True)
class StepLimits:
    """Seconds and requests to the language model that the steps of one question may take."""

    seconds: float = 30.0
    requests: int = 6


@dataclass
class StepSearch(Generic[E]):
    """Search of a plan, step after step, with `search`; `relevance` tells where nothing was found.

    A step of which nothing was found is searched once more in other words. A model, where there is one,
    writes at most `seconds` for each of them.
    """

    search: Search[E]
    relevance: Relevance
    budget: "StepBudget"
    llm: LanguageModel | None = None
    seconds: float = 5.0
    cancelled: Cancel = never

    def run(
        self, plan: Planned, understood: StandaloneQuestion | None
    ) -> Generator[E | Planned, None, tuple[Planned, list[Sequence[Passage]]]]:
        """Yield the plan, the events of each search, and the plan after it; return it with the passages.

        `understood` is the whole question, which is searched beside each step; None for a reader's own plan.
        """
        lanes: list[Sequence[Passage]] = []
        steps = list(plan.steps)
        yield plan
        for at, step in enumerate(steps):
            if self.cancelled():
                raise Cancelled(N_("The answer was stopped."))
            if at and self.budget.over:
                late = N_(
                    "The {seconds} seconds for steps had passed before step {number}.",
                    seconds=f"{self.budget.seconds:g}",
                    number=at + 1,
                )
                plan = replace(plan, note=f"{plan.note}\n{late}".strip())
                break
            if step.uses:
                step = replace(step, question=self._completed(step, steps[step.uses - 1], lanes), uses=0)
            found, note = yield from self._found(at + 1, step.question, plan.question, understood)
            lanes.append(found)
            steps[at] = replace(step, found=len(found), note=note)
            plan = replace(plan, steps=tuple(steps))
            yield plan
        return plan, lanes

    def _found(
        self, number: int, step: str, whole: str, understood: StandaloneQuestion | None
    ) -> Generator[E, None, tuple[Sequence[Passage], str]]:
        found = yield from self.search(as_query(step, understood))
        first = self.relevance(step, found)
        note = "" if found else N_("Step {number} found nothing.", number=number)
        if (found and first.answered) or understood is None or self.budget.over:
            return found, note
        again = other_words(step, whole, self._asked)
        if again == step:
            return found, note
        others = yield from self.search(as_query(again, understood))
        if self.relevance(step, others).score <= first.score and found:
            return found, N_(
                "Step {number} had no clear match; a search for “{words}” found nothing closer.",
                number=number,
                words=again,
            )
        return others, N_(
            "Step {number} had no clear match, and was searched again for “{words}”.",
            number=number,
            words=again,
        )

    def _completed(self, step: Step, earlier: Step, lanes: Sequence[Sequence[Passage]]) -> str:
        passages = lanes[step.uses - 1]
        return completed(step, _best_sentence(earlier.question, passages), passages, self._asked)

    def _asked(self, messages: list[dict[str, str]]) -> str:
        if self.llm is None:
            return ""
        return complete(self.llm, messages, STEP_TOKENS, self.budget, self.seconds, self.cancelled)


def _best_sentence(question: str, passages: Sequence[Passage]) -> str:
    picks = score_sentences(question, passages[:SHOWN])
    best = max(picks, key=lambda pick: pick.score, default=None)
    return "" if best is None else passages[best.number - 1].text[best.start : best.end]


def as_query(step: str, understood: StandaloneQuestion | None) -> StandaloneQuestion:
    """Return a step to search, with the variants of the whole question, whose results weigh less."""
    whole = () if understood is None else understood.variants
    own = (replace(one, weight=one.weight * WHOLE_WEIGHT) for one in whole if one.text != step)
    return StandaloneQuestion(step, (QueryVariant(step), *own))


def completed(
    step: Step,
    best: str,
    earlier: Sequence[Passage],
    model: Callable[[list[dict[str, str]]], str],
) -> str:
    """Return a step in the words of what an earlier one found: by the model, else with the names found.

    `best` is the sentence of the `earlier` passages that answers the earlier step best.
    """
    plain = _tidy(_USES.sub(" it", step.question))
    if not earlier:
        return plain
    shown = earlier[:SHOWN]
    written = _BULLET.sub("", model(step_messages(step.question, shown))).strip(' "*`')
    known = [("assistant", "\n".join([*(f"{one.document} {one.heading} {one.text}" for one in shown)]))]
    if written and not rejection_reason(written, step.question, known):
        return written
    code = _code(plain)
    named = re.sub(r"[_\W]+", " ", earlier[0].document.rsplit(".", 1)[0])
    found = names(best)
    return with_names(plain, found or _subjects(named, code), code, best if found else named)


def other_words(step: str, whole: str, model: Callable[[list[dict[str, str]]], str]) -> str:
    """Return a step in other words, for a second search: the model's, else those of the whole question."""
    written = _BULLET.sub("", model(other_words_messages(step))).strip(' "*`')
    if written and "\n" not in written and not rejection_reason(written, f"{step}\n{whole}", ()):
        return written
    return with_names(step, _subjects(whole, _code(whole)), _code(step), whole)
