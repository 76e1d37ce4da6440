"""Text normalisation with offsets: NFKC, case, white space, hyphens at line ends; and clean-up."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_SKIPPED = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff")
_GONE = dict.fromkeys(map(ord, _SKIPPED))
_LINE_HYPHEN = re.compile(r"(?<=\w)[-\u2010]\s*\n\s*(?=[a-z])")
_SAME = str.maketrans("\u2010\u2011\u2012\u2013\u2014\u2212\u2018\u2019\u201c\u201d", "------''\"\"")


@dataclass(frozen=True)
class NormalizedText:
    """Normalised text; character i of `text` is the original span [starts[i], ends[i])."""

    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def find(self, part: str) -> tuple[int, int] | None:
        """Return the original span of normalised `part` between word borders, or None."""
        at = self.text.find(part) if part else -1
        while at >= 0:
            end = at + len(part)
            if _border(self.text, at) and _border(self.text, end):
                return self.starts[at], self.ends[end - 1]
            at = self.text.find(part, at + 1)
        return None


def _border(text: str, at: int) -> bool:
    """Return True where no Latin word or number crosses position `at`."""
    return not (0 < at < len(text) and _runs(text[at - 1]) and _runs(text[at]))


def _runs(character: str) -> bool:
    return character.isalnum() and character < "\u3000"


def normalize_with_offsets(text: str) -> NormalizedText:
    r"""Normalise a text for comparison and keep the original offsets.

    >>> normalize_with_offsets("The  ofﬁce,\nre-\nopened").text
    'the office, reopened'
    """
    folded: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for start, end in _clusters(text, _hyphens(text)):
        piece = unicodedata.normalize("NFKC", text[start:end]).translate(_SAME).casefold()
        if piece.isspace():
            piece = " " if folded and folded[-1] != " " else ""
        folded.extend(piece)
        starts.extend([start] * len(piece))
        ends.extend([end] * len(piece))
    if folded and folded[-1] == " ":
        folded.pop(), starts.pop(), ends.pop()
    return NormalizedText("".join(folded), tuple(starts), tuple(ends))


def normalize(text: str) -> str:
    """Return the text of `normalize_with_offsets`, without offsets and ten times as fast."""
    bare = _LINE_HYPHEN.sub("", text).translate(_GONE)
    return " ".join(unicodedata.normalize("NFKC", bare).translate(_SAME).casefold().split())


def _hyphens(text: str) -> frozenset[int]:
    return frozenset(at for match in _LINE_HYPHEN.finditer(text) for at in range(*match.span()))


def _clusters(text: str, skipped: frozenset[int]) -> Iterator[tuple[int, int]]:
    """Yield spans that NFKC may join: a base with its marks, the letters of a syllable."""
    start, size = 0, len(text)
    while start < size:
        end = start + 1
        while end < size and (unicodedata.combining(text[end]) or "\u1160" <= text[end] <= "\u11ff"):
            end += 1
        if start not in skipped and text[start] not in _SKIPPED:
            yield start, end
        start = end


# Polite endings of Korean and Japanese
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
    (re.compile("(?<=で)きます" + _SAID), "きる"),
    (re.compile("(?<=れば)なりません" + _SAID), "ならない"),
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


def without_politeness(text: str) -> str:
    """Return the text with plain instead of polite endings: 끝납니다 as 끝나다, 終わります as 終わる.

    >>> [without_politeness(said) for said in ("설립되었습니다.", "끝납니다", "끝난다", "3조 원입니다")]
    ['설립되었다.', '끝나다', '끝나다', '3조 원이다']
    >>> [without_politeness(end) for end in ("設立されました。", "終わります。", "行いました。")]
    ['設立された。', '終わる。', '行った。']
    """
    for pattern, plain in _KOREAN:
        text = pattern.sub(plain, text)
    text = _PAST.sub(lambda match: f"{match[1]}다" if _final(match[1]) == _SS else match[0], text)
    text = _NIDA.sub(lambda match: f"{_open(match[1])}다" if _final(match[1]) == _B else match[0], text)
    text = _NDA.sub(lambda match: f"{_open(match[1])}다" if _final(match[1]) == _N else match[0], text)
    for japanese, written in _JAPANESE:
        text = japanese.sub(written, text)
    return text


_ACTIVE = dict(zip("わかがたなばまら", "うくぐつぬぶむる", strict=True))
_STEM = dict(zip("わかがたなばまら", "いきぎちにびみり", strict=True))
_PLAIN_PAST = dict(
    zip("わかがたなばまら", ["った", "いた", "いだ", "った", "んだ", "んだ", "んだ", "った"], strict=True)
)
_DOER = re.compile("(?<![\\d日月年時分末])(?:に|から)(?!は)|によ[っりる]")
_PASSIVE = re.compile(
    "(?P<before>[^、。]{0,80}?[一-鿿々ァ-ヺー])が(?P<verb>[一-鿿]{1,4}(?:[\u3041-\u3096]?[一-鿿])?)"
    "(?:(?P<do>さ)|(?P<row>[わかがたなばまら])|(?P<base>[えけげせてでねべめれ])ら)れ(?P<end>る|た|て|(?=、))"
)


def in_active_voice(text: str) -> str:
    """Return a Japanese text with "A が支払われる" as "A を支払う", unless it may say who does it.

    >>> [in_active_voice(text) for text in ("賃金が支払われる。", "休暇が与えられた。", "荷が積まれた。")]
    ['賃金を支払う。', '休暇を与えた。', '荷を積んだ。']
    >>> in_active_voice("社長に花束が贈られる。")
    '社長に花束が贈られる。'
    """
    return _PASSIVE.sub(_as_active, text)


def _as_active(match: re.Match[str]) -> str:
    if _DOER.search(match["before"]):
        return match[0]
    end = match["end"]
    if match["do"]:
        verb = {"る": "する", "た": "した", "て": "して", "": "し"}[end]
    elif match["base"]:
        verb = match["base"] + end
    else:
        past = _PLAIN_PAST[match["row"]]
        joined = past.replace("た", "て").replace("だ", "で")
        verb = {"る": _ACTIVE[match["row"]], "た": past, "て": joined, "": _STEM[match["row"]]}[end]
    return f"{match['before']}を{match['verb']}{verb}"


def _final(syllable: str) -> int:
    """Return the place of a syllable's final letter among all; 0 where it has none."""
    return (ord(syllable) - _HANGUL) % _FINALS


def _open(syllable: str) -> str:
    """Return a syllable without its final letter: 끝납 -> 끝나.

    >>> _open("납")
    '나'
    """
    return chr(ord(syllable) - _final(syllable))


# Controls but tab and newline, bidirectional overrides and isolates, byte-order marks, tag characters.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    r"""Return text without invisible control characters, direction overrides and tags.

    >>> clean("a\x00b\u202ec\r\n")
    'abc\n'
    """
    return _LONE_SURROGATE.sub("\ufffd", _INVISIBLE.sub("", text))


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which JSON can hold, and no tokenizer or index takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


_NEVER = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff\ufffe\uffff]")


def canonical(text: str) -> str:
    r"""Return text in canonical form: ``\n`` line ends, NFC, no control characters or lone surrogates.

    >>> canonical("a\r\nb\x00c")
    'a\nbc'
    """
    return unicodedata.normalize("NFC", _NEVER.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))
