"""The words of a text that can name a subject: Korean without particles and predicates, Japanese nouns."""

import re
from collections.abc import Iterator

WORD = re.compile(r"[\w’'-]*\w")
_KOREAN_WORD = re.compile(r"[가-힣]+\Z")
_KOREAN_PARTICLE = re.compile(
    r"(?:에서는|에서|에게|한테|부터|까지|으로|처럼|보다|이라는|라는|이란|에는|은|는|이|가|을|를|의|에|와|과|로|도|만|란)\Z"
)
_KOREAN_PREDICATE = re.compile(
    r"(?:나요|가요|까요|니까|인가|는가|는지|한지|어요|아요|해요|세요|니다|[다까냐니지죠야]|하는|되는|있는|없는|하고|되고|했던|된)\Z"
)
_JAPANESE_NOUN = re.compile(r"[一-鿿々ァ-ヺーA-Za-z0-9]+")
_KANA = re.compile(r"[\u3041-\u30ff]")


def nouns(text: str) -> Iterator[str]:
    """Yield the words that can be carried: without Korean particles and predicates, Japanese nouns only.

    >>> list(nouns("한국의 수도는 어디인가요?")), list(nouns("日本の首都はどこですか"))
    (['한국', '수도'], ['日本', '首都'])
    """
    for word in WORD.findall(text):
        if _KANA.search(word):
            yield from (noun for noun in _JAPANESE_NOUN.findall(word) if len(noun) > 1)
        elif not _KOREAN_WORD.match(word):
            yield _KOREAN_PARTICLE.sub("", word)
        elif not _KOREAN_PREDICATE.search(word):
            stem = _KOREAN_PARTICLE.sub("", word)
            if len(stem) > 1:
                yield stem
