"""Whether a pronoun of an English question stands for something that the question itself names."""

import re

# Someone or something not spoken of before: "an employee", "our tenants".
_INTRODUCED = re.compile(
    r"\b(?:an?|any|every|each|all|some|no|my|our|your|most|many|several|few|two|three)(?: [a-z-]+){1,3}",
    re.IGNORECASE,
)
_ASKED_FOR = re.compile(r"\b(?:which|how many|what)(?: [a-z-]+){1,2}?", re.IGNORECASE)
_SUBJECT = re.compile(
    r"(?:^|\b(?:do|does|did|can|could|should|must|may|will|would|are|were|have|when|if|why|how|before"
    r"|after) )"
    r"[a-z-]{3,}[^su\W]s\b",
    re.IGNORECASE,
)
_SUBJECT_OF_TWO_CLAUSES = re.compile(
    r"\bthe [a-z-]{3,}\b.*\b(?:whether|if|when|while|before|after|because|unless|until|once|since"
    r"|so that)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"\b(?:whether|if|when|while|before|after|because|unless|until|once) (?:\w+ )?$", re.IGNORECASE
)
_MANY = re.compile(
    r"[a-z-]{2,}[^su\W]s\b|\b(?:people|men|women|children|staff|police|team|company|committee)\b",
    re.IGNORECASE,
)
_PERSON = re.compile(
    r"\b(?:someone|somebody|anyone|anybody|everyone|everybody|person|man|woman|child|patient|employee|member"
    r"|[a-z]{3,}(?:er|or|ee|ist|ant|ent|ian))\b",
    re.IGNORECASE,
)
_HE = re.compile(r"(?:he|him|his|she|her|hers)\Z", re.IGNORECASE)
_THEY = re.compile(r"(?:they|them|theirs?)\Z", re.IGNORECASE)
_IT = re.compile(r"its?\Z", re.IGNORECASE)
_POSSESSIVE = re.compile(r"(?:its|theirs?|his|hers?)\Z", re.IGNORECASE)

_AUXILIARY = re.compile(r"(?:was|is|were|are|do|does|did|of|in|on|about|from|for)\b", re.IGNORECASE)
# "any reviews of it", "there are other ones that he": the noun before the pronoun is not what it stands for.
_NOT_IT = re.compile(
    r"\b(?:of|from|surrounding|regarding) $|\bother\b|^any\b|\bthere (?:an?|any|some)\b", re.IGNORECASE
)


def introduced(before: str, pronoun: str) -> bool:
    """Return whether the words before a pronoun bring in what it may stand for.

    >>> introduced("If an employee loses ", "their"), introduced("Did the band change ", "its")
    (True, False)
    """
    if _NOT_IT.search(before):
        return False
    if _IT.match(pronoun):
        found = _INTRODUCED.search(before) or _SUBJECT_OF_TWO_CLAUSES.search(before)
        return bool(found) or _asked_for(before, pronoun)
    named = " ".join(_INTRODUCED.findall(before))
    if _HE.match(pronoun):
        return bool(_PERSON.search(named))
    if not _THEY.match(pronoun):
        return False
    if _INTRODUCED.search(before) and _CLAUSE.search(before):
        return True
    found = _SUBJECT.search(before) or _MANY.search(named) or _PERSON.search(named)
    return bool(found) or _asked_for(before, pronoun)


def _asked_for(before: str, pronoun: str) -> bool:
    """Return whether it is what is asked for that has something: "which suppliers raised their prices?"."""
    asked = _ASKED_FOR.match(before)
    rest = before[asked.end() :] if asked else ""
    return bool(rest.strip() and _POSSESSIVE.match(pronoun) and not _AUXILIARY.match(rest.strip()))
