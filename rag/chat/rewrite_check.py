"""Check of a language model's rewrite: one line, the question's script, no new number and no new name.

Capitals and digits mark a name. Korean and Japanese have no capitals: there no noun may be new except those
that ask ("이유", "方法"), which rag/chat/phrases lists.
"""

import unicodedata
from collections import Counter
from collections.abc import Sequence

from rag.chat.small_talk import LANGUAGES, phrase_file
from rag.text.facts import holds_name, latin_words, names, nouns, numbers
from rag.text.language import STOP_WORDS
from rag.text.tokenize import tokens

_FIRST_EAST_ASIAN = "\u1100"  # Hangul, and then kana and Han: scripts without capitals
_EAST_ASIAN = ("CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA")


def rejection_reason(written: str, question: str, history: Sequence[tuple[str, str]]) -> str:
    """Return why a rewrite is not used, as the rest of a sentence; empty where it is sound.

    >>> said = [("user", "Who leads Acme?"), ("assistant", "Ann Lee leads Acme [1].")]
    >>> rejection_reason("When did Ann Lee join Acme?", "When did she join?", said)
    ''
    >>> rejection_reason("When did Bob join Acme?", "When did she join?", said)
    'it names Bob, of whom or which nothing was said'
    """
    if not any(map(str.isalnum, written)):
        return "it is empty"
    if len(written.splitlines()) > 1:
        return "it is more than one line"
    if not _same_script(written, question, history):
        return "it is in another language"
    known = "\n".join([question, *(content for _, content in history)])
    said = frozenset(numbers(known))
    if new := [number for number in numbers(written) if number not in said]:
        return f"it brings in the number {new[0]}"
    if name := _new_name(written, known):
        return f"it names {name}, of whom or which nothing was said"
    return ""


def _same_script(written: str, question: str, history: Sequence[tuple[str, str]]) -> bool:
    """Return True where a rewrite keeps the question's script; a Latin name in Korean changes nothing."""
    asked = _scripts(question)
    if own := asked.keys() - {"LATIN"}:
        return own <= _scripts(written).keys()
    asked = asked or _scripts(" ".join(content for role, content in history if role == "user"))
    most = _scripts(written).most_common(1)
    return not most or not asked or most[0][0] in asked


def _scripts(text: str) -> Counter[str]:
    """Count the letters of each script, Japanese and Chinese as one.

    >>> dict(_scripts("OAuth는 東京タワー"))
    {'LATIN': 5, 'HANGUL': 1, 'CJK': 5}
    """
    letters = filter(str.isalpha, unicodedata.normalize("NFKC", text))
    found = (unicodedata.name(letter, "?").split()[0] for letter in letters)
    return Counter("CJK" if script in _EAST_ASIAN else script for script in found)


def _new_name(written: str, known: str) -> str:
    """Return the first name in a rewrite that was not said before; empty where there is none."""
    folded = unicodedata.normalize("NFKC", known).casefold()
    words, stems = latin_words(folded), frozenset(tokens(known, "en"))
    allowed = STOP_WORDS["en"].union(*(phrase_file(code)["question_words"] for code in LANGUAGES))
    latin = (name for name in names(written) if name[0] < _FIRST_EAST_ASIAN)
    east_asian = (noun for noun in nouns(written) if noun[0] >= _FIRST_EAST_ASIAN)
    for name in (*latin, *east_asian):
        known_name = holds_name(name, folded, words) or frozenset(tokens(name, "en")) <= stems
        if not known_name and name.casefold() not in allowed:
            return name
    return ""
