"""What opens a turn and says nothing of its subject: politeness, chat spellings, that the subject changes."""

import re

from rag.small_talk import is_small_talk

_CLAUSE_END = re.compile(r"[,.!;:、。！，：…~]+\s*|\s+[-–—]+\s+|\s*[—–]\s*|(?<=[긴인건는]데)\s+|(?<=데요)\s+")
LEADS_ON = {
    "en": re.compile(
        r"(?:(?:and|but|so|or|also|then|plus)\b|what about|how about|what else|who else|where else"
        r"|anything else"
        r"|any others?|any more|(?:can you )?(?:please )?tell me more\W*$|go on|continue"
        r"|why\b(?: not)?\W*$|how so|for example|in that case|same\b"
        r"|(?:now )?in (?:[a-z]+|a table|(?:plain|simple) \w+|bullet points|\w+ (?:words"
        r"|sentences?))(?: please)?\W*$"
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
"""A sentence that begins so goes on with what was said, by language."""
LONGEST_OPENING = 60
"""Characters of an opening, at most."""

# How chats spell some words.
_SPELLINGS = {
    "u": "you",
    "ur": "your",
    "r": "are",
    "abt": "about",
    "bout": "about",
    "pls": "please",
    "plz": "please",
    "wat": "what",
    "wot": "what",
    "whats": "what is",
    "hows": "how is",
    "wheres": "where is",
    "whos": "who is",
    "cud": "could",
    "wud": "would",
    "n": "and",
    "cuz": "because",
    "y": "why",
    "b4": "before",
    "nd": "and",
}
_SPELLED = re.compile(rf"\b(?<!['’])(?:{'|'.join(_SPELLINGS)})\b(?!['’])")

_CHANGE = re.compile(
    r"\bby the way\b|\bbtw\b|\bon an?other note\b|\boff[- ]topic\b|\bunrelated(?:ly)?\b|\bseparately\b"
    r"|\b(?:different|another|new|next|other|more|last|final|quick|separate|random|side)"
    r" (?:question|topic|subject|note|thing|matter|issue)s?\b"
    r"|\b(?:on|to|for|of) (?:something (?:else|different)|another (?:topic|subject|matter))\b"
    r"|\bsomething (?:else|different)\b|\b(?:chang|switch)(?:e|ing) (?:the |gears|to|over|topics?|subjects?)"
    r"|\b(?:forget|leav(?:e|ing)|put(?:ting)?|set(?:ting)?|drop|skip|scrap|ignore)"
    r" (?:that|it|this|all that|about (?:that|it|this))\b"
    r"|\b(?:that|this) aside\b|\bmov(?:e|ing) on\b|\b(?:turning|coming|getting|switching|moving"
    r"|going) (?:now )?"
    r"(?:to|back to|onto|over to)\b|^(?:now )?(?:regarding|concerning|about|as for|as to|with regards? to"
    r"|next up"
    r"|lastly|finally|incidentally|anyway|anyways|nevermind|never mind)\b|\bnot related\b|^(?:(?:ok|now"
    r"|and|so) )*(?:on|back|next) to\b|^before i forget\b"
    r"|(?:다른|새로운|딴|또 다른|별개의?|새|추가|마지막|하나 더) ?(?:질문|얘기|이야기|주제|화제|건|거|것"
    r"|걸|문의)"
    r"|(?:화제|주제|말|이야기|얘기)를? ?(?:바꿔|돌려|바꾸|전환|돌리)|그건 그렇고|그나저나|별개로|관련 ?없"
    r"|상관 ?없"
    r"|^참$|(?:얘기|이야기|질문|건)[은는도]? ?(?:그만|됐|여기까지|이쯤)|아 맞다|그러고 ?보니|(?:제쳐|접어"
    r"|미뤄)[ 두놓]|나중에 (?:하고|얘기)|^아 참|^아참|(?:그건|이건|그거는?|그 얘기는) (?:됐|그만|제쳐"
    r"|넘어가|나중에|알겠)|말고|(?:질문|물어볼|여쭤볼"
    r"|여쭐|궁금한) ?(?:게|거|것|걸)?[^,.]{0,4}(?:하나|더|있|게요)|물어볼게|여쭤볼게|여쭙|마지막으로"
    r"|끝으로|여담"
    r"|넘어가[서죠]|(?:이번|다음)(?:에는|엔|으로는?|은)|^에 대해|(?:관련해서|관해서|대해서?) (?:물|질문"
    r"|여쭤|궁금)"
    r"|ところで|そういえば|話(?:は|題[をは]?|を)?(?:変わ|変え|戻)|(?:別の?|違う|新しい|他の|ほかの|次の"
    r"|もう一つ|追加の?|最後の?)"
    r"(?:質問|話|件|こと|話題|テーマ|トピック)|それ(?:は|は?とも)?(?:そうと|(?:話|質問|件)は(?:ここまで"
    r"|もういい|終わ|これくらい)|(?:話|質問)(?:を|が)(?:しま|あり|した)|(?:全然|全く|まったく)?(?:違う"
    r"|別の)話|さておき|置いといて|別として|いい)"
    r"|さておき|置い(?:て|と)|^さて|最後に|^あと|^ちなみに|関係(?:は)?な[いく]|余談|ついでに|次(?:に|は|の)"
    r"|について(?:です|聞|質問|お聞|伺)|(?:もう一[つ点]|一つ|一点)(?:質問|聞|伺|お聞|確認)|話題",
    re.IGNORECASE,
)
_OPENS_ANEW = re.compile(
    r"(?:by the way|btw|incidentally|unrelated|참|아 참|그나저나|그건 그렇고|별개로|마지막으로|ところで"
    r"|ちなみに|さて"
    r"|それはそうと|あと全然関係ないけど)\s+(?=\S)",
    re.IGNORECASE,
)
_ASKS = re.compile(r"[?？]")


def spelled_out(text: str) -> str:
    """Return a text with the spellings of chats written out.

    >>> spelled_out("whats this abt"), spelled_out("Could you?")
    ('what is this about', 'Could you?')
    """
    return _SPELLED.sub(lambda found: _SPELLINGS[found[0]], text)


def past_politeness(text: str) -> str:
    """Return what follows the greetings, thanks and interjections that open a text.

    >>> past_politeness("Great, thanks! And the price?")
    'And the price?'
    """
    for end in list(_CLAUSE_END.finditer(text))[:4]:
        if end.end() < len(text) and is_small_talk(text[: end.start()]):
            return past_politeness(text[end.end() :])
    return text


def past_change(text: str) -> str:
    """Return what follows a clause that says that the subject changes; the text, where none does.

    >>> past_change("Moving on to pay, what is due?"), past_change("Who moved on, and why?")
    ('what is due?', 'Who moved on, and why?')
    """
    for end in _CLAUSE_END.finditer(text[:LONGEST_OPENING]):
        opening = text[: end.start()]
        if _ASKS.search(opening):
            break
        if end.end() < len(text) and _CHANGE.search(opening):
            return text[end.end() :]
    found = _OPENS_ANEW.match(text)
    return text[found.end() :] if found else text
