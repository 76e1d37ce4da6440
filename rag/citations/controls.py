"""Control statements: statements of which it is known if the passages say them, to test a reader.

A model that is asked which words support some statements is given three more that code has made: a sentence
of the passages, another one denied, and one with a word exchanged. Who finds words for the first and none for
the others reads; who says yes to everything, or is told to by a document, does not.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from rag.passage import Passage, quotable
from rag.text.facts import negations
from rag.text.language import language, without_particle
from rag.text.sentences import sentences
from rag.text.tokenize import content_words, tokens

MOST_CONTROLS = 3
SHORTEST, LONGEST = 12, 160  # characters of a sentence or row that a control is made of
LEAST_WORDS = 2  # content words of a sentence
DENIALS = {
    "ko": "“{}”라는 말은 사실이 아니다.",
    "ja": "「{}」というのは事実ではない。",
    "zh": "“{}”这一说法不是事实。",
    "de": "Es stimmt nicht, dass Folgendes gilt: „{}“.",
    "fr": "Il est faux de dire : « {} ».",
    "es": "No es cierto lo siguiente: «{}».",
}
DENIED = "It is not true that “{}”."
_WHOLE = re.compile(r"\w[^?？|#\n]*[^?？|#\n\s][.。!！]\Z")
_ELEMENT = re.compile(
    r"\d+(?:[.,]\d+)*|[A-Z\u00c0-\u00de][\w’'-]{2,}|[a-z\u00df-\u024f][\w’'-]{4,}|[一-鿿々]{2,}|[ァ-ヺー]{3,}|[가-힣]{2,}"
)
"""Number, name or word that may be exchanged for one of the same script."""


@dataclass(frozen=True)
class Control:
    """A statement made for a reader, and whether the passages say it."""

    text: str
    holds: bool


def make_controls(
    stated: Sequence[str], passages: Sequence[Passage], is_said: Callable[[str], bool]
) -> list[Control]:
    """Return a true control and false ones, made of sentences near some statements.

    There are none where the passages have no sentence and no row of fit length. What `is_said` by them is no
    false one.

    >>> text = "The mill was built in 1870. The tower has a copper roof. Anna Reed bought the mill in 1902."
    >>> given = [Passage("c", "d", "a.txt", "", None, "", 0, len(text), text)]
    >>> for control in make_controls(["The tower has a roof of copper."], given, lambda said: said in text):
    ...     print(control.holds, control.text)
    True The tower has a copper roof.
    False It is not true that “The mill was built in 1870”.
    False The mill was built in 1902.
    """
    texts = ["" if one.is_from_picture else quotable(one).text for one in passages]
    near = _nearest(stated, [*_plain_sentences(texts)] or [*_rows(texts)])
    if not near:
        return []
    denied = near[1 % len(near)]
    changed = (
        other for one in near[1:] or near for other in _exchanged(one, " ".join(texts)) if not is_said(other)
    )
    false = [one for one in (_denied(denied), *islice(changed, 1)) if not is_said(one)]
    return [Control(near[0], holds=True), *(Control(one, holds=False) for one in false)]


def _plain_sentences(texts: Iterable[str]) -> Iterator[str]:
    """Yield the sentences of prose in texts that are neither denied nor asked."""
    for said in _units(texts):
        if _WHOLE.match(said) and not negations(said) and len(content_words(said)) >= LEAST_WORDS:
            yield said


def _rows(texts: Iterable[str]) -> Iterator[str]:
    """Yield the rows and lines of texts that name something and have a number, without bars."""
    for said in _units(texts):
        row = " ".join(said.replace("|", " ").split())
        if "#" not in row and re.search(r"\d", row) and content_words(row):
            yield row


def _units(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        found = (text[start:end].strip() for start, end in sentences(text))
        yield from (said for said in found if SHORTEST <= len(said) <= LONGEST)


def _nearest(stated: Sequence[str], told: Sequence[str]) -> list[str]:
    """Return different sentences, those first that share most words with some statements."""
    words = set(tokens(" ".join(stated)))
    return sorted(dict.fromkeys(told), key=lambda one: -len(words.intersection(tokens(one))))


def _denied(sentence: str) -> str:
    return DENIALS.get(language(sentence), DENIED).format(sentence.rstrip(".。!！"))


def _exchanged(sentence: str, text: str) -> Iterator[str]:
    """Yield a sentence with one of its elements exchanged for another of a text."""
    for found in sorted(_ELEMENT.finditer(sentence), key=_telling):
        bare = _bare(found[0]) if found.start() or found[0][0] > "\u024f" else ""
        other = _other(bare, sentence, text) if bare else ""
        if other:
            at = found.start()
            yield sentence[:at] + other + sentence[at + len(bare) :]


def _telling(found: re.Match[str]) -> tuple[int, int]:
    """Order numbers before names before words, and the last one first."""
    return _KINDS.index(_kind(found[0])), -found.start()


def _bare(word: str) -> str:
    """Return a word that says something, a Korean one without its particle; empty for any other.

    >>> _bare("지붕은"), _bare("있었다"), _bare("which"), _bare("roof"), _bare("14")
    ('지붕', '', '', 'roof', '14')
    """
    if "가" <= word[0] <= "힣":
        bare = without_particle(word)
        return bare if 2 <= len(bare) < len(word) else ""
    return word if word[0].isdigit() or content_words(word) else ""


def _other(word: str, sentence: str, text: str) -> str:
    """Return the first word of a text that is of a word's kind and not in its sentence; empty without any."""
    here = set(tokens(sentence))
    for found in _ELEMENT.finditer(text):
        bare = _bare(found[0])
        if bare and _kind(bare) == _kind(word) and bare not in sentence and here.isdisjoint(tokens(bare)):
            return bare
    return ""


_KINDS = ("number", "name", "katakana", "han", "hangul", "word")


def _kind(word: str) -> str:
    first = word[0]
    if first.isdigit():
        return "number"
    if first <= "\u024f":
        return "name" if first.isupper() else "word"
    return "katakana" if first <= "ヺ" else "han" if first <= "鿿" else "hangul"


def tells_apart(controls: Sequence[Control], quoted: Collection[int], claimed: Collection[int]) -> bool:
    """Return True where a reader quoted words for the true controls, and claimed no false one.

    Both are given by index. Without a false control nothing is told apart.

    >>> asked = [Control("It rains.", True), Control("It snows.", False)]
    >>> tells_apart(asked, [0], [0]), tells_apart(asked, [0], [0, 1]), tells_apart(asked, [], [0])
    (True, False, False)
    """
    true = [index for index, one in enumerate(controls) if one.holds]
    false = [index for index, one in enumerate(controls) if not one.holds]
    return bool(true and false) and set(quoted).issuperset(true) and set(claimed).isdisjoint(false)
