# ruff: noqa: E501
"""Tokenizer for BM25: stemmed words, character bigrams and morphemes.

Content words are the uninflected ones that say something, in English, Korean, Japanese and Chinese.
"""

import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from threading import Lock
from typing import Any, ClassVar, Literal

import snowballstemmer

from rag.errors import RetrievalError
from rag.i18n import N_
from rag.text.facts import OPENERS
from rag.text.language import STOP_WORDS, language, without_particle

Rarity = Callable[[str], float]
"""Inverse document frequency of a token."""

# Morphological analysers of Korean and Japanese
_HANGUL = "\uac00-\ud7a3"
_KANA = "\u3041-\u3096\u30a1-\u30fa\u30fc"
_JAPANESE = f"{_KANA}\u3005\u3400-\u4dbf\u4e00-\u9fff"
_LONGEST_PHRASE = 4000  # characters: sudachipy takes 49,149 bytes at once
_LONGEST = 64  # characters of a morpheme that are kept, as of a word


class Analyser(ABC):
    """Morphological analyser of one language, for use from any thread."""

    code: ClassVar[str]  # the language, as ISO 639-1
    packages: ClassVar[tuple[str, ...]]  # as distributions and as modules
    _phrase: ClassVar[re.Pattern[str]]
    _lock: ClassVar[Lock]

    @property
    def installed(self) -> bool:
        """True where all its packages are installed; nothing is imported."""
        return all(find_spec(package) for package in self.packages)

    @property
    def name(self) -> str:
        """Name in an index: ``"kiwipiepy 0.24.1, kiwipiepy_model 0.24.0"``."""
        return ", ".join(f"{package} {version(package)}" for package in self.packages)

    def morphemes(self, text: str) -> list[str]:
        """Return the nouns, stems and other words with a meaning of their own, in order; no particles.

        Raises RetrievalError where the packages are installed but cannot be used.
        """
        phrases = self._phrases(text)
        if not phrases:
            return []
        with self._lock:
            model = self._loaded()
            return [found for phrase in phrases for found in self._of_phrase(model, phrase)]

    def load(self) -> None:
        """Load the model now, so that the first text need not wait; raises RetrievalError."""
        with self._lock:
            self._loaded()

    def _phrases(self, text: str) -> list[str]:
        """Return the parts of a text in this language, since an analyser is slow on others."""
        found = (match[0] for match in self._phrase.finditer(text))
        return [
            phrase[start : start + _LONGEST_PHRASE]
            for phrase in found
            for start in range(0, len(phrase), _LONGEST_PHRASE)
        ]

    def _loaded(self) -> Any:
        try:
            return self._model()
        except Exception as error:  # packages fail to load in ways of their own
            raise RetrievalError(
                N_(
                    "{packages} is installed but cannot be loaded: {reason}. Install it again, or set "
                    "FOOTNOTE_KOREAN_JAPANESE_ANALYZERS=off.",
                    packages=self.packages[0],
                    reason=error,
                )
            ) from error

    @staticmethod
    @abstractmethod
    def _model() -> Any:
        """Return the model, loaded once in a process."""

    @abstractmethod
    def _of_phrase(self, model: Any, phrase: str) -> Iterator[str]:
        """Yield the morphemes of a phrase."""


class Korean(Analyser):
    """Korean by kiwipiepy: ``"길고양이를 보았다" -> 길고양이 보``."""

    code = "ko"
    packages = ("kiwipiepy", "kiwipiepy_model")
    _phrase = re.compile(f"[{_HANGUL}](?:[^\ud800-\udfff]{{0,20}}?[{_HANGUL}])*")
    _lock = Lock()
    # Nouns, numerals, pronouns, stems of verbs and adjectives, roots, adverbs, determiners.
    _KINDS = frozenset({"NNG", "NNP", "NNB", "NR", "NP", "VV", "VA", "XR", "MAG", "MM"})
    _WORD = re.compile(f"[{_HANGUL}]+")

    @staticmethod
    @lru_cache
    def _model() -> Any:
        from kiwipiepy import Kiwi

        # Without the dictionary of names of many words it loads in 2 s instead of 5, and splits those names.
        return Kiwi(num_workers=1, load_multi_dict=False)

    def _of_phrase(self, model: Any, phrase: str) -> Iterator[str]:
        for token in model.tokenize(phrase):
            if token.tag.partition("-")[0] in self._KINDS and self._WORD.fullmatch(token.form):
                yield token.form[:_LONGEST]


class Japanese(Analyser):
    """Japanese by sudachipy, spelt as its dictionary does: ``"附属病院へ行った" -> 付属 病院 行く``."""

    code = "ja"
    packages = ("sudachipy", "sudachidict_core")
    _phrase = re.compile(f"[{_JAPANESE}](?:[^\ud800-\udfff]{{0,20}}?[{_JAPANESE}])*")
    _lock = Lock()
    _KINDS = frozenset({"名詞", "動詞", "形容詞", "形状詞"})  # nouns, verbs, adjectives of both kinds
    _KANA = re.compile(f"[{_KANA}]")
    _WORD = re.compile(f"[{_JAPANESE}]")

    @staticmethod
    @lru_cache
    def _model() -> Any:
        from sudachipy import Dictionary, SplitMode

        return Dictionary().tokenizer(mode=SplitMode.A)  # the shortest units

    def _phrases(self, text: str) -> list[str]:
        """Return no parts of Chinese, which Han alone cannot tell from Japanese."""
        return super()._phrases(text) if self._KANA.search(text) and language(text) != "zh" else []

    def _of_phrase(self, model: Any, phrase: str) -> Iterator[str]:
        for token in model.tokenize(phrase):
            kind, detail = token.part_of_speech()[:2]
            if kind in self._KINDS and detail != "数詞" and self._WORD.search(token.surface()):
                spelt = unicodedata.normalize("NFKC", token.normalized_form()).casefold()
                yield "".join(spelt.split())[:_LONGEST]


def find(use: Literal["auto", "off"] = "auto") -> tuple[Analyser, ...]:
    """Return the installed analysers; none where they are turned off."""
    return () if use == "off" else tuple(each for each in (Korean(), Japanese()) if each.installed)


def morphemes(text: str, analysers: Iterable[Analyser]) -> list[str]:
    """Return the morphemes of a text that these analysers find."""
    return [found for analyser in analysers for found in analyser.morphemes(text)]


# Tokens
TOKENIZER = "footnote-words-and-pairs-2"  # a change of tokens() changes this, and indexes are made anew
_STEMMERS = {
    "en": "english",
    "de": "german",
    "fr": "french",
    "es": "spanish",
    "it": "italian",
    "pt": "portuguese",
    "nl": "dutch",
    "sv": "swedish",
    "ru": "russian",
    "el": "greek",
}


# Scripts written without spaces between words, or (Hangul) with particles glued to them.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\u3005-\u3007\u3041-\u3096\u3099-\u309f\u30a1-\u30fa"
    "\u30fc-\u30ff\u3130-\u318f\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_HANGUL_PAIR = re.compile("[\uac00-\ud7a3]{2}")
_COUNT = re.compile(r"\d[\d.,]*$")
_KATAKANA_WORD = re.compile("[\u30a1-\u30fa\u30fc-\u30ff]{3,}")
_MARKS = "".join(chr(c) for c in range(0x300, 0x1D00) if unicodedata.category(chr(c)) in ("Mn", "Mc"))
_TOKEN = re.compile(
    rf"(?P<unspaced>[{_UNSPACED}]+)"
    rf"|(?P<number>\d+(?:[.,]\d+)+)"
    rf"|(?P<word>(?:[a-z0-9]+[{_MARKS}]*|(?![{_UNSPACED}])[^\W_][{_MARKS}]*)+)"  # most letters by the first
)
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")  # 1,234.5
_GROUPED_BY_POINTS = re.compile(r"\d{1,3}(?:\.\d{3})+,\d+")  # 1.234,5
_STEMMING = Lock()  # a stemmer keeps the word it works on in itself


def tokens(text: str, language: str | None = None) -> list[str]:
    """Return the tokens of a text for BM25, the same for documents and questions.

    Words are folded, stemmed in the given or detected language, and its stop words left out;
    Hangul, Kana and Han become pairs of characters; a grouped number is there as written and plain.

    >>> tokens("The cats of 東京都, 1,234.5!")
    ['cat', '東京', '京都', '1,234.5', '1234.5']
    """
    folded = _folded(text)
    code = language or word_language(folded)
    return _tokens_of(_TOKEN.finditer(folded), [code], _pairs)


_NAMED_LETTER = re.compile(r"(?<=[a-z]\s)[A-HJ-Z](?=\s*(?:[?!.,;:)|]|$|\s[a-z]))|(?<=\|\s)[A-Z](?=\s*\|)")


def named_letters(text: str) -> list[str]:
    """Return capitals that name something: alone after a word, or alone in a cell of a table.

    They are often stop words ("a"), and no word of `tokens`. "I" is none outside of a cell.

    >>> named_letters("When does shift A start?"), named_letters("| D | 20:00 |"), named_letters("Can I?")
    (['a'], ['d'], [])
    """
    return [letter.lower() for letter in _NAMED_LETTER.findall(text)]


def index_tokens(text: str, language: str, analysers: Iterable[Analyser] = ()) -> list[str]:
    """Return the tokens under which a text is indexed: `tokens`, and what else a question may ask for.

    With `analysers` their morphemes come too: they raise nDCG@10 on Korean questions from .965 to .967,
    on Japanese ones from .929 to .932; alone, without pairs, they give .956 and .920.

    >>> index_tokens("猫カフェへ", "en")
    ['猫カ', 'カフ', 'フェ', 'ェへ', '猫', 'カフェ']
    """
    folded = _folded(text)
    pieces = _tokens_of(_TOKEN.finditer(folded), [language], _pieces)
    return [*pieces, *morphemes(folded, analysers)]


def question_tokens(text: str, languages: Collection[str], analysers: Iterable[Analyser] = ()) -> list[str]:
    """Return the distinct index tokens of a question, its words stemmed in each of the index's languages.

    Few words do not show their language; a stem that no document has finds nothing and costs nothing.
    `analysers` are those of the index.

    >>> question_tokens("présidentielle", ["en", "fr"])
    ['presidentiell', 'presidentiel']
    """
    folded = _folded(text)
    own = STOP_WORDS.get(word_language(folded), frozenset())
    matches = (match for match in _TOKEN.finditer(folded) if match[0] not in own)
    pieces = _tokens_of(matches, languages, _pieces)
    return list(dict.fromkeys([*pieces, *morphemes(folded, analysers)]))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def word_language(text: str) -> str:
    """Return the language whose stemmer the words of a text need."""
    return stemmed_as(language(text))


def stemmed_as(language: str) -> str:
    """Return the language of the stemmer for words in a text; English for Korean, Japanese and Chinese.

    >>> stemmed_as("fr"), stemmed_as("ko")
    ('fr', 'en')
    """
    return language if language in _STEMMERS else "en"


def _tokens_of(
    matches: Iterable[re.Match[str]],
    codes: Collection[str],
    of_run: Callable[[re.Match[str]], list[str]],
) -> list[str]:
    """Return the tokens of all matches; one list, since a generator for each word takes as long as the rest."""
    found: list[str] = []
    stop_words = [(code, STOP_WORDS.get(code, frozenset())) for code in codes]
    for match in matches:
        word, kind = match[0], match.lastgroup
        if kind == "word":
            found += [_stem(word[:_LONGEST], code) for code, stops in stop_words if word not in stops]
        elif kind == "unspaced":
            found += of_run(match)
        else:
            plain = _plain(word)
            found += [word, plain] if plain else [word]
    return found


def bigrams(run: str) -> list[str]:
    """Return a run's overlapping pairs of characters; one character is its own: ``"東京都" -> 東京 京都``."""
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


def _pairs(match: re.Match[str]) -> list[str]:
    return bigrams(match[0])


def _pieces(match: re.Match[str]) -> list[str]:
    """Return a run's pairs and its more specific tokens, ``"2019년도" -> 년도 년도^ 2019년``.

    A Hangul word's first pair, marked, since stems come first and particles last; a Han character,
    which alone is often a word; a Katakana word; a number with its counter. They raise nDCG@10 on
    Korean questions from .957 to .965, on Japanese ones from .912 to .929.
    """
    run = match[0]
    count = _COUNT.search(match.string, max(0, match.start() - 20), match.start())
    return [
        *bigrams(run),
        *([f"{run[:2]}^"] if _HANGUL_PAIR.match(run) else []),
        *(_HAN.findall(run) if len(run) > 1 else []),
        *_KATAKANA_WORD.findall(run),
        *([count[0] + run[0]] if count else []),
    ]


def _plain(number: str) -> str:
    """Return a number without grouping, or nothing if it has none: "1,234.5" and "1.234,5" -> "1234.5"."""
    if _GROUPED.fullmatch(number):
        return number.replace(",", "")
    if _GROUPED_BY_POINTS.fullmatch(number):
        return number.replace(".", "").replace(",", ".")
    return ""


@lru_cache(maxsize=200_000)  # a stem takes 20 us, and a corpus repeats its words
def _stem(word: str, code: str) -> str:
    """Return a word's stem without accents: people type questions without them."""
    with _STEMMING:
        stem = _stemmer(code).stemWord(word) if code in _STEMMERS and not word.isdigit() else word
    decomposed = unicodedata.normalize("NFD", stem)
    return "".join(c for c in decomposed if not "\u0300" <= c <= "\u036f") or stem


@lru_cache
def _stemmer(code: str) -> Any:
    return snowballstemmer.stemmer(_STEMMERS[code])


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
    found = [_uninflected(word) for word in _WORD.findall(unicodedata.normalize("NFKC", text))]
    return [word for word in found if word and word not in LIGHT and word not in _LIGHT_OTHER]


def _uninflected(word: str) -> str:
    if "가" <= word[0] <= "힣":
        bare = _KOREAN_DOES.sub("", without_particle(word))
        if _KOREAN_PREDICATE.search(bare):
            bare = bare[:2]
        return bare if len(bare) > 1 else ""
    if word[0] >= "\u0250":
        return word
    folded = word.casefold()
    return "" if folded in OPENERS or folded in STOP_WORDS["en"] else (tokens_of(word, "en") or ("",))[0]
