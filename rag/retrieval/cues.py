"""What kind of answer a question asks for, and whether a sentence has one: English, Korean, Japanese."""

import re
from dataclasses import dataclass
from math import log

from rag.text.facts import numbers

_ASKS_DATE = re.compile(
    r"\bwhen\b|\b(?:what|which) (?:year|date|day|month|century|decade)"
    r"|언제|몇 ?년|연도|년도|날짜|시기|몇 ?월|며칠|いつ|何年|何月|何日|何世紀|年号|時期",
    re.IGNORECASE,
)
_ASKS_NUMBER = re.compile(
    r"\bhow (?:many|much|long|old|far|large|big|tall|high|often)\b|\bpercent|\bnumber of\b"
    r"|몇|얼마|수는|횟수|비율"
    r"|何(?:人|つ|個|回|歳|本|番|%|％|パーセント|メートル|キロ|円|度|社|種|枚|[カかヶヵ]|基|体|隻|両|点|倍|時|分)"
    r"|いくつ|いくら|どのくらい|どれくらい|どれほど",
    re.IGNORECASE,
)
_ASKS_NAME = re.compile(r"\bwho(?:m|se)?\b|누구|사람|인물|이름|誰|だれ|人物|名前", re.IGNORECASE)
_ASKS_PLACE = re.compile(
    r"\bwhere\b|\b(?:what|which) (?:city|country|place|state)"
    r"|어디|장소|곳|지역|나라|도시|どこ|場所|地名|何県|何国",
    re.IGNORECASE,
)
_ASKS_REASON = re.compile(r"\bwhy\b|왜|이유|까닭|なぜ|理由|どうして", re.IGNORECASE)
# 何 or 몇 and the counter after it, which the answer repeats: 何回 -> 5回, 몇 명 -> 12명.
_COUNTED = re.compile(
    r"何(回|個|人|つ|歳|本|番|%|パーセント|メートル|キロ|円|度|社|種|枚|[カかヶ]国|[カか箇ヶ]所|[カか]月|基|体|隻|両|点"
    r"|倍|時間|分|年間|年|月|日|世紀|話|校|票|位|勝|頭|曲|冊|軒|階|機|名|件|代)"
    r"|몇\s?(번|개국|개월|개|명|살|세|대|권|층|위|회|년간|년|월|일|시간|시|곳|가지|차례|도|마리|원|퍼센트|%|편|승|척|점|배"
    r"|분|종|장|표|차|부|호|기)"
)
_DATE = re.compile(
    r"\b(?:1\d{3}|20\d{2})\b|\d\s*(?:년|월|일|年|月|日|世紀|세기)"
    r"|\b(?:January|February|March|April|May|June|July|August|September|October|November|December|century)\b"
)
_REASON = re.compile(
    r"\bbecause|\bdue to|\bsince\b|so that|in order|때문|위해|으므로|ため|から|ので|理由", re.IGNORECASE
)
_NAME = re.compile(r"\b[A-Z][\w'-]+|[ァ-ヺー]{2,}")


@dataclass(frozen=True)
class Cues:
    """Signs that a sentence has the kind of thing asked for; each is 0 where it was not asked."""

    date: float
    number: float
    counted: float
    name: float
    place: float
    reason: float


class QuestionType:
    """A question, read for what kind of answer it wants."""

    def __init__(self, question: str):
        self._date = bool(_ASKS_DATE.search(question))
        self._number = bool(_ASKS_NUMBER.search(question))
        self._name = bool(_ASKS_NAME.search(question))
        self._place = bool(_ASKS_PLACE.search(question))
        self._reason = bool(_ASKS_REASON.search(question))
        self._numbers = frozenset(numbers(question))
        self._names = frozenset(_NAME.findall(question))
        counter = _COUNTED.search(question)
        unit = re.escape(counter[1] or counter[2]) if counter else ""
        self._counted = re.compile(rf"[\d一二三四五六七八九十百千万数한두세네]\s?{unit}") if unit else None

    def cues(self, sentence: str) -> Cues:
        """Return the signs in a sentence; what the question itself says is no sign.

        >>> QuestionType("How many people live in Seoul?").cues("Seoul has 9 million people.").number
        1.0
        """
        fresh = bool(frozenset(numbers(sentence)) - self._numbers)
        named = len(frozenset(_NAME.findall(sentence[1:])) - self._names)
        return Cues(
            date=float(self._date and fresh and bool(_DATE.search(sentence))),
            number=float(self._number and fresh),
            counted=float(self._counted is not None and bool(self._counted.search(sentence))),
            name=log(1 + named) if self._name else 0.0,
            place=float(self._place and named > 0),
            reason=float(self._reason and bool(_REASON.search(sentence))),
        )
