# ruff: noqa: E501
"""Logic words: quantifiers, modality, conditions and roles that a statement must share with its source.

Patterns are data, one line per class. A class that only one of both has is a difference; in languages
without patterns for a class nothing is verified on its account.
"""

import re
from collections.abc import Sequence

_CLASSES = r"""
all    : \b(?:all|every|each(?=\s+\w)|always|entire(?:ly)?|any|whole|alle[nrs]?|jede[rnms]?|immer|tous|toutes|chaque|toujours|todos|todas|cada|siempre)\b|모든|모두|전부|항상|누구나|すべて|全て|全員|どれも|いずれも|常に|必ず|全部|所有|一律|总是|都是
most   : \b(?:most(?! \w+ed\b)|majority|mostly|usually|typically|generally|meisten|mehrheit|plupart|mayoría)\b|대부분|대다수|주로|대체로|ほとんど|大半|大部分|大多数|主に|通常
only   : \b(?:only|solely|exclusively|nur|lediglich|seulement|uniquement|solo|sólo|solamente|únicamente)\b|오직|뿐|에만|(?<=[가-힣])(?<!지)만(?:이|을|은)?\s|だけ|のみ|しか|唯一|仅|只有
some   : \b(?:some|several|a few|certain|sometimes|einige|manche|certains|quelques|algunos|algunas|unos)\b|일부|어떤|몇몇|때때로|一部|いくつか|ある(?:種|程度)|時々|有些|部分
"""
_MODES = r"""
possible : (?<!in )(?<!of )(?<!by )(?<!since )(?<!until )\bmay\b(?!,?\s+\d)|\b(?:might|could|can|possibl[ey]|perhaps|potentially|kann|können|könnte\w*|möglich\w*|peut|peuvent|pourrai\w+|puede[n]?|podría[n]?)\b|수\s?(?:도\s)?(?:있|없)|가능|できる|できない|でき(?:ます|ません|た)|可能|かもしれ|得る|可以|能够|也许
duty     : \b(?:must|should|shall|ought|need(?:s|ed)? to|have to|has to|had to|requir\w+|mandatory|muss|müssen|soll\w*|doit|doivent|debe[n]?|tiene[n]? que)\b|해야|하여야|되어야|의무|필요|なければ|べき|必要|義務|ねばなら|必须|应该
plan     : \b(?:expect\w*|plan(?:s|ned|ning)?|intend\w*|forecast\w*|anticipat\w*|aim(?:s|ed)?|will|going to|wird|werden|erwart\w+|prévo\w+|esper\w+|planea\w*)\b|예상|예정|계획|전망|것이다|予定|見込|予想|計画|見通し|预计|计划|将
doubt    : \b(?:alleg\w+|claim\w*|reportedly|apparently|likely|probabl\w+|believed?|thought to|rumou?r\w*|seems?|appears? to)\b|추정|알려졌|것으로 보|라는 설|의혹|可能性|とされ|らしい|ようだ|とみられ|推定|据说|似乎
"""
_CONDITION = re.compile(
    r"\b(?:if|unless|provided|only when|as long as|in case|except|without|subject to|wenn|falls|sofern|außer|si|sauf|à moins|siempre que|a menos que|salvo)\b"
    r"|[가-힣](?:으)?면[,\s]|경우|한해|제외|(?:れば|なら|たら)[、\s]|場合|限り|除[きくい]|如果|除非|只要",
    re.IGNORECASE,
)


def _patterns(lines: str) -> dict[str, re.Pattern[str]]:
    pairs = (line.split(":", 1) for line in lines.strip().splitlines())
    return {name.strip(): re.compile(pattern.strip(), re.IGNORECASE) for name, pattern in pairs}


QUANTIFIERS, MODES = _patterns(_CLASSES), _patterns(_MODES)
_ALSO = re.compile(r"\b(?:also|too|as well|auch|aussi|también)\b|[가-힣]도\s|也", re.IGNORECASE)


def _have(classes: dict[str, re.Pattern[str]], text: str) -> set[str]:
    return {name for name, pattern in classes.items() if pattern.search(text)}


def other_quantifier(claim: str, evidence: str) -> bool:
    """Return True where a statement says more than its source: "all" for "most".

    >>> other_quantifier("All teachers teach.", "Most teachers teach."), other_quantifier("Most do.", "A majority do.")
    (True, False)
    """
    ours, theirs = _have(QUANTIFIERS, claim), _have(QUANTIFIERS, evidence)
    if ours & {"all", "most", "only"} - theirs or ("only" in theirs - ours and _ALSO.search(claim)):
        return True
    return bool(theirs & {"most", "some"} and not ours and not _details(claim, evidence))


def _details(claim: str, evidence: str) -> bool:
    """Return True for a statement so much shorter than its source that the quantifier may be of another part."""
    return len(claim) < 0.5 * len(evidence)


def other_mode(claim: str, evidence: str) -> bool:
    """Return True where a possibility, a plan or hearsay becomes a fact, or a possibility a duty, or the reverse.

    An order ("Call us") may become a duty, and a fact a possibility, which claims less.

    >>> other_mode("It is extended to 36 months.", "It can be extended to 36 months.")
    True
    """
    ours, theirs = _have(MODES, claim), _have(MODES, evidence)
    if "possible" in ours ^ theirs and "duty" in ours ^ theirs and ours and theirs:
        return True
    if "plan" in ours - theirs and "possible" in theirs - ours:
        return True
    return not ours and bool(theirs & {"possible", "doubt", "plan"}) and not _details(claim, evidence)


def drops_condition(claim: str, evidence: str) -> bool:
    """Return True where the source states a condition and the statement none.

    >>> drops_condition("Entry is free on all days.", "Entry is free on all days if you are a member.")
    True
    """
    return (
        bool(_CONDITION.search(evidence)) and not _CONDITION.search(claim) and not _details(claim, evidence)
    )


_UP = re.compile(
    r"\b(?:increas|rise|rising|risen|rose|grew|grow|gain|higher|climb|improv|strengthen|stronger)|\b(?:went|goes|go|is|are|was|were) up\b"
    r"|증가|늘[어었고]|상승|높아|커졌|増[加え]|上昇|高ま|高くな|伸び|上升|增加|增长",
    re.IGNORECASE,
)
_DOWN = re.compile(
    r"\b(?:decreas|declin|fall|fell|drop|shr[aiu]nk|lower|fewer|weaken|weaker)|\b(?:went|goes|go|is|are|was|were) down\b"
    r"|감소|줄[어었고]|하락|낮아|작아졌|減[少っ]|下落|低下|低くな|下降|减少",
    re.IGNORECASE,
)


def turns(claim: str, evidence: str) -> bool:
    """Return True where the first rise or fall of the source is the other way.

    >>> turns("Costs went up.", "Costs decreased due to higher volume.")
    True
    """
    ours, theirs = _direction(claim), _direction(evidence)
    return bool(ours and theirs and ours != theirs)


def _direction(text: str) -> int:
    up, down = _UP.search(text), _DOWN.search(text)
    if up and down:
        return 1 if up.start() < down.start() else -1
    return 1 if up else -1 if down else 0


_AGENT = re.compile(r"\bby (?:the |an? )?(?=[A-Z])")
_PASSIVE = re.compile(
    r"\b(?:was|were|is|are|been|be|being|got)\s(?:\w+\s)?\w+(?:ed|en|wn|ne|ght|ld|de)\b", re.IGNORECASE
)
_SUBJECT = re.compile(r"[\s()`」』\"]*(?:は|が|은|는|이|가)(?![가-힣]{2})")
_OBJECT = re.compile(r"[\s()`」』\"]*(?:を|을|를)")


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
