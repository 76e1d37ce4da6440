"""Whether a sentence says that the documents do not answer: English, Korean, Japanese.

It states nothing of the subject, so there is nothing in it to be backed.
"""

import re

_LONGEST = 300  # characters: a sentence that says more than this says something else too

_EN_SOURCE = r"(?:documents?|passages?|sources?|texts?|context|excerpts?|materials?|files?)"
_EN_SAYS = (
    r"(?:answer|say|mention|state|contain|hold|provide|specify|include|give|tell|cover|discuss|address|"
    r"indicate|find|found|information)"
)
_DECLINES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b{_EN_SOURCE}\b.{{0,60}}\b(?:not?|don't|doesn't|didn't|cannot|can't|never)\b.{{0,40}}\b{_EN_SAYS}",
        rf"\b(?:no|not|cannot|can't|couldn't|unable)\b.{{0,60}}\b{_EN_SAYS}.{{0,80}}\b{_EN_SOURCE}\b",
        r"(?:문서|구절|자료|본문|지문|출처).{0,80}"
        r"(?:없습니다|없을 수|없다|없어요|않습니다|않다|않아요|않았습니다|못했습니다|못합니다)",
        r"(?:文書|ドキュメント|資料|文章|本文|出典|文脈|パッセージ).{0,80}"
        r"(?:ありません|ない|ません|なかった|見つからず|不明)",
    )
)


def declines(sentence: str) -> bool:
    """Return whether a sentence only says that the documents do not hold the answer.

    >>> declines("The documents do not say when it opened."), declines("It did not open in 1931.")
    (True, False)
    """
    return len(sentence) <= _LONGEST and any(pattern.search(sentence) for pattern in _DECLINES)
