"""Morphemes of Korean and Japanese, where an analyser is installed: the words that BM25 cannot see in pairs.

kiwipiepy finds Korean ones, sudachipy Japanese ones (the extras ``[ko]`` and ``[ja]``). Neither is
loaded before the first text that needs it: kiwipiepy takes two seconds and 320 MB.
"""

import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from threading import Lock
from typing import Any, ClassVar

from rag.errors import RetrievalError
from rag.settings import AnalyzerUse
from rag.text.language import language

_HANGUL = "\uac00-\ud7a3"
_KANA = "\u3041-\u3096\u30a1-\u30fa\u30fc"
_JAPANESE = f"{_KANA}\u3005\u3400-\u4dbf\u4e00-\u9fff"
_LONGEST_PHRASE = 4000  # characters: sudachipy takes 49,149 bytes at once
_LONGEST = 64  # characters of a morpheme that are kept, as of a word


class Analyser(ABC):
    """Finds the morphemes of one language; one text at a time, from any thread."""

    code: ClassVar[str]  # the language, as ISO 639-1
    packages: ClassVar[tuple[str, ...]]  # as distributions and as modules
    _phrase: ClassVar[re.Pattern[str]]
    _lock: ClassVar[Lock]

    @property
    def installed(self) -> bool:
        """Whether all its packages are there; nothing is imported."""
        return all(find_spec(package) for package in self.packages)

    @property
    def name(self) -> str:
        """What it is known by in an index: ``"kiwipiepy 0.24.1, kiwipiepy_model 0.24.0"``."""
        return ", ".join(f"{package} {version(package)}" for package in self.packages)

    def morphemes(self, text: str) -> list[str]:
        """Return the nouns, stems and other words with a meaning of their own, in order; no particles.

        Raises RetrievalError when the packages are there but cannot be used.
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
        """Return the stretches of a text in this language, since an analyser is slow on all others."""
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
                f"{self.packages[0]} is installed but cannot be loaded: {error}. "
                "Install it again, or set FOOTNOTE_MORPHEMES=off."
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
        """Return no stretches of Chinese, which Han alone cannot tell from Japanese."""
        return super()._phrases(text) if self._KANA.search(text) and language(text) != "zh" else []

    def _of_phrase(self, model: Any, phrase: str) -> Iterator[str]:
        for token in model.tokenize(phrase):
            kind, detail = token.part_of_speech()[:2]
            if kind in self._KINDS and detail != "数詞" and self._WORD.search(token.surface()):
                spelt = unicodedata.normalize("NFKC", token.normalized_form()).casefold()
                yield "".join(spelt.split())[:_LONGEST]


def find(use: AnalyzerUse = "auto") -> tuple[Analyser, ...]:
    """Return the analysers that are installed, or none where they are not to be used."""
    return () if use == "off" else tuple(each for each in (Korean(), Japanese()) if each.installed)


def morphemes(text: str, analysers: Iterable[Analyser]) -> list[str]:
    """Return the morphemes that these analysers find in a text; none where they find no text of theirs."""
    return [found for analyser in analysers for found in analyser.morphemes(text)]
