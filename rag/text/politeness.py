"""Polite ends of Korean and Japanese sentences made plain: 끝납니다 as 끝난다, 終わります as 終わる.

Documents say one and models the other: they state the same and share few letters. Ends that need more than
letters to be told apart become a form of neither: what comes out is compared, never shown.
"""

import re
from collections.abc import Callable

_KOREAN_END = r"(?![가-힣])"
_KOREAN: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(end + _KOREAN_END), plain)
    for end, plain in (
        ("습니다", "다"),
        ("는다", "다"),
        ("(?:이에|예)요", "이다"),
        ("해요", "하다"),
        ("돼요|되어요", "되다"),
    )
)
_PAST = re.compile(r"([가-힣])어요" + _KOREAN_END)
_NIDA = re.compile(r"([가-힣])니다" + _KOREAN_END)
_NDA = re.compile(r"([가-힣])다" + _KOREAN_END)
_HANGUL, _FINALS = 0xAC00, 28
_N, _B, _SS = 4, 17, 20  # the places of ㄴ, ㅂ and ㅆ among a syllable's final letters

_ROW = dict(zip("いきぎしちにびみり", "うくぐすつぬぶむる", strict=True))
_SAID = r"(?=[。、.,!?！？\s」』）)]|か|が|けれど|\Z)"
_JAPANESE: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile("ませんでした" + _SAID), "なかった"),
    (re.compile("ません" + _SAID), "ない"),
    (re.compile("でした|であった"), "だった"),
    (re.compile("(?:です|である)" + _SAID), "だ"),
    (re.compile("(?<=[一-鿿])します" + _SAID), "する"),
    (re.compile("([いきぎしちにびみり])ます" + _SAID), lambda match: _ROW[match[1]]),
    (re.compile("ます" + _SAID), "る"),
    (re.compile("(?<=[一-鿿])[いちり]ました" + _SAID), "った"),
    (re.compile("(?<=行)きました" + _SAID), "った"),
    (re.compile("(?<=[一-鿿])きました" + _SAID), "いた"),
    (re.compile("(?<=[一-鿿])[にびみ]ました" + _SAID), "んだ"),
    (re.compile("ました" + _SAID), "た"),
)


def plain_ends(text: str) -> str:
    """Return the text with plain ends, in words that end a sentence or could.

    >>> [plain_ends(said) for said in ("설립되었습니다.", "끝납니다", "끝난다", "3조 원입니다")]
    ['설립되었다.', '끝나다', '끝나다', '3조 원이다']
    >>> [plain_ends(said) for said in ("設立されました。", "終わります。", "東京です。", "行いました。")]
    ['設立された。', '終わる。', '東京だ。', '行った。']
    """
    for pattern, plain in _KOREAN:
        text = pattern.sub(plain, text)
    text = _PAST.sub(lambda match: f"{match[1]}다" if _final(match[1]) == _SS else match[0], text)
    text = _NIDA.sub(lambda match: f"{_open(match[1])}다" if _final(match[1]) == _B else match[0], text)
    text = _NDA.sub(lambda match: f"{_open(match[1])}다" if _final(match[1]) == _N else match[0], text)
    for japanese, written in _JAPANESE:
        text = japanese.sub(written, text)
    return text


def _final(syllable: str) -> int:
    """Return the place of a syllable's final letter among all; 0 where it has none."""
    return (ord(syllable) - _HANGUL) % _FINALS


def _open(syllable: str) -> str:
    """Return a syllable without its final letter: 끝납 -> 끝나.

    >>> _open("납")
    '나'
    """
    return chr(ord(syllable) - _final(syllable))
