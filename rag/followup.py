"""Whether a question leans on the conversation before it: English, Korean, Japanese. No model.

It leans when it points back (pronouns, demonstratives), leads on ("and", "그럼", "では"), compares with
something unsaid, or says too little by itself. Greetings and thanks do not lean: they ask nothing.
"""

import re

from rag.text import language, tokens

SHORT = 3
"""Content words at or under which an English question may say too little by itself."""
BRIEF = 14
"""Letters at or under which the same goes for Korean and Japanese."""

_SMALL_TALK = re.compile(
    r"(?:hi|hello|hey|good (?:morning|evening|afternoon)|thanks?|thank you|thx|ok(?:ay)?"
    r"|great|nice|cool|perfect|bye|goodbye|see you|got it|i see|sure|yes|no"
    r"|안녕히 [가계]|안녕|고마워|고맙|감사|수고|네|예|응|그래|알겠|좋아|잘 가|반가"
    r"|こんにちは|こんばんは|おはよう|ありがと|どうも|はい|いいえ|うん|了解|わかりました"
    r"|さようなら|お疲れ|すごい)",
    re.IGNORECASE,
)
_POLITE = re.compile(
    r"(?:(?:very|so|much|a lot|for|the|your|you|help|answer|information|that|this|is|was|all|to|know|good"
    r"|there|everyone)\b *"
    r"|요|세요|하세요|습니다|합니다|해요|했습니다|어요|아요|정말|너무|도움|답변"
    r"|うございます|ございます|ございました|ました|う|です|ね|よ|本当に)+",
    re.IGNORECASE,
)

# A word that stands for something said before.
_PRONOUN = re.compile(
    r"\b(?:he|him|his|she|her|hers|they|them|their|theirs|it|its|former|latter)\b"
    r"|\b(?:this|these|those)\b"
    r"(?! (?:article|document|file|page|text|report|paper|pdf|year|month|week|century)\b)"
    r"|(?:^|\b(?:about|of|for|to|with|like|is|was|do|does|did|than|after|before|by|from|in|on|at|mean) )"
    r"that\b"
    r"(?! (?:is|are|was|were|can|has|have|had|the|a|an|i|you|we)\b)",
    re.IGNORECASE,
)
_EMPTY_IT = re.compile(
    r"\b(?:is|was|does|did|would|will|can|may|could|might|should) it"
    r" (?:possible|true|legal|safe|ok|okay|better|good|bad|necessary|important|snow|rain|take|cost|matter"
    r"|common|normal|called)\b(?=.{12})"
    r"|\bit(?:'s| is| was) (?:possible|true|called|said|known|okay)\b(?=.{12})",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(
    r"\b(?:else|others?|another|instead|as well|too|same|next|afterwards?|later|earlier|back then"
    r"|(?:the|which) (?:(?:first|second|third|last|other|next|previous|best|latest|new) )?ones?)\b"
    r"|\bthe (?:second|third|last|other|rest|next|previous)\W*$|\b(?:there|then|here)\W*$",
    re.IGNORECASE,
)
_DEMONSTRATIVE = {
    "ko": re.compile(
        r"(?:^|\s)(?:그것|그게|그건|그거|이것|이게|이건|이거|저것|저건|그들|그녀|그분)"
        r"|(?:^|\s)(?:그때|그곳|거기|여기|이때|이곳|그중|얘|걔)"
        r"|(?:^|\s)(?:그는|그가|그의|그를|그에게)(?=\s|\?|$)"
        r"|(?:^|\s)(?:그|이|저|해당|위|앞의|방금)\s(?!외|문서|글|파일|자료|논문|보고서)[가-힣]"
    ),
    "ja": re.compile(
        r"それ|これ|あれ|その|この(?!論文|文書|資料|記事|ファイル)|あの|そこ|ここ|そちら|こちら|彼"
        r"|同(?:社|氏|年|校|国|市|県|法|作|書)|当時|両者|前者|後者"
    ),
}
_UNSAID = {
    "ko": re.compile(
        r"다른|또 |더 |나머지|이외|외에|번째|마지막|다음|같은|비교|차이|(?:은|는)\s?어(?:때|떤가|떻)"
    ),
    "ja": re.compile(
        r"他の|ほかの|別の|もう(?:一|ひと)|より|残り|以外|つ目|番目|最後の|次の|同じ|比べ|違い"
        r"|(?:は|って)(?:どう|いかが)"
    ),
}

# A sentence that begins so goes on with what was said.
_LEADS_ON = {
    "en": re.compile(
        r"(?:and|but|so|or|also|then|plus|what about|how about|what else|who else|where else|anything else"
        r"|any others?|any more|(?:can you )?(?:please )?tell me more\W*$|go on|continue"
        r"|why\b(?: not)?\W*$|how so|for example|in that case|same\b"
        r"|(?:no|yes|ok|okay|well|so)?\W*i meant?\b)",
        re.IGNORECASE,
    ),
    "ko": re.compile(
        r"그럼|그러면|그렇다면|그리고|그런데|근데|그래서|하지만|그러나|또\s|또한|더 "
        r"|왜\s*(?:요|그래|그런)?\s*\?|왜요|다른 |그 외|예를 들|계속"
    ),
    "ja": re.compile(
        r"では|じゃあ|じゃ|それでは|なら|また|そして|でも|しかし|だから|ほかに|他に|もっと|さらに"
        r"|なぜ\W*$|どうして\W*$|例えば|続け"
    ),
}
# A sentence of its own has a verb that is not only implied, or gives an order.
_WHOLE = re.compile(
    r"\b(?:is|are|was|were|am|do|does|did|can|could|will|would|should|must|may|has|have|had|cause[sd]?|means?)\b"
    r"|\bhappen(?:s|ed)?\b"
    r"|^(?:please )?(?:describe|tell|explain|compare|list|give|show|summari[sz]e|define|name|find|write)\b",
    re.IGNORECASE,
)
_DEFINITE = re.compile(
    r"\bthe (?!(?:[a-z-]+ ){1,3}(?:of|in|for|between|to|from|with) )[a-z]|\bany\b|\bthere\b", re.IGNORECASE
)
_NAME = re.compile(r"(?<=[\w,'’\"] )[A-Z][\w&’'-]+|\b[A-Z]{2,}\b|[\"“「『][^\"”」』]+[\"”」』]|\b\w*\d\w*\b")
_CLAUSE = re.compile(r"\w{4,}[^,.;?!]*(?:[,.;?!]|\band\b|\bif\b)")
# A topic of its own: a word with a particle (Korean), a word of Kanji, Katakana or Latin letters with one.
_TOPIC = {
    "ko": re.compile(r"[가-힣A-Za-z0-9]{2,}(?:은|는|이|가|을|를|의|에서|에|와|과|로)(?=[\s,])"),
    "ja": re.compile(r"[一-鿿ァ-ヺーA-Za-z0-9]{2,}(?:は|が|を|の|に|で|と)(?=[^\W])"),
}
_NOUN = re.compile(r"[가-힣]{2,}\s+[가-힣]{2,}|[一-鿿ァ-ヺー]{2,}|[A-Za-z]{3,}")


def leans(question: str) -> bool:
    """Return whether a question, not the first of its conversation, needs something from before it.

    >>> leans("And in 2023?"), leans("그건 언제야?"), leans("いくらですか?"), leans("Thanks a lot!")
    (True, True, True, False)
    """
    text = question.strip()
    if not text or is_small_talk(text):
        return False
    code = language(text)
    if code == "zh":  # a few Kanji
        code = "ja"
    if code not in _DEMONSTRATIVE:
        return _leans_in_english(text)
    return bool(_LEADS_ON[code].match(text)) or _leans_without_spaces(text, code)


def is_small_talk(text: str) -> bool:
    """Return whether a text is a greeting, thanks or assent and asks nothing.

    >>> is_small_talk("Thank you very much!"), is_small_talk("Thanks, what is OAuth?")
    (True, False)
    """
    bare = re.sub(r"[\W_]+", " ", text).strip()
    rest, before = bare, ""
    while rest and rest != before:
        before = rest
        rest = _past(_SMALL_TALK, rest)
        if rest != bare:
            rest = _past(_POLITE, rest)
    return bool(bare) and not rest


def _past(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.match(text)
    return text[found.end() :].strip() if found else text


def _leans_in_english(text: str) -> bool:
    if _LEADS_ON["en"].match(text):
        return True
    plain = _EMPTY_IT.sub(" ", text)
    pronoun = _PRONOUN.search(plain)
    if pronoun:
        before = plain[: pronoun.start()]
        return not _NAME.search(before) and not _CLAUSE.search(before)
    if _NAME.search(plain):
        return False
    if _ELSEWHERE.search(plain):
        return True
    words = frozenset(tokens(text))
    whole = bool(words) and bool(_WHOLE.search(text)) and not _DEFINITE.search(text)
    return len(words) <= SHORT and not whole


def _leans_without_spaces(text: str, code: str) -> bool:
    pointer = _DEMONSTRATIVE[code].search(text)
    if pointer and not _NOUN.search(text[: pointer.start()]):
        return True
    if sum(map(str.isalnum, text)) > BRIEF:
        return False
    return bool(_UNSAID[code].search(text)) or not _TOPIC[code].search(text)
