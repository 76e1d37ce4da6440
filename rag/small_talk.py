"""Greetings, thanks and assent: what asks nothing, and "yes" to an offer. English, Korean, Japanese."""

import re

# What may stand before a greeting, thanks or assent; what these are made of; and what may follow.
_BEFORE_SMALL_TALK = re.compile(
    r"(?:(?:oh|ah|well|that was|very|진심으로|아|오|와|정말로?|진짜|너무|매우|대단히|덕분에|잘"
    r"|(?:도와|알려|설명해|답변해|찾아)\s?(?:주셔서|줘서|주어서)|本当に|大変|心から|ああ|へえ)\b *)+",
    re.IGNORECASE,
)
_SMALL_TALK = re.compile(
    r"(?:hi|hello|hey|howdy|hiya|greetings|(?:much )?appreciated|i appreciate (?:it|that|this)|all right"
    r"|alright|right|good (?:morning|evening|afternoon|night|day)|thanks?|thank you|thx|cheers|welcome"
    r"|ok(?:ay)?|great|nice|cool|perfect|wow|interesting|awesome|good to know|bye|goodbye|see you|got it"
    r"|i see"
    r"|i understand|understood|noted|(?:that )?makes sense|that(?: s| is| was) (?:all|enough|clear|it|fine"
    r"|good|great|helpful|useful|interesting)"
    r"|never ?mind|no need|have a (?:nice|good|great)|sure|yes|yeah|yep|no"
    r"|하이|헬로|안녕히 [가계]|안녕|고마워|고맙|감사|수고|반가|반갑|좋은 (?:아침|저녁|밤|하루)|오케이|네|예"
    r"|응|그래"
    r"|알겠|좋아"
    r"|잘 가|잘 자|그렇군|그렇구나|이해했|이해됐|이해가? 됐|아니|괜찮|(?:그거|이거|그걸로|이걸로)면? (?:됐"
    r"|충분)"
    r"|(?:다음에 |나중에 )?또 (?:올게|봐|봬|뵙|만나)"
    r"|こんにちは|こんばんは|おはよう|おやすみ|はじめまして|初めまして|ありがと|どうも|はい|いいえ|うん|ええ"
    r"|了解|承知"
    r"|わかりました|分かりました|理解し|なるほど|オーケー|オッケー|さようなら|やあ|ハロー|わかった|分かった"
    r"|感謝|お疲れ|失礼|助か|すごい"
    r"|そうですか?か"
    r"|(?:それで|これで)?(?:十分|大丈夫|結構)|また(?:来|明日|今度|後で|お願い))",
    re.IGNORECASE,
)
_POLITE = re.compile(
    r"(?:(?:very|so|much|a lot|for|the|your|you|help|helpful|useful|clear|answer|information|that|this|is|was"
    r"|all"
    r"|to|know|good|there|everyone|again|then|now|day|evening|weekend|one)\b *"
    r"|드립니다|드려요|하셨습니다|하셨어요|하십니다|습니다|합니다|했습니다|입니다|이에요|예요|하세요|되세요"
    r"|보내세요|워요"
    r"|웠어요|어요|아요"
    r"|해요|네요|할게요|어|해|요|세요|정말|너무|도움|답변"
    r"|うございます|うございました|ございます|ございました|りました|ります|しました|します|いたしました"
    r"|いたします|ました"
    r"|なさい|さまでした|様でした|さま|様|ますね|ます|う|です|ね|よ|本当に)+",
    re.IGNORECASE,
)
# What asks for an offer: a request does so always, consent only where something was offered.
_REQUEST = (
    r"(?:please(?: do)?|go ahead|do (?:it|so|that)|go on|continue"
    r"|부탁(?:해요?|합니다|드려요|드립니다|할게요)?|(?:그렇게 )?해\s?(?:줘요?|주세요)|알려\s?(?:줘요?|주세요)"
    r"|계속(?:해\s?줘요?|해\s?주세요)?"
    r"|お願い(?:します|いたします)?|そうして(?:ください)?|ぜひ|教えて(?:ください)?|続けて(?:ください)?)"
)
_CONSENT = (
    r"(?:yes|yeah|yep|yup|sure|ok(?:ay)?|of course|absolutely|definitely|sounds good|i would(?: like that)?"
    r"|why not"
    r"|네|예|응|어|그래요?|좋아요?|좋습니다|물론(?:이죠|이지)?|はい|うん|ええ|もちろん(?:です)?|いいですね)"
)
_ASSENT = re.compile(rf"(?:{_CONSENT} ?){{0,4}}(?:{_REQUEST} ?){{0,3}}\Z", re.IGNORECASE)
_ASKED_FOR = re.compile(rf"(?:{_CONSENT} ?){{0,4}}(?:{_REQUEST} ?){{1,3}}\Z", re.IGNORECASE)
_ASKS = re.compile(r"(?:[?？]|(?:까요|나요|ましょうか|ますか|ですか)[.。]?)[\s\"”」』)\]]*\Z")
_MARKER = re.compile(r"\[\d+\]")


def is_small_talk(text: str) -> bool:
    """Return whether a text is a greeting, thanks or assent and asks nothing.

    >>> is_small_talk("Thank you very much!"), is_small_talk("Thanks, what is OAuth?")
    (True, False)
    """
    said = bare(text)
    start = rest = said if _SMALL_TALK.match(said) else past(_BEFORE_SMALL_TALK, said)
    while rest:
        ways = (_SMALL_TALK, _BEFORE_SMALL_TALK, _POLITE) if rest != start else (_SMALL_TALK,)
        left = next((shorter for way in ways if (shorter := past(way, rest)) != rest), rest)
        if left == rest:
            return False
        rest = left
    return bool(start)


def assents(text: str, answer: str) -> bool:
    """Return whether a text asks for what the last answer offered: "yes" to a question, or "please do".

    >>> assents("Yes", "It is [1]. Shall I list more?"), assents("Yes", "It is [1].")
    (True, False)
    """
    said = bare(text)
    if not said or not _ASSENT.match(said):
        return False
    return bool(_ASKED_FOR.match(said) or _ASKS.search(_MARKER.sub("", answer).strip()))


def bare(text: str) -> str:
    """Return the words of a text, a space between them."""
    return re.sub(r"[\W_]+", " ", text).strip()


def past(pattern: re.Pattern[str], text: str) -> str:
    """Return what follows the pattern at the start of a text; the text, where it does not stand there."""
    found = pattern.match(text)
    return text[found.end() :].strip() if found else text
