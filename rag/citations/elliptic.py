"""Elliptic statements: an answer that is only a value, read with its question.

"It is EUR 1,200." states nothing by itself. With its question, "What is the fee for 2024?", it states what
the question asks, told in a statement's order: "the fee for 2024 is EUR 1,200".
"""

import re

from rag.citations.quantities import periods, quantities, same_unit, undated
from rag.text.facts import without_numbers
from rag.text.normalize import without_politeness
from rag.text.sentences import sentences
from rag.text.tokenize import content_words

_FRAME = re.compile(
    r"(?:(?:it|that|this|they|these)(?:\s(?:is|was|are|were)|[’']s)|(?:in|on|for|since|until)\b)?\s*(?P<value>.+?)\s*"
    r"(?:입니다|이었습니다|였습니다|이다|이에요|예요|でした|です|である|だ)?[\s.。!！]*",
    re.IGNORECASE | re.DOTALL,
)
"""What stands around a value and states nothing: a pronoun with its verb, a preposition of time, a copula."""
_BESIDE = re.compile(
    r"about|around|approximately|roughly|nearly|almost|over|under|more than|less than|at least|at most|up to"
    r"|and|of|(?-i:[A-Z]{3})|약|대략|이상|이하|미만|초과|정도|約|およそ|ほぼ|以上|以下|未満|程度|ほど",
    re.IGNORECASE,
)
"""Words beside a number that are part of a value: bounds, and codes of currencies."""
_UNIT = re.compile(r"(?<=\d)[A-Za-zµΩ°]{1,3}(?![A-Za-z])")
LONGEST = 80  # characters of a statement that is only a value
_LETTER = re.compile(r"[^\W_]")
_INTERROGATIVE = re.compile(
    r"\b(?:how much(?: money)?|how many(?:\s(?P<counted>[a-z]+))?|how long|what|when)\b"
    r"|얼마(?:나|만큼)?|몇\s?(?P<unit>[가-힣]{1,2}?)(?=입니|인가|이[나에죠]|[은는을를의]|\s)|며칠|언제"
    r"|いくら|いくつ|ど(?:の|れ)くらい|何(?P<counter>[一-鿿ァ-ヶー%％]{0,4})|いつ",
    re.IGNORECASE,
)
_INVERTED = re.compile(
    r"(?P<asked>[^,]*?)\s(?P<verb>is|was|are|were|did|does|do|will|would|can|must|should|may|has|have|had)\s(?P<rest>[^,]+)",
    re.IGNORECASE,
)
"""Question with its verb before its subject: "How many days of leave do staff have"."""
_STANDS_LAST = frozenset(("is", "was", "are", "were"))
_HELPS_ONLY = frozenset(("did", "does", "do"))
_END = re.compile(r"[\s?？。]*\Z")
_ASKING = re.compile(r"(?:니까|인가요|이?에요|예요|나요|か)\Z")
_TELLING = {"니까": "니다", "나요": "다", "か": ""}


def completed(statement: str, question: str) -> str:
    """Return a statement that is only a value with what its question asks; another one as it is.

    >>> completed("It is EUR 1,200.", "What is the fee for 2024?")
    'the fee for 2024 is EUR 1,200.'
    >>> completed("12일입니다.", "연차는 며칠입니까?"), completed("12日です。", "休暇は何日ですか。")
    ('연차는 12일입니다.', '休暇は12日です。')
    >>> completed("The fee is 5.", "What is the fee?")
    'The fee is 5.'
    """
    asked = _END.sub("", question.strip())
    found = list(_INTERROGATIVE.finditer(asked)) if len(sentences(question.strip())) == 1 else []
    if len(found) != 1:
        return statement
    counted = found[0]["counted"] or found[0]["unit"] or found[0]["counter"] or ""
    value = _value(statement, counted)
    if not value:
        return statement
    start, end = found[0].span()
    if counted and value[-1].isdigit():
        end = found[0].start("counted") if found[0]["counted"] else end - len(counted)
        value = f"{value} " if found[0]["counted"] else value
    if start == 0 and (inverted := _INVERTED.fullmatch(asked)) and inverted.start("verb") > found[0].end():
        return _uninverted(inverted, f"{value}{inverted['asked'][end:]}")
    said = _ASKING.sub(lambda ending: _TELLING.get(ending[0], "입니다"), asked[end:])
    return f"{asked[:start]}{value}{said}{'。' if asked.endswith('か') else '.'}"


def is_only_a_value(statement: str) -> bool:
    """Return True for a statement that says nothing but a number or a time.

    >>> [is_only_a_value(said) for said in ("It is EUR 1,200.", "12일입니다.", "The fee is 5.", "Seoul.")]
    [True, True, False, False]
    """
    return bool(_value(statement, ""))


def unsaid_words(said: str, value: str, text: str) -> list[str]:
    """Return the content words that a completed statement has beside its value, and a text has not.

    >>> told, value = "Part-time staff have 5 days of leave.", "5 days."
    >>> [unsaid_words(f"staff have 5 days of {kind}.", value, told) for kind in ("leave", "sick leave")]
    [[], ['sick']]
    """
    text = without_politeness(text)
    given = {*content_words(text), *content_words(value)}
    for one in reversed(periods(said)):
        said = f"{said[: one.start]} {said[one.end :]}"
    words = content_words(without_numbers(without_politeness(said)))
    return [word for word in words if word not in given and (word.isascii() or word not in text)]


def is_only_one(value: str, text: str) -> bool:
    """Return True where a text has no other value of the kind: of its unit, any where it has none, or a time.

    >>> [is_only_one("5 days.", told) for told in ("It is 5 days, from 2024.", "It is 5 days, or 12 days.")]
    [True, False]
    """
    dated, told = periods(value), undated(value, periods(value))
    if not told:
        return len({(one.year, one.month, one.day) for one in periods(text)}) == len(dated)
    others = [one for one in undated(text, periods(text)) if not told[0].fits(one)]
    return not any(same_unit(told[0].unit, one.unit) or not told[0].unit for one in others)


def _uninverted(question: re.Match[str], value: str) -> str:
    """Return an English question in a statement's order: "did the gate cost" and a value."""
    verb, rest = question["verb"].lower(), question["rest"]
    if verb in _STANDS_LAST:
        return f"{rest} {verb} {value}."
    subject_and_verb = rest if verb in _HELPS_ONLY else f"{rest} ({verb})"
    return f"{subject_and_verb} {value}."


def _value(statement: str, counted: str) -> str:
    """Return the value that a statement has alone, or with what is `counted`; empty where it has more."""
    framed = _FRAME.fullmatch(statement.strip()) if len(statement) <= LONGEST else None
    value = framed["value"] if framed else ""
    told = [(one.start, one.end) for one in quantities(value)]
    told += [(one.start, one.end) for one in periods(value)]
    told += [match.span() for match in _UNIT.finditer(value)]
    rest = "".join(" " if any(a <= at < b for a, b in told) else c for at, c in enumerate(value))
    left = _BESIDE.sub(" ", rest.replace(counted, " ") if counted else rest)
    return value if told and not _LETTER.search(left) else ""
