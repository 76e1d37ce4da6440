"""Greetings, thanks and assent: what asks nothing, and "yes" to an offer. English, Korean, Japanese."""

import re
from typing import Literal

from rag.courtesies import (
    ASKING,
    GOES_ALONG,
    GOES_ALONG_IN_JAPANESE,
    GOES_ALONG_IN_KOREAN,
    PLEASANTRY,
    SAYS,
    SAYS_IN_JAPANESE,
    SAYS_IN_KOREAN,
    TELLS,
)

_Kind = Literal["says", "goes along", "else"]
_LED = re.compile(r"((?:[a-z]+ ){1,2})((?:i|that|this|it)\b[^,.!?]*[.!]*)\Z", re.IGNORECASE)
_LONGEST = 90
"""Characters of a greeting or thanks, at most."""

# What asks for an offer: a request does so always, consent only where something was offered.
_REQUEST = (
    r"(?:please(?: do)?|go ahead|do (?:it|so|that)|go on|continue"
    r"|부탁(?:해요?|합니다|드려요|드립니다|할게요)?|(?:그렇게 )?해\s?(?:줘요?|주세요)|알려\s?(?:줘요?"
    r"|주세요)"
    r"|계속(?:해\s?줘요?|해\s?주세요)?"
    r"|お願い(?:します|いたします)?|そうして(?:ください)?|ぜひ|教えて(?:ください)?|続けて(?:ください)?)"
)
_CONSENT = (
    r"(?:yes|yeah|yep|yup|sure|ok(?:ay)?|of course|absolutely|definitely|sounds good|i (?:would"
    r"|d)(?: (?:like|love) (?:that|it|to))?"
    r"|why not"
    r"|네|예|응|어|그래요?|좋아요?|좋습니다|물론(?:이죠|이지)?|はい|うん|ええ|もちろん(?:です)?|いいですね)"
)
_ASSENT = re.compile(rf"(?:{_CONSENT} ?){{0,4}}(?:{_REQUEST} ?){{0,3}}\Z", re.IGNORECASE)
_ASKED_FOR = re.compile(rf"(?:{_CONSENT} ?){{0,4}}(?:{_REQUEST} ?){{1,3}}\Z", re.IGNORECASE)
_ASKS = re.compile(r"(?:[?？]|(?:까요|나요|ましょうか|ますか|ですか)[.。]?)[\s\"”」』)\]]*\Z")
_MARKER = re.compile(r"\[\d+\]")


def is_small_talk(text: str) -> bool:
    """Return whether a text is a greeting, thanks or assent and asks nothing.

    >>> is_small_talk("Thank you very much!"), is_small_talk("Thanks, what is OAuth?")
    (True, False)
    """
    said = bare(text)
    if text.rstrip().endswith(("?", "？")) or not _LONGEST >= len(said) > 0:
        return _is_pleasantry(said)
    opening, rest = _opened(text)
    if rest and TELLS.fullmatch(rest) and is_small_talk(opening):
        return True
    kinds = [kind for word in said.split() for kind in _kinds(word)]
    polite = "says" in kinds and "else" not in kinds and not ASKING.search(said)
    return polite or _is_pleasantry(said)


def _opened(text: str) -> tuple[str, str]:
    """Return the first clause of a text and the rest."""
    led = _LED.match(text.strip())
    if led:
        return led[1], led[2].rstrip(".! ")
    opening, *rest = re.split(r"[,.!、。！，]+\s*", text.strip().rstrip(".!。！"), maxsplit=1)
    return opening, "".join(rest)


def _is_pleasantry(said: str) -> bool:
    """Return whether what is asked is asked for politeness' sake: "Hi, how are you?"."""
    words = said.split()
    return any(
        PLEASANTRY.fullmatch(" ".join(words[at:])) and (at == 0 or is_small_talk(" ".join(words[:at])))
        for at in range(max(0, len(words) - 5), len(words))
    )


def _kinds(word: str) -> list[_Kind]:
    """Return what a word, or each part of a Japanese one, is."""
    plain = word.casefold()
    if plain in SAYS or SAYS_IN_KOREAN.fullmatch(plain):
        return ["says"]
    if plain in GOES_ALONG or GOES_ALONG_IN_KOREAN.fullmatch(plain):
        return ["goes along"]
    return _parts(word)


def _parts(word: str) -> list[_Kind]:
    kinds: list[_Kind] = []
    while word and "else" not in kinds:
        says, beside = SAYS_IN_JAPANESE.match(word), GOES_ALONG_IN_JAPANESE.match(word)
        found = says or beside
        kinds.append("says" if says else "goes along" if beside else "else")
        word = word[found.end() :] if found else ""
    return kinds


def assents(text: str, answer: str) -> bool:
    """Return whether a text asks for what the last answer offered: "yes" to a question, or "please do".

    >>> assents("Yes", "It is [1]. Shall I list more?"), assents("Yes", "It is [1].")
    (True, False)
    """
    said = bare(text)
    if not said or not _ASSENT.match(said):
        return False
    return bool(_ASKED_FOR.match(said) or _ASKS.search(_MARKER.sub("", answer).strip()))


def bare(text: str) -> str:
    """Return the words of a text, a space between them."""
    return re.sub(r"[\W_]+", " ", text).strip()


def past(pattern: re.Pattern[str], text: str) -> str:
    """Return what follows the pattern at the start of a text; the text, where it does not stand there."""
    found = pattern.match(text)
    return text[found.end() :].strip() if found else text
