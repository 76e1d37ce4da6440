# ruff: noqa: E501
"""Content words of a text, uninflected, in English, Korean, Japanese and Chinese."""

import re
import unicodedata
from functools import lru_cache

from rag.text.facts import OPENERS
from rag.text.language import STOP_WORDS, without_particle
from rag.text.tokenize import tokens

_LIGHT = """
say says said state stated report reported become became come comes came make made take took give gave get got
go went include includes know known call called use used base based also well number time total amount amounted
amounts post posted posts record recorded recorded bring brought stand stood reach reached see saw generate generated earn earned
reported reporting compared comparison versus figure figures respectively approximately around nearly almost roughly
spend spent cost costs company companies firm group business segment division achieve achieved comes offer offers
same quarter period year month fiscal ended ending end sold sell sells sale item
"""
LIGHT = frozenset(tokens(_LIGHT, "en"))
_WORD = re.compile(r"[가-힣]+|[一-鿿々]+|[ァ-ヺー]+|[A-Za-z\u00c0-\u024f][\w’'-]*")
_KOREAN_PREDICATE = re.compile(r"(?:[다요까죠]|하[고는며여]|되[고는며어]|한|된|했던|하던|있는|없는)$")
_KOREAN_DOES = re.compile(
    r"(?<=[가-힣]{2})(?:[하되](?:고|는|며|여|어|면|면서|지|지만|기|게|도록|려고|거나|다가|니)?|[해돼](?:서|야|도)?|[했됐].*|[할함한될됨된])$"
)
"""Ending of a noun with "to do" or "to become": 충돌하면서, 사망하면, 사용할."""
_LIGHT_UNSPACED = """
이다 했다 입니 기록 달성 약 대략 였습 이었 기준 대비 각각 단위 같은 동기 전년 기간 였 되었 통해 위해 따라 대해 있다 받았 가졌 이루 총 동안 사이 반면 당시
約 度 第 四半期 期 前年同期 前年 同期 計上 記録 達 円 年度 単位 的 和 是 前 比 行 受 与 成 至 及 伴 迎 翌 実施 場合
"""
_LIGHT_OTHER = frozenset(_LIGHT_UNSPACED.split())


@lru_cache(maxsize=2_048)
def tokens_of(text: str, language: str | None = None) -> tuple[str, ...]:
    """Return the tokens of a clause as `tokens` does, kept since it is compared with many others."""
    return tuple(tokens(text, language))


def content_words(text: str) -> list[str]:
    """Return the content words of a text in order, stems of English ones, nouns without particles.

    >>> content_words("iPhone net sales were high"), content_words("서비스 순매출은")
    (['iphon', 'net', 'high'], ['서비스', '순매출'])
    """
    found = [_stem(word) for word in _WORD.findall(unicodedata.normalize("NFKC", text))]
    return [word for word in found if word and word not in LIGHT and word not in _LIGHT_OTHER]


def _stem(word: str) -> str:
    if "가" <= word[0] <= "힣":
        bare = _KOREAN_DOES.sub("", without_particle(word))
        if _KOREAN_PREDICATE.search(bare):
            bare = bare[:2]
        return bare if len(bare) > 1 else ""
    if word[0] >= "\u0250":
        return word
    folded = word.casefold()
    return "" if folded in OPENERS or folded in STOP_WORDS["en"] else (tokens_of(word, "en") or ("",))[0]
