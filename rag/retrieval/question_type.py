"""Question type: the kinds of answer that a question asks for, and the signs of one in a sentence."""

import re
from collections.abc import Collection
from math import log

from rag.text.dates import find_periods, with_quarter_words
from rag.text.facts import numbers
from rag.text.language import KOREAN_PARTICLES, words_of
from rag.text.tokenize import tokens

# Question type by patterns: English, Korean, Japanese.
_ASKS = {
    "date": re.compile(
        r"\bwhen\b|\b(?:what|which) (?:year|date|day|month|century|decade)"
        r"|언제|몇 ?년|연도|년도|날짜|시기|몇 ?월|며칠|いつ|何年|何月|何日|何世紀|年号|時期",
        re.IGNORECASE,
    ),
    "number": re.compile(
        r"\bhow (?:many|much|long|old|far|large|big|tall|high|often)\b|\bpercent|\bnumber of\b"
        r"|\bhow (?:did|do|does|has|have) .{1,80}\b(?:change|grow|grown|fall|rise|develop|increase|decrease)"
        r"|몇|얼마|수는|횟수|비율"
        r"|何(?:人|つ|個|回|歳|本|番|%|％|パーセント|メートル|キロ|円|度|社|種|枚|[カかヶヵ]|基|体|隻|両|点|倍|時|分)"
        r"|いくつ|いくら|どのくらい|どれくらい|どれほど",
        re.IGNORECASE,
    ),
    "name": re.compile(r"\bwho(?:m|se)?\b|누구|누가|사람|인물|이름|誰|だれ|人物|名前", re.IGNORECASE),
    "place": re.compile(
        r"\bwhere\b|\b(?:what|which) (?:city|country|place|state)"
        r"|어디|장소|곳|지역|나라|도시|どこ|場所|地名|何県|何国",
        re.IGNORECASE,
    ),
    "reason": re.compile(r"\bwhy\b|왜|이유|까닭|なぜ|理由|どうして", re.IGNORECASE),
}


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


# The thing that "What is X?" asks for, and how a sentence begins that defines it.
_DEFINED = (
    re.compile(
        r"^(?:so |and |tell me )?(?:what|who)(?:['’]s| is| are| was| were)\s+(?:an? |the )?"
        r"(?P<what>[^?]{2,60}?)\s*\??\s*$"
        r"|^define (?P<other>[^?]{2,60}?)\s*$|^what does (?P<third>[^?]{2,60}?) mean\s*\??\s*$",
        re.IGNORECASE,
    ),
    re.compile(
        r"^(?P<what>[^?]{1,40}?)(?:이란|란|은|는|이|가)\s?"
        r"(?:무엇|뭐|뭔|무슨 뜻|무슨 의미|누구)[가-힣 ]{0,8}\s*\??\s*$"
    ),
    re.compile(
        r"^(?P<what>[^?？]{1,40}?)(?:とは|って|は)(?:、)?(?:何|なに|なん|誰|だれ|どういう意味)?(?:です|でしょう|のこと)?か?[?？。]?\s*$"
    ),
)
_COPULA = {
    "en": r"(?:\s?\([^)]{{1,60}}\))?,?\s(?:is|are|was|were|refers? to|means?|stands? for|denotes?)\s",
    "ko": r"(?:\s?\([^)]{{1,60}}\))?\s?(?:이란|란|은|는)\s",
    "ja": r"(?:\s?[（(][^)）]{{1,60}}[)）])?\s?(?:とは|は)",
}
_PARTS_OF = re.compile(r"\b(?:of|for|in|between|about|on|at|with|from)\b", re.IGNORECASE)
_AMOUNT = re.compile(
    r"[$€£¥₩]\s?\d|\d\s?(?:%|％|percent|million|billion|trillion|thousand|bps)|\d[\d,.]*\s?(?:원|달러|억|만|조|円|ドル|億|万|兆)"
)
_MEASURE = re.compile(
    r"\b(?:revenues?|sales|income|profits?|earnings|margins?|expenses?|costs?|price|rate|ratio|assets|liabilities|debt"
    r"|cash|dividends?|shares|tax|budget|salary|rent|fee|amount|total|balance|headcount|population|turnover|spending)\b"
    r"|매출|이익|비용|가격|금액|비율|인구|예산|자산|부채|売上|利益|費用|価格|金額|比率|人口|予算|資産|負債",
    re.IGNORECASE,
)
_BEGIN = 90  # characters in which a sentence names its subject
_SUBJECT_WORDS = 4
_NEUTRAL = frozenset(tokens("total overall our net company whole fiscal year quarter ended period", "en"))


def has_amount(text: str) -> bool:
    """Return True for a text with an amount: a figure with a currency, a scale or a per cent sign."""
    return _AMOUNT.search(text) is not None


_ASKS_AMOUNT = re.compile(
    r"\bhow much (?:did|does|do|is|was|were|are|will|has|have)\b|얼마(?!나)|いくら", re.IGNORECASE
)
_DAY_OF_MONTH = re.compile(
    r"\d{1,2}\s?[月월](?:\s?\d{1,2}\s?[日일])?"
    r"|\b\d{1,2}(?:st|nd|rd|th)?\s(?:of\s)?(?:January|February|March|April|May|June|July|August|September|October"
    r"|November|December)\b|\b(?:January|February|March|April|May|June|July|August|September|October|November"
    r"|December)\s\d{1,2}\b"
)


def asks_amount(question: str) -> bool:
    """Return True for a question that asks for an amount.

    >>> [asks_amount(one) for one in ("How much did it cost?", "いくらですか", "얼마나 걸리나요?")]
    [True, True, False]
    """
    return _ASKS_AMOUNT.search(question) is not None


def asks_who(question: str) -> bool:
    """Return True for a question that asks for a person or a party.

    >>> [asks_who(one) for one in ("Who maintains it?", "누가 수거하나요?", "誰ですか", "When is it?")]
    [True, True, True, False]
    """
    return _ASKS["name"].search(question) is not None


def has_only_dates(text: str) -> bool:
    """Return True for a text without numbers other than those of dates.

    >>> has_only_dates("9月26日に完了した。"), has_only_dates("It was sold for 900 euros in May 2024.")
    (True, False)
    """
    return not numbers(_DAY_OF_MONTH.sub(" ", without_periods(text)))


def defined_thing(question: str) -> str:
    """Return the thing that a question asks to define; empty for another question.

    >>> defined_thing("What is AutoGen?"), defined_thing("RAG란 무엇인가요?"), defined_thing("Who won?")
    ('AutoGen', 'RAG', '')
    """
    for pattern in _DEFINED:
        if found := pattern.match(question.strip()):
            what = next(part for part in found.groups() if part is not None).strip(" \"'“”‘’")
            return "" if _PARTS_OF.search(what) or len(what.split()) > 5 else what
    return ""


class QuestionType:
    """Question type: the kinds of answer that a question asks for."""

    def __init__(self, question: str):
        self._asked = {kind for kind, asks in _ASKS.items() if asks.search(question)}
        self._numbers = frozenset(numbers(question))
        self._names = frozenset(_NAME.findall(question))
        self.thing = defined_thing(question)
        self._defines = _defining(self.thing) if self.thing else None
        periods, spoken = find_periods(question), with_quarter_words(question)
        self._periods = frozenset(period.label for period in periods)
        named = {"name", "place", "reason", "date"} & self._asked
        self.is_figure = (
            bool(_MEASURE.search(question))
            and not named
            and ("number" in self._asked or bool(periods) or spoken != question or self.thing != "")
        )
        self.is_reason = "reason" in self._asked
        self.measures = (
            frozenset(tokens(" ".join(_MEASURE.findall(question)))) if self.is_figure else frozenset()
        )
        self._subject = frozenset(tokens(spoken)) | _NEUTRAL
        asking = [found[0] for pattern in (*_ASKS.values(), _COUNTED) for found in pattern.finditer(question)]
        self.asking = frozenset(tokens(" ".join(asking)))
        """Words that ask for a kind, which its answer replaces: 何歳."""
        counter = _COUNTED.search(question)
        unit = re.escape(counter[1] or counter[2]) if counter else ""
        self._counted = re.compile(rf"[\d一二三四五六七八九十百千万数한두세네]\s?{unit}") if unit else None

    def cues(self, sentence: str) -> dict[str, float]:
        """Return the features of a sentence that has what is asked for; each is 0 where it was not asked.

        Repeating the question does not count.

        >>> QuestionType("How many people live in Seoul?").cues("Seoul has 9 million people.")["number"]
        1.0
        """
        fresh = bool(frozenset(numbers(sentence)) - self._numbers)
        is_figure = self.is_figure and not sentence.startswith("|")  # rows: rag/retrieval/table_rows.py
        named = len(frozenset(_NAME.findall(sentence[1:])) - self._names)
        return {
            "date": float("date" in self._asked and fresh and bool(_DATE.search(sentence))),
            "number": float("number" in self._asked and fresh),
            "counted": float(self._counted is not None and bool(self._counted.search(sentence))),
            "name": log(1 + named) if "name" in self._asked else 0.0,
            "place": float("place" in self._asked and named > 0),
            "reason": float("reason" in self._asked and bool(_REASON.search(sentence))),
            "definition": float(self._defines is not None and bool(self._defines.match(sentence))),
            "amount": float(is_figure and fresh and has_amount(sentence)),
            "subject": self._subject_share(sentence) if is_figure else 0.0,
        }

    def is_told_in(self, sentence: str) -> bool:
        """Return True for a sentence with the kind of value asked for: a count, a date, a number or a name.

        >>> QuestionType("定年は何歳ですか").is_told_in("定年は満65歳とする。")
        True
        >>> QuestionType("When did it open?").is_told_in("It opened in the rain.")
        False
        """
        cues = self.cues(sentence)
        kinds = ["counted"] if self._counted else sorted({"date", "number", "name"} & self._asked)
        return any(cues[kind] > 0 for kind in kinds)

    def period_share(self, *texts: str) -> float:
        """Return the share of the question's periods that texts name; 0 without one."""
        if not self._periods:
            return 0.0
        named = {period.label for text in texts for period in find_periods(text)}
        return sum(_is_named(label, named) for label in self._periods) / len(self._periods)

    def covered(self, share: float) -> float:
        """Return a factor for a sentence that names a share of the periods: all of two must be compared."""
        return share**2 if len(self._periods) > 1 else 1.0

    def _subject_share(self, sentence: str) -> float:
        """Return how far a sentence begins with nothing but what is asked for, squared."""
        first = tokens(with_quarter_words(sentence[:_BEGIN]))[:_SUBJECT_WORDS]
        return (sum(word in self._subject for word in first) / len(first)) ** 2 if first else 0.0


def _is_named(label: str, named: Collection[str]) -> bool:
    """Return True for a period that is named, or told by another one: "than in the same quarter of 2022"."""
    year, _, part = label.partition("-")
    return label in named or bool(part and year in named and any(one.endswith(part) for one in named))


def _defining(thing: str) -> re.Pattern[str]:
    article = r"(?:\W{0,3}(?:an? |the ))?"
    ends = "|".join(pattern.format() for pattern in _COPULA.values())
    return re.compile(rf"^\W{{0,3}}{article}{re.escape(thing)}(?:{ends})", re.IGNORECASE)


_PERIOD_WORDS = re.compile(
    r"\b(?:quarter|year|months?|period)s?\s(?:ended|ending)\b|\b(?:fiscal|quarter)\b", re.IGNORECASE
)


_PARTICLES = re.compile(r"\A(?:[은는이가을를의도엔]|에는?|에도|에서는?|부터|까지)?요?(?![가-힣])")
"""Korean particles that are written together with the period before them."""


def without_periods(question: str) -> str:
    """Return a question without the periods it names, which a text may spell otherwise, and their particles.

    >>> without_periods("NVIDIA's revenue Q3 FY2024"), without_periods("2024년은요?")
    ("NVIDIA's revenue  ", ' ?')
    """
    for period in reversed(find_periods(question)):
        question = f"{question[: period.start]} {_PARTICLES.sub('', question[period.end :])}"
    return _PERIOD_WORDS.sub(" ", question)


# Overview questions name nothing but the document itself. English words as stems, without stop words.
_ENGLISH = words_of(
    """
    summar summari summaris synopsi outlin overview abstract gist essenc recap overal whole entir
    complet
    full general main major key central import primari chief core basic brief briefli short shortli concis
    high level bird eye view pictur tldr tl dr
    point idea theme topic subject content messag takeaway conclus find result argument highlight
    matter issu plot stori storylin narrat tale novel book chapter text document file page paper report
    articl studi memo transcript meet convers call discuss session interview lectur talk present collect
    librari describ explain tell give provid list say state discuss cover happen event occur deal
    concern contain includ mention present pleas can could would know learn read purpos
    sentenc paragraph word bullet
    """
)
_OTHERS = re.compile(
    f"""요약|줄거리|개요|전체적|전체|전반|핵심|주요|중요|요점|골자|주제|내용|이야기|소설|문서|글|책|파일|자료|보고서|논문|기사|회의록?|대화|논의
    |토론|사항|결론|결과|정리|설명|간단|간략|짧게|한마디|무엇|뭐|무슨|어떤|어떻게|대해|관해|대하여|관하여|대한|관한|알려|말해|다루|나오|나눈|있었|있는|일어
    |하나요|인가요|입니까|합니까|주세요|줘요?|해줘|부탁|해|하|된|되|것|점|들|{"|".join(KOREAN_PARTICLES)}|야|지|니|요|서|한|인|써
    |要約|要点|要旨|概要|あらすじ|粗筋|筋書き|全体|全般|主な|主要|主題|重要|中心|論点|テーマ|トピック|ポイント|内容|話|物語|小説|文書|文章|本文|本書|本|ファイル|資料|報告書
    |レポート|論文|記事|会議|議事録?|対話|会話|議論|話し合い|話し合|結論|結果|まとめ|説明|簡単|簡潔|短く|何|どんな|どういう|どのよう|どう|教え|述べ|書かれ|起き|起こ
    |この|その|それ|これ|して|ください|下さい|ました|ますか|ます|ですか|です|てい|いる|ある|あり|られ|され|について|に関し|とは|では|から|まで|もの|こと|った|って|[のはがをにでとへもやなたてかしいくさせ]""",
    re.VERBOSE,
)
_WHOLES = re.compile(
    "요약|줄거리|개요|전체|핵심|주요|요점|골자|주제|내용|이야기|소설|문서|글|책|자료|보고서|논문|기사|회의|대화"
    "|要約|要点|要旨|概要|あらすじ|粗筋|全体|主な|主題|内容|話|物語|小説|文書|文章|本|資料|報告|論文|記事|会議|まとめ"
)
_DENIED = re.compile(r"\b(?:not|never|without)\b|n['’]t\b", re.IGNORECASE)
_ASIAN = re.compile("[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3]")


def denies(text: str) -> bool:
    """Return True for an English text with a word that denies, which is no word of a search."""
    return _DENIED.search(text) is not None


def asks_for_overview(question: str) -> bool:
    """Return whether a question asks for an overview, and names nothing to search for.

    What is *not* covered is something in particular.

    >>> asks_for_overview("What is the plot of the story?"), asks_for_overview("Describe the heating plan.")
    (True, False)
    >>> asks_for_overview("What is covered?"), asks_for_overview("What is not covered?")
    (True, False)
    """
    if denies(question):
        return False
    left = _OTHERS.sub(" ", question)
    if _ASIAN.search(left):
        return False
    named = set(tokens(left, "en"))
    return named <= _ENGLISH and bool(named or _WHOLES.search(question))


_PART_OF_DATE = re.compile(
    r"\b(?:by|until|till|since|from|before|after|years?|months?|century|decade)\b"
    r"|까지|부터|이전|이후|몇 ?[년월]|연도|년도|まで|から|以前|以後|何[年月世]|年号",
    re.IGNORECASE,
)


def asks_only_when(question: str) -> bool:
    """Return True for a question that asks for a date, and names nothing that it is the date of.

    >>> [asks_only_when(one) for one in ("When?", "언제인가요?", "いつですか", "When is it due?", "By when?")]
    [True, True, True, False, False]
    """
    if _PART_OF_DATE.search(question):
        return False
    left, dates = _ASKS["date"].subn(" ", question)
    return bool(dates) and not tokens(_OTHERS.sub(" ", left), "en")
