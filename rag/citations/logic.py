# ruff: noqa: E501
"""Logic words: quantifiers, modality, conditions and roles that a statement must share with its source.

Patterns are data, one line per class. A class that only one of both has is a difference; in languages
without patterns for a class nothing is verified on its account.
"""

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from rag.text.tokenize import tokens_of

_CLASSES = r"""
all    : \b(?:(?<!almost )(?<!nearly )all|(?:every|each)(?=\s+\w)(?!\s(?:calendar\s)?(?:year|quarter|month|week|day|hour)\b)|always|entire(?:ly)?|any|whole|alle[nrs]?|jede[rnms]?|immer|tous|toutes|chaque|toujours|todos|todas|cada|siempre)\b|모든|모두|전부|항상|누구나|すべて|全て|全員|どれも|いずれも|常に|必ず|全部|所有|一律|总是|都是
most   : \b(?:most(?! \w+(?:ed|ly)\b)|almost all|nearly all|majority|bulk|mostly|usually|typically|generally|meisten|mehrheit|plupart|mayoría)\b|대부분|대다수|주로|대체로|ほとんど|大半|大部分|大多数|主に|通常
only   : \b(?:only|solely|exclusively|nur|lediglich|seulement|uniquement|solo|sólo|solamente|únicamente)\b|오직|뿐|에만|(?<=[가-힣])(?<!지)만(?:이|을|은)?\s|だけ|のみ|しか|唯一|仅|只有
some   : \b(?:some|several|a few|certain|sometimes|einige|manche|certains|quelques|algunos|algunas|unos)\b|(?<!\d)일부|어떤|몇몇|때때로|一部|いくつか|ある(?:種|程度)|時々|有些|部分
"""
_MODES = r"""
possible : (?-i:\b(?:may|MAY)\b|\AMay\b(?!,?\s+\d))|\b(?:might|could|can(?:not)?|possibl[ey]|perhaps|potentially|kann|können|könnte\w*|möglich\w*|peut|peuvent|pourrai\w+|puede[n]?|podría[n]?)\b|수\s?(?:도\s)?(?:있|없)|가능|できる|できない|でき(?:ます|ません|た)|可能|かもしれ|得る|(?:て|で)も?(?:よい|良い|いい|構わない|かまわない)|可以|能够|也许
duty     : \b(?:must|should|shall|ought|need(?:s|ed)? to|have to|has to|had to|requir\w+|mandatory|muss|müssen|soll\w*|doit|doivent|debe[n]?|tiene[n]? que)\b|해야|하여야|되어야|의무|필요|なければ|べき|必要|義務|ねばなら|必须|应该
plan     : \b(?:expect\w*|plan(?:s|ned)? (?:to|on)|planned|planning|intend\w*|forecast\w*|anticipat\w*|aim(?:s|ed)?|will|going to|wird|werden|erwart\w+|prévo\w+|esper\w+|planea\w*)\b|예상|예정|계획|전망|것이다|予定|見込|予想|計画|見通し|预计|计划|将
doubt    : \b(?:alleg\w+|claim\w*|reportedly|supposedly|presumably|apparently|likely|probabl\w+|believed?|thought to|said to|considered|regarded as|rumou?r\w*|seems?|appears? to)\b|추정|알려졌|것으로 보|라는 설|의혹|여겨[지진졌]|전해[지진졌]|생각된|可能性|とされ|と(?:は)?(?:考え|思わ|見ら|み|言わ|いわ)(?:ら)?れ|らしい|ようだ|推定|推測|据说|似乎
"""
_CONDITION = re.compile(
    r"\b(?:if|unless|provided|only when|as long as|in case|except|other than|apart from|without|subject to|wenn|falls|sofern|außer|si|sauf|à moins|siempre que|a menos que|salvo)\b"
    r"|[가-힣](?:으)?면[,\s]|경우[,에\s](?!가)|한해|제외|(?:れば|なら|たら)[、\s]|場合|限り|除[きくい]|如果|除非|只要",
    re.IGNORECASE,
)
_WHEN = re.compile(
    r"\b(?:when(?:ever)?|once(?! (?:an?|per|every|again|more|in)\b))\s(?P<clause>[^,;.:()]+)", re.IGNORECASE
)
_PAST = re.compile(
    r"\b(?:was|were|had|did|became|began|broke|brought|built|came|chose|fell|felt|fought|found|gave|got|grew|held|kept|knew|left"
    r"|lost|made|met|paid|ran|rose|said|sat|saw|sent|sold|spoke|stood|thought|told|took|turned|went|won|wrote)\b"
    r"|(?<!\bis)(?<!\bare)(?<!\bbe)(?<!\bbeen)(?<!\bhas)(?<!\bhave)(?<!\bthe)(?<!\ban)(?<!\ba)\s[a-z]{2,}ed\b",
    re.IGNORECASE,
)


BOUNDED = re.compile(
    r"\b(?:(?:not|never) exceed(?:ing|s)?|no (?:more|longer|later|higher|greater) than)\b", re.IGNORECASE
)
"""Bounds that deny nothing: "not exceed" is "at most"."""


def _conditions(text: str) -> int:
    """Return how many conditions a text states; "when it was built" is a time, "when it is built" a condition."""
    clauses = (match["clause"] for match in _WHEN.finditer(text))
    return _times(_CONDITION, text) + sum(not _PAST.search(clause) for clause in clauses)


def _patterns(lines: str) -> dict[str, re.Pattern[str]]:
    pairs = (line.split(":", 1) for line in lines.strip().splitlines())
    return {name.strip(): re.compile(pattern.strip(), re.IGNORECASE) for name, pattern in pairs}


QUANTIFIERS, MODES = _patterns(_CLASSES), _patterns(_MODES)
_ALSO = re.compile(r"\b(?:also|too|as well|auch|aussi|también)\b|[가-힣]도\s|也", re.IGNORECASE)


_CONTRASTS = tuple(
    _patterns(lines)
    for lines in (
        r"""
before : \b(?:before|prior to|preced(?:es?|ed|ing))\b|이전|以前|之前
after  : \b(?:after|following|subsequent to)\b|이후|以降|以後|之后
until  : \b(?:until|till)\b
since  : \bsince\b
""",
        r"""
with    : \b(?:includ(?:es?|ed|ing)|such as|for example)\b|포함|含[むめみま]|包括
except  : \b(?:except(?:ing)?|exclud(?:es?|ed|ing)|other than|apart from|exception of|exempt\w*)\b|제외|除[くきいか]|除外|除了
without : \bwithout\b|없이|無しに|なしに
""",
        r"""
hours   : (?<![\d-] )(?<!\d-)\b(?:hours?)\b
minutes : (?<![\d-] )(?<!\d-)\bminutes?\b
days    : (?<![\d-] )(?<!\d-)\bdays?\b
weeks   : (?<![\d-] )(?<!\d-)\bweeks?\b
months  : (?<![\d-] )(?<!\d-)\bmonths?\b
years   : (?<![\d-] )(?<!\d-)\byears?\b
""",
        r"""
above : \b(?:above|exceed(?:s|ed|ing)?)\b|초과|超(?:え|過)|超过
below : \bbelow\b|미만|未満|低于
""",
        r"""
minimum : \bminimum\b|최소|最小|最低
maximum : \bmaximum\b|최대|最大|最高
""",
    )
)
"""Classes of words that exclude one another: what is done before something is not said to be done after it."""


_DAY = re.compile(
    r"(?:(?P<next>翌月?|来月|다음\s?달|익월|내달)|(?P<this>当月|今月|이번\s?달|이달|당월)|(?P<last>前月|先月|지난\s?달|전월))?"
    r"(?:の|\s)?(?P<day>\d{1,2})\s?[日일](?![間간])"
    r"|\b(?P<nth>\d{1,2})(?:st|nd|rd|th)\b(?:(?: day)? of the"
    r" (?:(?P<following>following|next)|(?P<same>same|current)|(?P<previous>previous|preceding|last)) month)?",
    re.IGNORECASE,
)
"""Day with the month that it counts from, if that is told: 翌月3日, 다음 달 3일, "3rd of the following month"."""


def _days(text: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for match in _DAY.finditer(text):
        after, here = match["next"] or match["following"], match["this"] or match["same"]
        before = match["last"] or match["previous"]
        of = "next" if after else "this" if here else "last" if before else ""
        found.setdefault(match["day"] or match["nth"], set()).add(of)
    return found


def of_other_month(claim: str, window: str) -> bool:
    """Return True where a statement has a day of the source without the month that it counts from, or with another.

    >>> [of_other_month(said, "翌月3日に払う。") for said in ("翌月3日に払う。", "5月3日に払う。", "3日に払う。")]
    [False, True, True]
    """
    told = _days(window)
    return any(day in told and not months <= told[day] for day, months in _days(claim).items())


_SPAN = r"\d+\s?(?:년|개월|달|주일|주|일|시간|분|年|か月|ヶ月|カ月|月|週|日|時|分)[간間]?"
_SIDES = re.compile(
    rf"(?P<span>{_SPAN})\s?の?(?:(?P<after>이후|후|뒤|以後|以降|後)|(?P<before>이전|전|以前|前))(?!(?!까지|에|부터|의)[가-힣一-鿿])"
    r"|(?P<word>[가-힣A-Za-z\d:]{1,12}?|[一-鿿々ァ-ヺーA-Za-z\d:]{1,12})(?:(?P<from>부터|から)|(?P<to>까지|まで))"
)
"""Span of time, point in time or place with the side of it that a Korean or Japanese particle or noun tells."""


def _sides(text: str) -> dict[str, set[bool]]:
    """Return what begins or is after (True), and what ends or is before (False): {"9時": {True}}."""
    found: dict[str, set[bool]] = {}
    for match in _SIDES.finditer(text):
        what = (match["span"] or match["word"]).replace(" ", "")
        found.setdefault(what, set()).add(bool(match["after"] or match["from"]))
    return found


def is_of_other_side(claim: str, window: str) -> bool:
    """Return True where a Korean or Japanese statement puts after something what its source puts before it.

    >>> [is_of_other_side(said, "休憩は正午から1時までとする。") for said in ("休憩は正午まで。", "休憩は正午から。")]
    [True, False]
    >>> [is_of_other_side(said, "7일 전까지 신고한다.") for said in ("7일 후까지 신고한다.", "신고는 7일 전까지 한다.")]
    [True, False]
    """
    told = _sides(window)
    return any(what in told and not sides <= told[what] for what, sides in _sides(claim).items())


def _have(classes: dict[str, re.Pattern[str]], text: str) -> set[str]:
    return {name for name, pattern in classes.items() if _times(pattern, text)}


def _count(classes: dict[str, re.Pattern[str]], text: str) -> Counter[str]:
    return Counter({name: _times(pattern, text) for name, pattern in classes.items()})


@lru_cache(maxsize=8_192)
def _times(pattern: re.Pattern[str], text: str) -> int:
    """Return how often a pattern is in a text, kept since a statement is compared with many sentences."""
    return len(pattern.findall(text))


def exchanges(claim: str, anchor: str, window: str) -> bool:
    """Return True where a statement has a word of a class in the place of one of another class.

    `window` is all evidence: what stands in a sentence beside the anchor is not exchanged.

    >>> told = "Reports are filed before the meeting."
    >>> [exchanges(said, told, told) for said in ("Reports are filed after the meeting.", "Reports are filed.")]
    [True, False]
    """
    return any(_exchanged(classes, claim, anchor, window) for classes in (*_CONTRASTS, _AMOUNTS, _FORCES))


def _exchanged(classes: dict[str, re.Pattern[str]], claim: str, anchor: str, window: str) -> bool:
    ours = _count(classes, claim)
    return bool(ours - _count(classes, window)) and bool(_count(classes, anchor) - ours)


_AMOUNTS = {name: QUANTIFIERS[name] for name in ("all", "most", "some")}
_FORCES = {name: MODES[name] for name in ("possible", "duty")}


def other_quantifier(claim: str, evidence: str, window: str = "") -> bool:
    """Return True where a statement says more than its source: "all" for "most".

    `window` is all evidence where `evidence` is the nearest sentence of it.

    >>> other_quantifier("All teachers teach.", "Most teachers teach."), other_quantifier("Most do.", "A majority do.")
    (True, False)
    """
    near = part_about(claim, evidence)
    ours, theirs = _have(QUANTIFIERS, claim), _have(QUANTIFIERS, near)
    added = _count(QUANTIFIERS, claim) - _count(QUANTIFIERS, window or evidence)
    if added.keys() & {"all", "most", "only"}:
        return True
    if "only" in theirs - ours and _ALSO.search(claim):
        return True
    return bool(theirs & {"most", "some"} and not ours and not _details(claim, near))


_PARTS = re.compile(
    r"(?<=[a-z][.?!])(?=[A-Z][a-z])|;|,\s(?:and|but|while|whereas|which|who|so)\b|(?<=[가-힣](?:고|며|나|만))[,\s]\s?|[がし]、|；"
)


def part_about(claim: str, evidence: str, mostly: float = 0.0) -> str:
    """Return the parts of a sentence that share words with a statement, with all between; else all.

    `mostly` is the least share of the most words that a part has.

    >>> part_about("Entry is free.", "Dogs may come in, but entry is free if you are a member.")
    ' entry is free if you are a member.'
    """
    ends = [0, *(m.end() for m in _PARTS.finditer(evidence)), len(evidence)]
    ours = set(tokens_of(claim))
    shared = {at: len(ours.intersection(tokens_of(evidence[slice(*at)]))) for at in pairwise(ends)}
    least = max(2, mostly * max(shared.values()))
    told = [at for at, words in shared.items() if words >= least]
    return evidence[told[0][0] : told[-1][1]] if told else evidence


def _details(claim: str, evidence: str) -> bool:
    """Return True for a statement so much shorter than its source that the word may be of another part."""
    return len(claim) < 0.5 * len(evidence)


_UNSURE = ("possible", "doubt")
_DOUBTFUL = {mode: MODES[mode] for mode in _UNSURE}


def other_mode(claim: str, evidence: str) -> bool:
    """Return True where a possibility, a plan or hearsay becomes a fact, or a possibility a duty, or the reverse.

    An order ("Call us") may become a duty, and a fact a possibility, which claims less.

    >>> other_mode("It is extended to 36 months.", "It can be extended to 36 months.")
    True
    """
    near = part_about(claim, evidence)
    ours, theirs = _count(MODES, claim), _count(MODES, near)
    exchanged = all((ours[mode] > 0) != (theirs[mode] > 0) for mode in ("possible", "duty"))
    if exchanged and +ours and +theirs:
        return True
    if ours["plan"] and not theirs["plan"] and theirs["possible"] and not ours["possible"]:
        return True
    lost = theirs - ours
    return any(lost[mode] for mode in (*_UNSURE, *(() if +ours else ("plan",)))) and not _details(claim, near)


def is_hedged(claim: str) -> bool:
    """Return True where a statement is of a possibility, a plan, hearsay or a condition.

    >>> is_hedged("Sales may reach 5."), is_hedged("Sales reached 5.")
    (True, False)
    """
    return bool(_have(MODES, claim) or _conditions(claim))


def drops_condition(claim: str, evidence: str) -> bool:
    """Return True where the source states a condition and the statement none.

    >>> drops_condition("Entry is free on all days.", "Entry is free on all days if you are a member.")
    True
    >>> drops_condition("Sign the form.", "When applying by mail, sign the form.")
    True
    >>> [drops_condition("It closes.", told) for told in ("When the wind rises, it closes.", "When he came, it closes.")]
    [True, False]
    """
    near = part_about(claim, evidence)
    return _conditions(near) > _conditions(claim)


def qualified(before: str, after: str) -> bool:
    """Return True where the rest of a sentence makes the quoted part conditional or uncertain.

    `before` and `after` are what stands before and after the quoted words in their sentence.

    >>> qualified("If you are a member, ", "."), qualified("Allegedly ", "."), qualified("On 4 May ", " and left.")
    (True, True, False)
    """
    ahead = _PARTS.split(before)[-1]
    behind = _PARTS.split(after)[0]
    return any(_conditions(text) or _have(_DOUBTFUL, text) for text in (ahead, behind))


_UP = re.compile(
    r"\b(?:increas|rise|rising|risen|rose|grew|grow|gain|higher|climb|improv|strengthen|stronger)|\b(?:went|goes|go|is|are|was|were) up\b"
    r"|증가|늘[어었고]|상승|높아|커졌|増[加え]|上昇|高ま|高くな|伸び|上升|增加|增长",
    re.IGNORECASE,
)
_DOWN = re.compile(
    r"\b(?:decreas|declin|fall|fell|drop|shr[aiu]nk|lower|fewer|weaken|weaker)|\b(?:went|goes|go|is|are|was|were) down\b"
    r"|감소|줄[어었고]|하락|낮아|작아졌|減[少っり]|下落|低下|低くな|下降|减少",
    re.IGNORECASE,
)


def turns(claim: str, evidence: str) -> bool:
    """Return True where the first rise or fall of the source is the other way.

    >>> turns("Costs went up.", "Costs decreased due to higher volume.")
    True
    """
    ours, theirs = _direction(claim), _direction(evidence)
    return bool(ours and theirs and ours != theirs)


@lru_cache(maxsize=8_192)
def _direction(text: str) -> int:
    up, down = _UP.search(text), _DOWN.search(text)
    if up and down:
        return 1 if up.start() < down.start() else -1
    return 1 if up else -1 if down else 0


_RAISING = re.compile(
    r"\b(?:activat|induc|promot|enhanc|stimulat|encourag|increas|rise|rising|risen|rose\b|grew|grow|gain|climb|surg(?:e|ing)|jump|doubl|tripl|boost|elevat|expand|improv|strengthen|stronger|better\b)"
    r"|\b(?:more|higher|greater|larger)\b(?! than [\d$€£¥])|(?<!\bma[dk]e )(?<!\bmaking )\bup (?:by|from|[\d$€£¥₩])"
    r"|증가|늘[어었고]|상승|높|増[加えや]|上昇|高[いくまめ]|伸び|增加|增长|上升|提高",
    re.IGNORECASE,
)
_LOWERING = re.compile(
    r"\b(?:inhibit|suppress|block|attenuat|impair|imped|prevent|protect|decreas|declin|diminish|fall|fell\b|drop|shr[aiu]nk|halv|slump|plung|reduc|weaken|weaker|slow|worse|mild)"
    r"|\b(?:less|fewer|lower|smaller)\b(?! than [\d$€£¥])|\bdown (?:by|from|[\d$€£¥₩])"
    r"|감소|줄[어었고]|하락|낮|減[少っら]|下落|低[いくまめ下]|减少|下降|降低",
    re.IGNORECASE,
)


def adds_direction(claim: str, evidence: str) -> bool:
    """Return True where a statement raises or lowers something, and its source does not.

    >>> source = "The trial tested how the drug acts on the risk of fractures."
    >>> adds_direction("The drug increases the risk of fractures.", source)
    True
    >>> adds_direction("Sales rose.", "Sales were up 9%."), adds_direction("more than 9 rooms", "over 9 rooms")
    (False, False)
    """
    return any(_times(way, claim) and not _times(way, evidence) for way in (_RAISING, _LOWERING))


_AGENT = re.compile(r"(?<!driven )\bby (?:the |an? )?(?=[A-Z])")
_PASSIVE = re.compile(
    r"\b(?:was|were|is|are|been|be|being|got)\s(?:\w+\s)?\w+(?:ed|en|wn|ne|ght|ld|de)\b", re.IGNORECASE
)
_SUBJECT = re.compile(r"[\s()`」』\"]*(?:は|が|も|은|는|이|가|도)(?![가-힣]{2})")
_OBJECT = re.compile(r"[\s()`」』\"]*(?:を|に|을|를|에게)")


def swaps_roles(claim: str, evidence: str, names: Sequence[str]) -> bool:
    """Return True where who acts in the statement is acted upon in the source.

    >>> swaps_roles("The Rams defeated the Owls.", "The Rams' defeat by the Owls", ["Rams", "Owls"])
    True
    """
    placed = [name for name in names if name in claim and name in evidence]
    if len(placed) < 2:
        return False
    return _agents_differ(claim, evidence, placed) or _particles_differ(claim, evidence, placed)


def _agents_differ(claim: str, evidence: str, names: Sequence[str]) -> bool:
    agents = {n for m in _AGENT.finditer(evidence) for n in names if evidence.startswith(n, m.end())}
    ours = {n for m in _AGENT.finditer(claim) for n in names if claim.startswith(n, m.end())}
    if ours or _PASSIVE.search(claim):
        return bool(agents and ours and agents.isdisjoint(ours))
    first = min(names, key=claim.index)
    return bool(agents) and first not in agents and not _same_phrase(claim, first, agents)


def _same_phrase(claim: str, first: str, agents: set[str]) -> bool:
    """Return True where an agent follows the first name at once, as in "Ann Roe"."""
    after = claim[claim.index(first) + len(first) :]
    return any(after.startswith(f" {agent}") for agent in agents)


def _particles_differ(claim: str, evidence: str, names: Sequence[str]) -> bool:
    def having(text: str, particle: re.Pattern[str]) -> set[str]:
        return {n for n in names if particle.match(text, text.index(n) + len(n))}

    ours, theirs = having(claim, _SUBJECT), having(evidence, _SUBJECT)
    acted, acted_there = having(claim, _OBJECT), having(evidence, _OBJECT)
    return bool(ours & acted_there and acted & theirs)


_IN_ROLE = re.compile(r"([一-鿿々ァ-ヺーA-Za-z]{2,})(で|を|が|に|へ)(?![\u3041-\u3096])")


def fills_role_anew(claim: str, anchor: str, window: str) -> bool:
    """Return True where a Japanese statement has a new word before the particle of one that it leaves out.

    The words may stand in another order than those of the source.

    >>> told = "30日前までに書面で届け出る。"
    >>> [fills_role_anew(said, told, told) for said in ("口頭で30日前までに届け出る。", "書面で30日前までに届け出る。")]
    [True, False]
    """
    new = {role for word, role in _IN_ROLE.findall(claim) if word not in window}
    return any(role in new and word not in claim for word, role in _IN_ROLE.findall(anchor))
