"""Questions that a passage answers, as a person would ask them: from its sentences, tables and headings.

Rules by language, each with the span of the words that answer. They miss most sentences, and ask nothing odd
of the others: a sentence that no rule knows gives no question.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rag.text.language import language
from rag.text.markdown import TableBlock, read_tables, whole_caption
from rag.text.sentences import sentences

MOST_WORDS = 11  # of a subject
LONGEST = 160  # characters of a question
SHORTEST_SENTENCE, LONGEST_SENTENCE = 12, 400  # characters


@dataclass(frozen=True)
class NaturalQuestion:
    """Question that the words ``text[start:end]`` of a passage answer."""

    text: str
    start: int
    end: int


def sentence_questions(text: str, heading: str = "", document: str = "") -> Iterator[NaturalQuestion]:
    """Yield questions that sentences of a passage answer, understood without it.

    The text of its `document`, where given, tells which words are written small.

    >>> [found.text for found in sentence_questions("The castle of Aldenburg was built in 1432.")]
    ['When was the castle of Aldenburg built?']
    >>> [found.text for found in sentence_questions("원인은 물류센터 이전이다.", "회의록 > 안건 1 배송 지연")]
    ['배송 지연의 원인은 무엇입니까?']
    """
    spoken = language(text)
    asked = _ASKED.get(spoken, _ask_english)
    for start, end in sentences(text):
        said = " ".join(text[start:end].split())
        fit = SHORTEST_SENTENCE <= end - start <= LONGEST_SENTENCE and not _NO_PROSE.search(said)
        question = _understood(asked(said, document or text), heading, spoken) if fit else ""
        if 0 < len(question) <= LONGEST:
            yield NaturalQuestion(question, start, end)


def table_questions(text: str) -> Iterator[NaturalQuestion]:
    r"""Yield questions that rows of a passage's tables answer, at most one for each row.

    >>> [found.text for found in table_questions("|  | 2024 |\n|---|---|\n| Net sales | 81,797 |")]
    ['What were net sales in 2024?']
    """
    for table in read_tables(text):
        yield from _of_table(table, text)


def heading_question(heading: str, text: str, document_language: str = "en", document: str = "") -> str:
    """Return a question about the heading of a passage; nothing where it is no name of a subject.

    A passage in Han characters alone does not show its language: its question is in that of the document.
    The text of the `document`, where given, tells which words of a heading are written small.

    >>> heading_question("Report > Share repurchases", "The company bought shares.")
    'What does the document say about share repurchases?'
    >>> heading_question("2. Loft Insulation", "Lay the insulation evenly in the loft.")
    'What does the document say about loft insulation?'
    """
    above, _, last = heading.rpartition(" > ")
    subject = _HEADING_NUMBER.sub("", _NUMBERED.sub("", " ".join(last.split())))
    if general := _GENERAL_HEADING.fullmatch(subject):
        subject = _of(above, subject, "ko" if general["ko"] else "ja" if general["ja"] else "en")
    loud = subject.isupper() and len(subject.split()) > MOST_LOUD
    if loud or not 3 < len(subject) <= LONGEST_SUBJECT or not _SUBJECT_ONLY.fullmatch(subject):
        return ""
    is_title = subject[1:] != subject[1:].lower()
    small = _in_prose(subject, document or text) if is_title else f"{subject[0].lower()}{subject[1:]}"
    form = _ABOUT.get(language(text)) or _ABOUT.get(document_language, _ABOUT["en"])
    return form.format(heading=small)


def _understood(question: str, heading: str, spoken: str) -> str:
    """Return a question with the heading above where its subject is one general noun.

    Nothing where no heading says more, and nothing of a bare period.

    >>> _understood("原因とは何ですか。", "議事録 > 議題1 納期遅延", "ja")
    '納期遅延の原因は何ですか。'
    >>> _understood("第3四半期とは何ですか。", "業績報告", "ja")
    ''
    """
    found = _BARE.get(spoken, _BARE["en"]).match(question)
    if found is None:
        return question
    return _of(heading, question, spoken) if found["general"] else ""


def _of(heading: str, asked: str, spoken: str) -> str:
    """Return what is asked with the last heading before it; nothing where that does not say of what."""
    above = _about(heading.rpartition(" > ")[2])
    if not _LETTERS[spoken].search(above):
        return ""
    if spoken == "ja":
        return f"{above}の{asked.replace('とは何', 'は何')}"
    if spoken == "ko":
        return f"{above}의 {asked}"
    return f"{asked[:-1]} of {_small(above)}?" if asked.endswith("?") else ""


def _about(heading: str) -> str:
    """Return the name in a heading without its number; nothing of a general noun or of what is no name.

    >>> _about("議題1 納期遅延"), _about("第3条（賃料）"), _about("概要"), _about("scan_001")
    ('納期遅延', '賃料', '', '')
    """
    name = _HEADING_NUMBER.sub("", " ".join(heading.split())).strip("（）()「」『』[] ")
    if not 2 <= len(name) <= LONGEST_ABOUT or _GENERAL_HEADING.fullmatch(name) or _NO_NAME.search(name):
        return ""
    return name


_LETTERS = {"en": re.compile("[A-Za-z]{3}"), "ko": re.compile("[가-힣]"), "ja": re.compile("[ぁ-ヺ一-鿿]")}
LONGEST_ABOUT = 30  # characters of a heading in a question
_HEADING_NUMBER = re.compile(
    r"^(?:(?:議題|議案|付録|別紙|안건|의안|부록|별첨|제|第|Item|Part|Chapter|Section|Topic|Appendix)? ?"
    r"[\d一二三四五六七八九十]+(?:[.-]\d+)*(?:条|章|節|項|조|장|절|항)?(?: ?[.)）:：、])?(?:\s+|(?=[（(])))+",
    re.I,
)
_NO_NAME = re.compile(r"[_。、,!?？！:：|/\\]|^\W*\d[\d\W]*$|(?:です|ます|した|する|다|까)$")
_GENERAL = {
    "en": "cause|reason|result|purpose|aim|goal|method|summary|overview|outlook|background|introduction"
    "|conclusion|discussion|agenda|risk|deadline|period|date|place|condition|status|effect|impact|amount"
    "|total|number|plan|step|problem|issue|solution|measure|budget|price|fee",
    "ko": "원인|이유|결과|목적|목표|방법|대책|개요|요약|배경|내용|전망|위험|리스크|기간|기한|마감|일시|장소"
    "|조건|상황|영향|금액|비용|합계|계획|문제|문제점|과제|대상|결론|서론|개선안|예산|가격|수량",
    "ja": "原因|理由|結果|目的|目標|方法|対策|概要|要約|背景|内容|見通し|概況|リスク|期間|期限|期日|締切|日時"
    "|場所|条件|状況|影響|金額|費用|合計|計画|問題|問題点|課題|対象|結論|序論|改善策|予算|価格|数量",
}
_GENERAL_HEADING = re.compile(
    rf"(?:the )?(?P<en>(?:{_GENERAL['en']})s?)|(?P<ko>{_GENERAL['ko']})|(?P<ja>{_GENERAL['ja']})", re.I
)
_NUMBERED = re.compile(r"^(?:Note|Item|Part|Chapter|Section)\s+\w+\s*[-–—.:]*\s*", re.I)
LONGEST_SUBJECT = 60  # characters of a heading
MOST_LOUD = 2  # words of a heading in capitals: more are the title page
_SUBJECT_ONLY = re.compile(r"[^\W\d_][^\W_]*(?:[ '’&/-]{1,3}[^\W_]+)*")
_ABOUT = {
    "en": "What does the document say about {heading}?",
    "ko": "{heading}의 주요 내용은 무엇인가요?",
    "ja": "「{heading}」には何が書かれていますか。",
}


_NO_PROSE = re.compile(
    r"[|{}<>\\`]|https?:|\.{4}|^\s*(?:[-*+•#>]|\(?\d{1,3}[.)])\s|©|All rights reserved", re.I
)
_YEAR = r"(?:1\d|20)\d\d"
_MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
_DATE = rf"(?:(?:\d{{1,2}}\s+)?(?:{_MONTH})\s+(?:\d{{1,2}},\s+)?)?{_YEAR}"
_DATED = re.compile(rf"^(?P<when>(?:In|During) {_DATE}),? (?P<rest>\w.*)", re.S)
_NUMBER = (
    r"(?:[$€£¥]\s?|(?:EUR|USD|GBP|CHF) )?\d[\d,.]*(?:\s?(?:%|percent|thousand|million|billion|trillion))?"
)
_SUBJECT = r"(?P<subject>(?:The |An? )?[A-Z][^,;:()]{2,80}?)"
_MADE = (
    "built|founded|established|opened|created|introduced|released|completed|launched|acquired|formed|"
    "incorporated|published|signed|renovated|closed|invented|adopted|discovered"
)
_WHEN = re.compile(rf"^{_SUBJECT} (?P<be>was|were) (?P<made>{_MADE}) (?:in|on) {_DATE}\b")
_WHAT = re.compile(rf"^{_SUBJECT} (?P<be>is|are) (?:an? |the (?:name|process|set|method)|one of the )")
_AMOUNT = re.compile(
    rf"^{_SUBJECT} (?P<be>was|were|is|are|totaled|totalled|reached|amounted to|came to) "
    rf"(?:about |approximately |nearly )?{_NUMBER}\b"
)
_VERBS = {
    "handled": "handle", "employed": "employ", "sold": "sell", "produced": "produce", "had": "have",
    "received": "receive", "served": "serve", "built": "build", "opened": "open", "hired": "hire",
    "shipped": "ship", "repurchased": "repurchase", "lost": "lose", "won": "win", "trained": "train",
}  # fmt: skip
_MANY = re.compile(
    rf"^{_SUBJECT} (?P<verb>{'|'.join(_VERBS)}) (?:about |approximately )?"
    r"(?P<number>\d[\d,.]*(?: (?:thousand|million|billion))?) (?P<noun>[a-z]+(?: [a-z]+)?s|people)\b"
    rf"(?: (?P<rest>(?:in|during) {_DATE}))?"
)
_SPENT = {"cost": "cost", "costs": "cost", "paid": "pay", "pays": "pay", "earned": "earn", "spent": "spend"}
_MUCH = re.compile(rf"^{_SUBJECT} (?P<verb>{'|'.join(_SPENT)}) (?:about |approximately )?[$€£¥]?\s?\d")
_UNCLEAR = re.compile(
    r"\b(?:it|its|this|that|these|those|they|their|he|his|she|her|we|our|you|your|i|my|such|there|here|who|which|"
    r"if|when|while|as|although|because|following|above|below|note|example|table|figure|item|other|also|both)\b",
    re.I,
)


_ADVERBIAL = frozenset(
    "in on at by for from with under during after before since until within of to".split()  # noqa: SIM905
)


def _ask_english(sentence: str, text: str) -> str:
    if dated := _DATED.match(sentence):
        rest = dated["rest"]
        question = _ask_english(rest[0].upper() + rest[1:], text)
        when = f" {dated['when'][0].lower()}{dated['when'][1:]}?"
        return question if not question or question.startswith("When") else question[:-1] + when
    for pattern, form in _ENGLISH:
        found = pattern.match(sentence)
        if found and (subject := _named(found["subject"], text)):
            return form(subject, found)
    return ""


def _named(subject: str, text: str) -> str:
    """Return a subject as it stands within a sentence; nothing for one that only its context makes clear."""
    words = subject.split()
    if len(words) > MOST_WORDS or _UNCLEAR.search(subject) or words[0].casefold() in _ADVERBIAL:
        return ""
    return _in_sentence(subject, text)


def _in_sentence(subject: str, text: str) -> str:
    """Return words without the capital of a beginning, where the text writes the first one small elsewhere.

    >>> _in_sentence("Gross margin", "Gross margin fell. The gross margin"), _in_sentence("Busan", "Busan")
    ('gross margin', 'Busan')
    """
    first, space, rest = subject.partition(" ")
    small = first[:1].lower() + first[1:]
    known = first in ("The", "A", "An") or re.search(rf"\b{re.escape(small)}\b", text) is not None
    return f"{small if known else first}{space}{rest}"


def _in_prose(title: str, text: str) -> str:
    """Return a title with each word small that the text writes small.

    >>> _in_prose("Share Repurchases in Busan", "The repurchases of a share")
    'share repurchases in Busan'
    """
    return " ".join(_in_sentence(word, text) for word in title.split())


def _many(subject: str, found: re.Match[str]) -> str:
    rest = f" {found['rest']}" if found["rest"] else ""
    return f"How many {found['noun']} did {subject} {_VERBS[found['verb']]}{rest}?"


def _much(subject: str, found: re.Match[str]) -> str:
    do = "does" if found["verb"].endswith("s") else "did"
    return f"How much {do} {subject} {_SPENT[found['verb']]}?"


_THIS_ONE = re.compile(r"the [a-z]+(?: (?:outside|inside|above|below|around|nearby))?")


def _what(subject: str, found: re.Match[str]) -> str:
    if _THIS_ONE.fullmatch(subject) and not _GENERAL_HEADING.fullmatch(
        subject
    ):  # "The house is a bungalow.": the one that the document is about
        return ""
    return f"What {'are' if found['be'] == 'are' else 'is'} {subject}?"


def _amount(subject: str, found: re.Match[str]) -> str:
    return f"What {found['be'] if found['be'] in ('is', 'are', 'were') else 'was'} {subject}?"


_ENGLISH: tuple[tuple[re.Pattern[str], Callable[[str, re.Match[str]], str]], ...] = (
    (_WHEN, lambda subject, found: f"When {found['be']} {subject} {found['made']}?"),
    (_MANY, _many),
    (_MUCH, _much),
    (_AMOUNT, _amount),
    (_WHAT, _what),
)

_KOREAN_DEED = "설립|건설|완공|개통|개장|창설|창립|출시|발표|건립|착공|도입|제정|개관|개교|완성"
_KOREAN_WHEN = re.compile(
    rf"^(?P<subject>[^,()]{{2,30}}?)(?P<mark>은|는|이|가) (?:[^,]*?)\d{{4}}년[^,]*?"
    rf"(?P<made>{_KOREAN_DEED})(?P<be>되|된|됐|했|하였)"
)
_KOREAN_YEAR = r"(?P<when>\d{4}년(?: ?[초말])? )?"
_KOREAN_UNIT = "개|명|척|대|톤|건|권|곳|마리|채|회|번"
_KOREAN_NUMBER = r"(?:약 )?\d[\d,.]*(?: ?[천만억조](?: ?\d[\d,.]*)?)* ?"
_KOREAN_MANY = re.compile(
    rf"^{_KOREAN_YEAR}(?P<subject>[^,()\d]{{2,25}}?)(?P<mark>은|는|이|가) (?P<noun>[가-힣]{{2,10}}) "
    rf"{_KOREAN_NUMBER}(?P<unit>{_KOREAN_UNIT})[을를] (?P<verb>[가-힣]{{1,4}})(?:했|하였)"
)
_KOREAN_AMOUNT = re.compile(
    rf"^{_KOREAN_YEAR}(?P<subject>[^,()]{{2,25}}?)(?P<mark>은|는) (?P<each>하루에? |매달 |매년 |연간 )?"
    rf"{_KOREAN_NUMBER}(?P<unit>{_KOREAN_UNIT}|원|달러)(?:이다|입니다|이었|였|으로,|로,)"
)
_KOREAN_MONEY = ("원", "달러")
_KOREAN_WHAT = re.compile(
    r"^(?P<subject>[^\s,()]{2,20}(?: [^\s,()]{1,15}){0,2}?)(?P<mark>은|는) [^,]{6,}(?:이다|입니다)\.$"
)
_KOREAN_SUM = re.compile(r"\d ?(?:[십백천]?[만억조]? ?(?:원|달러)|%)(?:이다|입니다)\.$")
_KOREAN_DAY = re.compile(
    r"(?:\d{4} ?년(?: ?\d{1,2} ?월)?(?: ?\d{1,2} ?일)?|\d{1,2} ?월(?: ?\d{1,2} ?일)?"
    r"|(?:매월|매달|다음 ?달|이달|익월|당월) ?\d{1,2} ?일)(?: ?\([월화수목금토일]\))?"
    r"(?: ?(?:초|말|봄|여름|가을|겨울|[상하]반기|[1-4]분기|(?:오전|오후)[^,]{1,8}))?(?:이다|입니다)\.$"
)
_KOREAN_DAY_OF_MONTH = re.compile(r"(?<!\d)\d{1,2} ?일(?:이다|입니다)\.$")
_KOREAN_SPAN = re.compile(
    r"(?:\d ?(?:년|개월|달|주일?|일|시간|분)|[한두석넉] ?달)(?: ?간| ?동안)?"
    r"(?: ?(?:이내|이상|이하|미만|정도))?(?:이다|입니다)\.$"
)
_KOREAN_FROM_TO = re.compile(r"\d ?[년월일]부터 [^,]*\d ?[년월일]까지(?:이다|입니다)\.$")
_KOREAN_COUNT = re.compile(
    r"(?<![제\d,.])(?<!외 )(?:[2-9]|\d[\d,.]*\d|\d[\d,.]* ?[천만억]|두|세|네|다섯|여섯|일곱|여덟|아홉|열) ?"
    r"(?P<unit>개|명|인|척|톤|건|권|곳|마리|채|회|번)(?:이다|입니다)\.$"
)
_KOREAN_OF_ANOTHER = re.compile(r"(?:이며|이고|하며|하고|으며) |[은는] (?:약 |모두 |총 )?\d[^은는]*$")
_KOREAN_CAUSE = re.compile(r"(?:때문|탓|덕분|영향|(?:에 따른|로 인한) 것)(?:이다|입니다)\.$")
_CAUSE = re.compile(r"(?:원인|이유|까닭|배경|原因|理由|背景)$")
_KOREAN_PERSON = re.compile(
    r"(?:담당자|책임자|대표자?|관리자|신청인|임대인|임차인|[팀사회부과소원총교관국]장|감독|작가|저자|대표이사|교수)$"
)
_KOREAN_UNCLEAR = re.compile(
    r"^(?:그|이|저|또|우리|당신|여기|다음|이것|그것|이곳|이는|이번)(?:\s|은|는|들|의)|것$|때$|경우$"
)


def _ask_korean(sentence: str, _: str) -> str:
    if found := _KOREAN_WHEN.match(sentence):
        if not _KOREAN_UNCLEAR.search(found["subject"]):
            deed = "했습니까" if found["be"] in ("했", "하였") else "되었습니까"
            return f"{found['subject']}{found['mark']} 언제 {found['made']}{deed}?"
    elif (found := _KOREAN_MANY.match(sentence)) and not _KOREAN_UNCLEAR.search(found["subject"]):
        asked = f"{_with_object_mark(found['noun'])} 몇 {found['unit']} {found['verb']}했습니까?"
        return f"{found['when'] or ''}{found['subject']}{found['mark']} {asked}"
    elif (found := _KOREAN_AMOUNT.match(sentence)) and not _KOREAN_UNCLEAR.search(found["subject"]):
        asked = "얼마" if found["unit"] in _KOREAN_MONEY else f"몇 {found['unit']}"
        subject = f"{found['when'] or ''}{found['subject']}{found['mark']} {found['each'] or ''}"
        return f"{subject}{asked}입니까?"
    elif (found := _KOREAN_WHAT.match(sentence)) and not _KOREAN_UNCLEAR.search(found["subject"]):
        asked = _korean_asked(found["subject"], sentence)
        return asked and f"{found['subject']}{found['mark']} {asked}?"
    return ""


def _korean_asked(subject: str, sentence: str) -> str:
    """Return the words that ask for what a sentence says of its subject; none where no words fit both.

    >>> _korean_asked("준공 예정일", "준공 예정일은 2026년 5월 10일입니다.")
    '언제입니까'
    >>> _korean_asked("공사 기간", "공사 기간은 착공 후 90일입니다.")
    '얼마나 됩니까'
    """
    if _KOREAN_SUM.search(sentence):
        return "얼마입니까"
    if _KOREAN_FROM_TO.search(sentence):
        return "언제부터 언제까지입니까"
    on_day = subject.endswith(("일", "날")) and _KOREAN_DAY_OF_MONTH.search(sentence)
    if on_day or _KOREAN_DAY.search(sentence):
        return "언제입니까"
    if _KOREAN_CAUSE.search(sentence) and not _CAUSE.search(subject):
        return "무엇 때문입니까"
    is_person = _KOREAN_PERSON.search(subject) is not None
    span, counted = _KOREAN_SPAN.search(sentence), _KOREAN_COUNT.search(sentence)
    is_of_another = _KOREAN_OF_ANOTHER.search(sentence, sentence.index(subject) + len(subject) + 2)
    if (span and is_person) or ((span or counted) and is_of_another):
        return ""
    if span:
        return "얼마나 됩니까"
    if counted:
        return f"몇 {counted['unit']}입니까"
    return "누구입니까" if is_person else "무엇입니까"


def _with_object_mark(noun: str) -> str:
    """Return a Korean noun with the mark of an object: of two by its last sound.

    >>> _with_object_mark("컨테이너"), _with_object_mark("직원")
    ('컨테이너를', '직원을')
    """
    return noun + ("을" if (ord(noun[-1]) - ord("가")) % 28 else "를")


def _as_topic(noun: str) -> str:
    """Return a Korean noun with the mark of a topic, by its last sound.

    >>> _as_topic("증감률"), _as_topic("단가")
    ('증감률은', '단가는')
    """
    return noun + ("은" if (ord(noun[-1]) - ord("가")) % 28 else "는")


_JAPANESE_DEED = "設立|建設|完成|開通|開業|創設|創立|発売|発表|建立|着工|導入|制定|開館|開校|竣工|公開"
_JAPANESE_WHEN = re.compile(
    rf"^(?P<subject>[^、,()（）]{{2,25}}?)は、?[^。]*?\d{{4}}年[^。、]*?に(?P<made>{_JAPANESE_DEED})(?P<be>され|しました|した。)"
)
_JAPANESE_UNIT = "個|人|名|台|隻|トン|件|冊|か所|頭|回|社|校|本"
_JAPANESE_NUMBER = r"(?:約|金)?\d[\d,.，．]*(?:[千万億兆](?:\d[\d,.，．]*)?)*"
_JAPANESE_MANY = re.compile(
    rf"^(?P<when>\d{{4}}年)(?:に|、)(?P<subject>[^、,()（）\d]{{2,20}}?)は{_JAPANESE_NUMBER}(?P<unit>{_JAPANESE_UNIT})の"
    r"(?P<noun>[^、。\d]{1,12})を(?P<verb>[^、。]{1,12}?)(?P<end>ました|した)。$"
)
_JAPANESE_AMOUNT = re.compile(
    rf"^(?P<when>\d{{4}}年(?:度|末)?の)?(?P<subject>[^、,()（）]{{2,25}}?)は、?(?P<each>1日|1か月|年間|月額|年額)?"
    rf"{_JAPANESE_NUMBER}(?P<unit>{_JAPANESE_UNIT}|円|ドル)(?:です|である|でした|だった|で、|とする|とし、)"
)
_JAPANESE_COUNT = r"[\d一二三四五六七八九十]+"
_JAPANESE_ARTICLE = re.compile(
    rf"^第{_JAPANESE_COUNT}条(?:の{_JAPANESE_COUNT})?\s*(?:[（(][^）)]{{1,20}}[）)])?\s*"
)
_JAPANESE_DAY = r"(?:\d{4}|(?:令和|平成)[\d元]+)年\d{1,2}月\d{1,2}日"
_JAPANESE_TERM = re.compile(
    rf"^(?P<subject>[^、,()（）]{{2,25}}?)は、?{_JAPANESE_DAY}から(?:起算して)?、?{_JAPANESE_DAY}まで"
)
_JAPANESE_MONEY = ("円", "ドル")
_JAPANESE_WHAT = re.compile(
    r"^(?P<subject>[^、,()（）]{2,20}?)(?:とは|は)、?[^。]{6,}(?:である|です|のこと)。$"
)
_JAPANESE_DAY_END = re.compile(
    r"(?:(?:\d{4}|(?:令和|平成|昭和)[\d元]{1,2})年度?(?:\d{1,2}月)?(?:\d{1,2}日)?|\d{1,2}月(?:\d{1,2}日)?"
    r"|(?:毎月|翌月|当月|今月|来月)の?\d{1,2}日)(?:[（(][月火水木金土日](?:曜日?)?[）)])?"
    r"(?:初め|末|の?[春夏秋冬]|上旬|中旬|下旬|ごろ|頃)?(?:である|です)。$"
)
_JAPANESE_DAY_OF_MONTH = re.compile(r"(?<!\d)\d{1,2}日(?:である|です)。$")
_JAPANESE_SPAN_END = re.compile(
    r"\d(?:年|[かヶカヵ箇]月|週|日|時間|分)[間半]?(?:以内|以上|以下|未満|程度)?(?:である|です)。$"
)
_JAPANESE_FROM_TO = re.compile(r"\d[年月日]から[^。]*\d[年月日]まで(?:である|です)。$")
_JAPANESE_COUNT_END = re.compile(
    r"(?<![第他外\d,.])(?<!ほか)(?:[2-9２-９]|\d[\d,.]*\d|\d[千万億]|[二三四五六七八九十]+)"
    rf"(?P<unit>{_JAPANESE_UNIT})(?:である|です)。$"
)
_JAPANESE_SUM_END = re.compile(r"\d[万億兆]?(?:円|ドル)(?:である|です)。$")
_JAPANESE_OF_ANOTHER = re.compile(r"[、，は]")
_JAPANESE_CAUSE_END = re.compile(
    r"(?:ため|せい|おかげ|影響|が(?:原因|理由)|によるもの|に(?:伴う|起因する)もの)(?:である|です)。$"
)
_JAPANESE_PERSON = re.compile(
    r"(?:担当者|責任者|代表者?|管理者|貸主|借主|[社会部課館校店園院所局]長|理事長|委員長|監督|著者|作者|教授)$"
)
_JAPANESE_UNCLEAR = re.compile(
    r"^(?:これ|それ|あれ|この|その|あの|彼|私|ここ|そこ|また)|(?:こと|もの|とき|場合|の)$"
)


def _ask_japanese(sentence: str, _: str) -> str:
    sentence = _JAPANESE_ARTICLE.sub("", sentence)  # of a contract
    if found := _JAPANESE_WHEN.match(sentence):
        if not _JAPANESE_UNCLEAR.search(found["subject"]):
            deed = "されましたか" if found["be"] == "され" else "しましたか"
            return f"{found['subject']}はいつ{found['made']}{deed}。"
    elif (found := _JAPANESE_MANY.match(sentence)) and not _JAPANESE_UNCLEAR.search(found["subject"]):
        asked = f"{found['verb']}{'ましたか' if found['end'] == 'ました' else 'しましたか'}。"
        return f"{found['subject']}は{found['when']}に{found['noun']}を何{found['unit']}{asked}"
    elif (found := _JAPANESE_TERM.match(sentence)) and not _JAPANESE_UNCLEAR.search(found["subject"]):
        return f"{found['subject']}はいつからいつまでですか。"
    elif (found := _JAPANESE_AMOUNT.match(sentence)) and not _JAPANESE_UNCLEAR.search(found["subject"]):
        asked = "いくら" if found["unit"] in _JAPANESE_MONEY else f"何{found['unit']}"
        return f"{found['when'] or ''}{found['subject']}は{found['each'] or ''}{asked}ですか。"
    elif (found := _JAPANESE_WHAT.match(sentence)) and not _JAPANESE_UNCLEAR.search(found["subject"]):
        return _japanese_asked(found["subject"], sentence)
    return ""


def _japanese_asked(subject: str, sentence: str) -> str:
    """Return the question that asks for what a sentence says of its subject.

    >>> _japanese_asked("完成予定日", "完成予定日は2026年5月10日です。")
    '完成予定日はいつですか。'
    """
    if _JAPANESE_CAUSE_END.search(sentence) and not _CAUSE.search(subject):
        return f"{subject}の理由は何ですか。"
    asked = _japanese_asked_word(subject, sentence)
    defined = asked == "何" and "の" not in subject  # "XのY" is no term that a sentence defines
    return f"{subject}{'とは' if defined else 'は'}{asked}ですか。" if asked else ""


def _japanese_asked_word(subject: str, sentence: str) -> str:
    """Return the word that asks for what a sentence says of its subject; none where no word fits both.

    >>> _japanese_asked_word("契約期間", "契約期間は令和7年4月1日から2年です。")
    'どのくらい'
    """
    if _JAPANESE_SUM_END.search(sentence):
        return "いくら"
    if _JAPANESE_FROM_TO.search(sentence):
        return "いつからいつまで"
    on_day = subject.endswith("日") and _JAPANESE_DAY_OF_MONTH.search(sentence)
    if on_day or _JAPANESE_DAY_END.search(sentence):
        return "いつ"
    is_person = _JAPANESE_PERSON.search(subject) is not None
    span, counted = _JAPANESE_SPAN_END.search(sentence), _JAPANESE_COUNT_END.search(sentence)
    is_of_another = _JAPANESE_OF_ANOTHER.search(sentence, sentence.index(subject) + len(subject) + 2)
    if (span and is_person) or ((span or counted) and is_of_another):
        return ""
    if span:
        return "どのくらい"
    if counted:
        return f"何{counted['unit']}"
    return "誰" if is_person else "何"


_ASKED: dict[str, Callable[[str, str], str]] = {"en": _ask_english, "ko": _ask_korean, "ja": _ask_japanese}
_CELL_WITH_WORDS = re.compile(r"[^\W\d_]{3,}|[가-힣一-鿿ァ-ヺ]{2,}")
_VALUE = re.compile(r"^[$€£¥₩(]?\s?\d[\d,.]*\s?(?:%|원|円)?\)?$")
_WHOLE = re.compile(r"^\d{1,3}(?:,\d{3})*$|^\d+$")
_IN_BRACKETS = re.compile(r"\s*[(（][^()（）]*[)）]\s*$")
LONGEST_NAME = 60  # characters of a row's name

# English: a measure was, a count of things is asked for by "how many". Other names give no question.
_SEASON = "Spring|Summer|Autumn|Fall|Winter"
_PERIOD = re.compile(
    rf"(?:(?:Q[1-4]|H[12]|FY|{_SEASON}|{_MONTH})[ -]?)?{_YEAR}|Q[1-4]|{_SEASON}|{_MONTH}"
    rf"|(?:first|second|third|fourth) quarter(?: of {_YEAR})?"
    rf"|(?P<ended>\w+ (?:months|weeks|years?|quarter) ended {_DATE})"
    rf"|(?P<day>(?:\d{{1,2}}\s+(?:{_MONTH})|(?:{_MONTH})\s+\d{{1,2}},)\s+{_YEAR})",
    re.I,
)
_MEASURE = re.compile(
    r"(?:[A-Za-z]+ ){0,3}"
    r"(?:revenues?|sales|incomes?|earnings|profits?|loss(?:es)?|margins?|expenses?|costs?|prices?|rates?|ratios?"
    r"|fees?|rents?|salar(?:y|ies)|wages|budgets?|balances?|debts?|assets|liabilities|turnover|spending|population"
    r"|headcount|total|average|share|weight|height|length|width|depth|area|distance|capacity|duration|speed"
    r"|temperature|rainfall|scores?|deposits?|tax(?:es)?|dividends|proceeds|inventories|receivables|borrowings)",
    re.I,
)
_OF_ANOTHER = re.compile(r" (?:per|of|for|from|before|after|on|in) ")
_DEEDS = (
    "sold|served|built|handled|shipped|delivered|produced|hired|opened|closed|treated|issued|repurchased|employed"
    "|trained|enrolled|admitted|sent|lost|won|born|bought|planted|repaired|rented|carried|printed|registered"
    "|completed|signed|filed|resolved|granted|downloaded|planned|cancelled|canceled|visited|examined|inspected"
)
_THINGS = re.compile(
    r"(?:[A-Za-z]+ )?(?:people|employees|customers|users|visitors|passengers|patients|students|pupils"
    r"|teachers|members|subscribers|guests|participants|volunteers|applicants|residents|households|nurses|doctors"
    r"|workers|containers|ships|vessels|vehicles|cars|trucks|buses|trains|bicycles|flights|trips|stores|shops"
    r"|restaurants|schools|hospitals|warehouses|branches|offices|houses|homes|rooms|beds|orders|meals|tickets|visits|books"
    r"|trees|invoices|contracts|projects|complaints|accidents|incidents|cases|births|deaths|downloads|events)",
    re.I,
)
_NOT_THINGS = re.compile(
    r"(?:[A-Za-z]+ )?(?:services|products|goods|securities|investments|bonds|loans|funds|payments|payables"
    r"|benefits|others|operations|activities|americas|states|netherlands|philippines|emirates)",
    re.I,
)
_COUNT_UNIT = re.compile(r"\b(?:units|pieces|pcs|number|count)\b", re.I)
_OTHER_UNIT = re.compile(
    r"[$€£¥₩%]|\b(?:dollars?|euros?|pounds?|yen|won|USD|EUR|GBP|CHF|JPY|KRW|per ?cent)\b", re.I
)
_COUNTED = re.compile(
    rf"(?P<noun>(?:[A-Za-z]+ )?[A-Za-z]{{2,}}[^su\W]s|people)(?: (?P<done>{_DEEDS}))?", re.I
)


@dataclass(frozen=True)
class _Cell:
    """Number of a table by the names of its row and column, and the words that may state its unit."""

    row: str
    column: str
    value: str
    unit: str
    text: str


def _of_cell_english(cell: _Cell) -> str:
    row, column = cell.row, cell.column
    when, what = (column, row) if _PERIOD.fullmatch(column) else (row, column)
    if period := _PERIOD.fullmatch(when):
        return _in_period(what, period, cell)
    if _PERIOD.fullmatch(what) or _COUNTED.fullmatch(row) or not _MEASURE.fullmatch(column):
        return ""
    names = " ".join(map(_small, column.split(" ")))
    return f"What {_be(column, 'are', 'is')} the {names} of {_in_sentence(row, cell.text)}?"


def _in_period(what: str, period: re.Match[str], cell: _Cell) -> str:
    when = period[0]
    if period["day"]:
        when = f"on {when}"
    elif period["ended"] or "quarter" in when.lower():
        when = f"in the {when[0].lower()}{when[1:]}"
    else:
        when = f"in {when}"
    if _MEASURE.fullmatch(what):
        return f"What {_be(what, 'were', 'was')} {_small(what)} {when}?"
    counted = _COUNTED.fullmatch(what)
    if counted is None or not _WHOLE.match(cell.value) or not _is_count(counted, cell.unit):
        return ""
    noun = " ".join(map(_small, counted["noun"].split(" "))).removeprefix("total ")
    return f"How many {noun} were {(counted['done'] or 'there').lower()} {when}?"


def _is_count(counted: re.Match[str], unit: str) -> bool:
    """Tell if a number counts what its name says: by a deed, the thing, or a unit, and in no currency."""
    noun = counted["noun"]
    if _OTHER_UNIT.search(unit) or _MEASURE.fullmatch(noun) or _NOT_THINGS.fullmatch(noun):
        return False
    return bool(counted["done"] or _THINGS.fullmatch(noun) or _COUNT_UNIT.search(unit))


def _small(name: str) -> str:
    """Return a name without the capital of a beginning; an acronym keeps its capitals.

    >>> _small("Net sales"), _small("EBITDA margin"), _small("US sales")
    ('net sales', 'EBITDA margin', 'US sales')
    """
    return f"{name[0].lower()}{name[1:]}" if name[1:2].islower() else name


def _be(measure: str, many: str, one: str) -> str:
    """Return the form of "be" for a measure, by its head.

    >>> _be("Net revenues", "were", "was"), _be("Cost of sales", "were", "was"), _be("Loss", "were", "was")
    ('were', 'was', 'was')
    """
    head = _OF_ANOTHER.split(measure.lower())[0]
    return many if head.endswith("s") and not head.endswith("ss") else one


# Korean and Japanese: the name of a measure tells how it is asked for; a period stands before it.
_KOREAN_PERIOD = re.compile(
    rf"{_YEAR}년도?(?: ?(?:[1-4]분기|[상하]반기|\d{{1,2}}월|봄|여름|가을|겨울))?"
    r"|[1-4]분기|[상하]반기|\d{1,2}월"
)
_KOREAN_FEES = (
    r"(?:인건|재료|관리|운영|광고|선전|연구|개발|교육|공사|유지|교통|통신|식|진료|의료|치료|수리|제작|사업|생활"
    r"|주거|소모품|여|출장|홍보|물류|운송|운반|배송|건설|건축|인쇄|회의|접대|복리후생|감가상각|임차|보수|활동|용역"
    r"|설치|전기|수도|난방|연료|유류|행사|급식|양육|보육|간병|포장|판매|복구|시설|장비|설비|설계|학|회|경상)비"
    r"|(?:임대|임차|수수|보험|사용|관람|입장|이용|통행|전기|수도|통신|원고|강사|위약|대여|연체|수강|주차|구독|시청"
    r"|진찰|가맹|배달|난방|점용|관리|감정|자문|중개|대관|숙박|급)료"
)
_KOREAN_COUNTS = (
    r"(?:건|횟|점|개|인원|인구|층|사람|환자|직원|학생|이용자|이용객|방문자|방문객|관람객|승객|고객|회원|가구|세대"
    r"|참가자|참석자|가입자|사용자|구독자|응답자|신청자|종사자|근로자|종업원|출생아|사망자|차량|병상|객실|좌석|점포"
    r"|매장|학급|교원|선박|컨테이너|판매|조회|주문|사고|기업|업체|시설|병원| )수"
)
_KOREAN_MEASURE = re.compile(
    rf"[가-힣A-Za-z ]{{0,20}}(?:{_KOREAN_FEES}|{_KOREAN_COUNTS}"
    r"|[가-힣][액율률량금]|값|비용|경비|요율|가격|단가|매출|이익|손실|예산|인구|면적|길이|높이|무게|거리|인원"
    r"|합계|평균|수익|자산|부채|월세|속도|온도|기온)"
)
_KOREAN_NO_MEASURE = re.compile(
    r"(?:^| )(?:조금|지금|방금|입금|출금|송금|수금|저금|대량|소량|자율|선율|수액|원액|타액)$"
    r"|(?:혈액|용액|법률|규율|조율|차량|역량|교량|불량|식량|개량|측량|황금|소금)$"
)
_JAPANESE_PERIOD = re.compile(
    rf"{_YEAR}年度?の?(?:第?[1-4一二三四]四半期|[上下]期|[上下]半期|\d{{1,2}}月|春|夏|秋|冬)?|第?[1-4一二三四]四半期|[上下]期|\d{{1,2}}月"
)
_JAPANESE_SUM = re.compile(
    r"[一-鿿ァ-ヺー々]{0,12}(?:額|費|料|金|価格|単価|売上高?|利益|損失|予算|家賃|収益|収入|資産|負債)"
)
_JAPANESE_MEASURE = re.compile(
    r"[一-鿿ァ-ヺー々]{0,12}(?:率|数|量|人口|面積|長さ|高さ|重さ|距離|合計|平均|速度|気温|温度)"
)


_JAPANESE_NO_MEASURE = re.compile(
    r"(?:資料|史料|材料|原料|塗料|染料|燃料|飲料|肥料|飼料|食料|衣料|無料|有料|消費|自費|私費|入金|送金|合金|半額"
    r"|引率|軽率|複数|多数|少数|大量|少量|技量|計量|測量)\Z"
)


def _of_cell_korean(cell: _Cell) -> str:
    row, column = cell.row, cell.column
    when, what = (column, row) if _KOREAN_PERIOD.fullmatch(column) else (row, column)
    if not _is_korean_measure(what) or _is_korean_measure(when):
        return ""
    joined = f"{when} " if _KOREAN_PERIOD.fullmatch(when) else f"{when}의 "
    return f"{joined}{_as_topic(what)} 얼마입니까?"


def _is_korean_measure(name: str) -> bool:
    """Tell if a name is that of a measure, by its last word.

    >>> _is_korean_measure("환자 수"), _is_korean_measure("교수"), _is_korean_measure("자료")
    (True, False, False)
    """
    return bool(_KOREAN_MEASURE.fullmatch(name)) and not _KOREAN_NO_MEASURE.search(name)


def _of_cell_japanese(cell: _Cell) -> str:
    row, column = cell.row, cell.column
    when, what = (column, row) if _JAPANESE_PERIOD.fullmatch(column) else (row, column)
    is_sum = _JAPANESE_SUM.fullmatch(what) is not None
    is_measure = is_sum or _JAPANESE_MEASURE.fullmatch(what) is not None
    if not is_measure or _JAPANESE_NO_MEASURE.search(what) or _JAPANESE_PERIOD.fullmatch(what):
        return ""
    return f"{when}の{what}は{'いくら' if is_sum else 'どのくらい'}ですか。"


_BARE = {
    "en": re.compile(
        rf"What (?:is|was|are|were) (?:the )?(?:(?P<general>(?:{_GENERAL['en']})s?)|(?:{_PERIOD.pattern}))\?",
        re.I,
    ),
    "ko": re.compile(rf"(?:(?P<general>{_GENERAL['ko']})|(?:{_KOREAN_PERIOD.pattern}))[은는이가] "),
    "ja": re.compile(rf"(?:(?P<general>{_GENERAL['ja']})|(?:{_JAPANESE_PERIOD.pattern}))(?:とは|は)"),
}


_OF_CELL: dict[str, Callable[[_Cell], str]] = {
    "en": _of_cell_english,
    "ko": _of_cell_korean,
    "ja": _of_cell_japanese,
}


def _of_table(table: TableBlock, text: str) -> Iterator[NaturalQuestion]:
    """Yield a question for the first number of each row that a person would ask for by its names."""
    ask = _OF_CELL.get(language(text), _of_cell_english)
    caption = whole_caption(text, table)
    for row in table.rows:
        name = _IN_BRACKETS.sub("", row.cells[0].rstrip(" :")) if row.cells else ""
        if not (_CELL_WITH_WORDS.search(name) or _is_period(name)) or len(name) > LONGEST_NAME:
            continue
        for at, value in enumerate(row.cells[1:], 1):
            head = table.header[at] if at < len(table.header) else ""
            unit = "\n".join((caption, table.header[0], head, row.cells[0]))
            cell = _Cell(name, _IN_BRACKETS.sub("", head), value, unit, text)
            if _VALUE.match(value) and cell.column and (question := ask(cell)):
                yield NaturalQuestion(question, row.start, row.end)
                break


def _is_period(name: str) -> bool:
    return any(known.fullmatch(name) for known in (_PERIOD, _KOREAN_PERIOD, _JAPANESE_PERIOD))
