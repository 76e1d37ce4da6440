"""What is wrong with a model's rewrite of a follow-up, if anything: it must ask, and must add nothing.

A rewrite that falls short is not mended: the rule's question is used in its place, so that a doubt costs
little. Names are told from other words by their capital; in Korean and Japanese, which have none, no noun may
be new but those of asking itself.
"""

import re
from collections.abc import Iterator, Sequence

from rag.facts import numbers
from rag.followup import SAYS_LITTLE
from rag.language import STOP_WORDS, words_of
from rag.nouns import WORD, nouns
from rag.text import language, sentences, tokens

History = Sequence[tuple[str, str]]

LONGER = 200
"""Characters by which a rewrite may be longer than three times its question."""
NEW_WORDS = 2
"""Words without a capital that a rewrite may bring in: .95 of people's rewrites of MTRAG need no more."""
SHOWN = 2
"""Frequent words of a language that show a question to be in it."""
MORE_SENTENCES = 1
"""Sentences by which a rewrite may have more than its question."""

_OPENERS = words_of(
    """
    according also assuming besides compare could define describe detail discuss does during elaborate explain
    exactly explore give how identify if in list name otherwise outline please provide regarding show since
    specifically state suggest summarise summarize tell under what when where which who whom whose why within
    """
)
_ASKING = {
    "ko": words_of(
        """
        무엇 뭐 얼마 얼마나 어디 언제 누구 누가 어느 어떤 어떻게 무슨 몇 이유 방법 경우 것 설명 정보 내용 관련
        관하 대해 대한 대하 때문 위해 위한
        따라 따른 차이 비교 각각 사용 가능 필요 여부 종류 의미 자세히 구체적 예시
        다음 이후 이전 동안 정도
        """
    ),
    "ja": words_of(
        """
        何 誰 理由 方法 場合 説明 情報 内容 関連 関係 違い 比較 使用 可能 必要 種類 意味 詳細 具体的 具体例
        以外 以降 以前 場所 時期 期間 程度 教 知 対 他 次 中 後 前 時 人 年 月 日 一番 最初 最後
        """
    ),
}
_MARKUP = re.compile(r"[<>{}\[\]|\\`]|\bhttps?:|\bwww\.|[\x00-\x08\x0e-\x1f\ufffd]", re.IGNORECASE)
_TALK = re.compile(
    r"(?:sure|certainly|of course|sorry|i am|i['’]m|i can|as an|here is|here['’]s"
    r"|the (?:answer|question) is|answer:)\b"
    r"|죄송|물론|답변|다음은|申し訳|もちろん|以下",
    re.IGNORECASE,
)
_ASKS = re.compile(r"[?？]\W*\Z")
_ASKS_IN = {
    "en": re.compile(
        r"(?:what|when|where|which|who|whom|whose|why|how|is|are|was|were|do|does|did|can|could|will|would|should"
        r"|must|may|has|have|had|describe|tell|explain|compare|list|give|show|summari[sz]e|define|name|find|write"
        r"|in what|in which|for what|for which|on what|to what|please)\b",
        re.IGNORECASE,
    ),
    "ko": re.compile(
        r"(?:까요?|나요|가요|는지|은지|인지|주세요|줘요?|줄래요?|냐|니|는|은|야|어|뭐|얼마|언제|어디|누구|왜)\W*\Z"
    ),
    "ja": re.compile(
        r"(?:か|ください|下さい|教えて|は|の|何|いつ|どこ|誰|いくら|なぜ|たい|お願いします)\W*\Z"
    ),
}
_POSSESSIVE = re.compile(r"['’]s?\Z")


def objection(written: str, question: str, history: History) -> str:
    """Return why a rewrite cannot stand for the question, as the rest of a sentence; empty where it can.

    >>> said = [("user", "Who leads Acme?"), ("assistant", "Ann Lee leads Acme [1].")]
    >>> objection("When did Ann Lee join Acme?", "When did she join?", said)
    ''
    >>> objection("When did Bob join Acme?", "When did she join?", said)
    'it names Bob, of whom or which nothing was said'
    """
    if not WORD.search(written):
        return "it is empty"
    known = "\n".join([question, *(content for _, content in history)])
    return next((wrong for wrong in _objections(written, question, history, known) if wrong), "")


def _objections(written: str, question: str, history: History, known: str) -> Iterator[str]:
    yield _form(written, question)
    yield "it is in another language" if _language(written) not in _languages(question, history) else ""
    yield "" if _all_asks(written, question) else "it does not ask"
    strange = [number for number in numbers(written) if number not in numbers(known)]
    yield f"it brings in the number {strange[0]}" if strange else ""
    yield from _words_not_said(written, known)


def _form(written: str, question: str) -> str:
    """Return what is wrong with the look of a rewrite."""
    if len(written) > 3 * len(question) + LONGER:
        return "it is too long"
    if "\n" in written or len(sentences(written)) > len(sentences(question)) + MORE_SENTENCES:
        return "it is more than a question"
    found = _MARKUP.search(written)
    return "it has marks that no question needs" if found and found[0] not in question else ""


def _all_asks(written: str, question: str) -> bool:
    """Return whether the last sentence asks, and each before it was said by the question."""
    *before, last = [written[start:end] for start, end in sentences(written)] or [written]
    if _TALK.match(written) and not _TALK.match(question):
        return False
    marked = bool(_ASKS.search(question))
    asks = bool(_ASKS.search(last)) or (not marked and _seems_to_ask(last))
    said = frozenset(tokens(question))
    return asks and all(_ASKS.search(one) or frozenset(tokens(one)) <= said for one in before)


def _seems_to_ask(sentence: str) -> bool:
    code = _language(sentence)
    pattern = _ASKS_IN.get(code, _ASKS_IN["en"])
    return bool(pattern.search(sentence) if code in ("ko", "ja") else pattern.match(sentence))


def _languages(question: str, history: History) -> frozenset[str]:
    """Return the language of the question; where it shows none, that of the questions before it, too."""
    own = _language(question)
    words = frozenset(word.casefold() for word in WORD.findall(question))
    if own in ("ko", "ja") or len(words & STOP_WORDS.get(own, frozenset())) >= SHOWN:
        return frozenset({own})
    return frozenset({own, *(_language(content) for role, content in history if role == "user")})


def _language(text: str) -> str:
    code = language(text)
    return "ja" if code == "zh" else code  # a few Kanji


def _words_not_said(written: str, known: str) -> Iterator[str]:
    """Yield what is wrong with the words that nobody said before."""
    code = _language(written)
    said = frozenset(_plain(word) for word in WORD.findall(known))
    stems = frozenset(tokens(known, "en")) | _LITTLE
    new = [word for word in _strangers(written, said) if not frozenset(tokens(word, "en")) <= stems]
    names = [word for word in new if any(c.isupper() or c.isdigit() for c in word)]
    names += [] if code in _ASKING else _in_other_letters(written, known)
    yield f"it names {names[0]}, of whom or which nothing was said" if names else ""
    if code in _ASKING:
        folded = known.casefold()
        nouns_new = [
            one for one in nouns(written) if one.casefold() not in folded and one not in _ASKING[code]
        ]
        yield f"it speaks of {nouns_new[0]}, of which nothing was said" if nouns_new else ""
    yield f"it speaks of {new[0]} and more, of which nothing was said" if len(new) > NEW_WORDS else ""


def _in_other_letters(written: str, known: str) -> list[str]:
    """Return the Korean, Japanese and Chinese words of a rewrite in letters that were not said."""
    words = [word for word in WORD.findall(written) if language(word) in ("ko", "ja", "zh")]
    return [word for word in words if word.casefold() not in known.casefold()]


def _strangers(written: str, said: frozenset[str]) -> Iterator[str]:
    """Yield the words in Latin and such letters that were not said, and do not merely open a sentence."""
    code = _language(written)
    openers = _OPENERS | STOP_WORDS.get(code, frozenset()) | STOP_WORDS["en"]
    for word in WORD.findall(written):
        plain = _plain(word)
        if plain not in said and plain not in openers and language(word) not in ("ko", "ja", "zh"):
            yield word


def _plain(word: str) -> str:
    return _POSSESSIVE.sub("", word.casefold())


_LITTLE = frozenset(tokens(" ".join(SAYS_LITTLE), "en"))
