"""Salutations and closings of letters: "Dear Ms Vogel,", "안녕하세요, 김 팀장님.", "Kind regards".

They state nothing. The phrases are data, one file a language in rag/chat/phrases; case, spaces and the
punctuation around them do not count, and `{name}` stands for a name.
"""

import re
import unicodedata
from functools import cache

from rag.chat.small_talk import LANGUAGES, is_small_talk, phrase_file

LONGEST = 80  # characters
_NAMES = {
    "en": r"[A-ZÀ-Þ][\w.'’-]*(?:(?:,? | and | & )[A-ZÀ-Þ][\w.'’-]*){0,4}",
    "ko": r"[^\W\d_]{1,10}(?: [^\W\d_]{1,10}){0,3}(?<![다요까])",
    "ja": r"[^\W\d_]{1,16}(?: [^\W\d_]{1,10}){0,2}",
}
"""Pattern of a name in a language: English words begin with a capital, Korean ones do not end as verbs."""
_PUNCTUATION = " ,.!?:;~、。！？：；，"


def is_letter_phrase(sentence: str) -> bool:
    """Return True for a sentence that only greets or closes.

    >>> is_letter_phrase("Dear Ms Vogel,"), is_letter_phrase("안녕하세요, 김 팀장님.")
    (True, True)
    >>> is_letter_phrase("Dear guests pay EUR 9."), is_letter_phrase("お世話になっております。")
    (False, True)
    """
    told = " ".join(unicodedata.normalize("NFKC", sentence).split()).strip(_PUNCTUATION)
    if not told or len(told) > LONGEST:
        return False
    return is_small_talk(told) or any(_pattern(code).fullmatch(told) for code in LANGUAGES)


@cache
def _pattern(code: str) -> re.Pattern[str]:
    return re.compile("|".join(_of_phrase(phrase, code) for phrase in phrase_file(code)["letter"]))


def _of_phrase(phrase: str, code: str) -> str:
    """Return the pattern of a phrase whose words may be parted by punctuation, in any case but for names."""
    parts = (f"(?i:{re.escape(part)})" for part in phrase.split())
    between = r"[ ,.!:、]*" if code == "ja" else r"[ ,.!:]+"
    return between.join(parts).replace(r"\{name\}", f"(?-i:{_NAMES[code]})")
