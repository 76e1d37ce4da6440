"""A remark: a statement in the middle of a conversation that neither asks nor orders anything.

Told by its form, whatever its words: who speaks or what was said comes first, a verb follows, and nothing in
it asks. English, Korean, Japanese.
"""

import re

from rag.text import language

LONGEST = 120
"""Characters of a remark, at most."""

_ASKS = {
    "en": re.compile(
        r"[?？]|\b(?:when|where|which|who|whose|whom|why|how|whether|if)\b|\bwhat\b(?! (?:i|we)\b)"
        r"|\b(?:want|wanna|need to|needs? (?:a|an|the|some|more)|wonder\w*|curious|interested|ask(?:ed"
        r"|ing)?|mean|meant"
        r"|would|could|looking for|look for|search\w*|find|tell|show|explain|list|compare|summari[sz]e|give"
        r"|please|pls|don'?t (?:get|understand|see|know)|didn'?t (?:get|understand)|confus\w+|not sure"
        r"|other|else"
        r"|instead|another|more)\b",
        re.IGNORECASE,
    ),
    "ko": re.compile(
        r"[?？]|얼마|어떻|어떤|언제|어디|누구|누가|무슨|무엇|뭐|뭘|뭔|왜|몇|어느|어때|다른|[가-힣]지[ 만]"
        r"|줘|주세|주실|주시|줄래|달라|부탁|알려|설명해|보여|찾아|요약|비교|정리해|번역|궁금|싶|필요[해하합]|까요|나요|[인은는던]가|는지|은지"
    ),
    "ja": re.compile(
        r"[?？]|か[。．]*\Z|[何誰]|いつ|どこ|だれ|どう(?!も)|どの|どれ|どんな|なぜ|いくら|いくつ|他|ほか|別"
        r"|ください|下さい|教え(?!て(?:くれ|いただ|もら))|お願い|[ほ欲]し[いく]|たい(?:です|と|の|ん|な)?|気にな|説明して|まとめて|要約|比較"
    ),
}
_TELLS = {
    "en": re.compile(
        r"(?:(?:oh|ah|ok|okay|well|yeah|yes|no|so|hm+|great|wow|right|haha|lol|sorry|alright|good|nice"
        r"|cool)\b[ ,.!]*)*"
        r"(?:(?:i|we|you)\b(?:['’]\w+)?(?: \w+)+"
        r"|(?:that|this|it|these|those|everything|all(?: of (?:it|that|this))?|nothing)"
        r"(?:['’]\w+| (?:is|was|are|were|all|really|pretty|does|did|has|had|will|helps?|helped|makes?"
        r"|made|looks?|sounds?"
        r"|seems?|works?|worked|answers?|answered|explains?|explained|clears?|cleared|covers?|covered"
        r"|saves?|saved))\b.*"
        r"|(?:makes|made|sounds|looks|seems|works|feels|got|understood|noted|glad|happy|good to|nice to"
        r"|just what|exactly"
        r"|will do|let me|no (?:worries|problem|need|further|questions?)|never ?mind|my (?:bad|mistake"
        r"|boss|manager|team)"
        r"|thought so|figured|much|fair)\b.*)"
        r"[.! ]*",
        re.IGNORECASE,
    ),
    "ko": re.compile(
        r".+(?:네요|[가-힣]{2}네|군요?|구나|구만|[할볼갈올을줄될쓸둘알]게요?|겠(?:어요?|습니다|네요?|다)"
        r"|[었았했됐렸웠났졌갔왔](?:어요?|습니다|네요?|다|음)"
        r"|[좋맞같](?:아요?|습니다))[.!…~ㅎㅋㅠ ]*"
    ),
    "ja": re.compile(
        r".*(?:(?:まし|でし|だっ|[っいしきちりえけん])た(?:です)?(?:よ|ね|な|よね|わ|ー)*"
        r"|(?:です|ます|だ|い|る|う)(?:よね|よ|ね|なあ?|わ)+ー*)[。.!！…〜~笑w ]*"
    ),
}


def is_remark(text: str) -> bool:
    """Return whether a text only says something: it asks nothing, and leaves nothing out that could be asked.

    >>> is_remark("That clears it up for me"), is_remark("That one too"), is_remark("It was in which year")
    (True, False, False)
    >>> is_remark("드디어 해결됐네요"), is_remark("やっと見つかりました"), is_remark("それはいつでしたか")
    (True, True, False)
    """
    said = text.strip()
    code = language(said)
    code = "ja" if code == "zh" else code if code in _TELLS else "en"
    if not 0 < len(said) <= LONGEST or _ASKS[code].search(said):
        return False
    return _TELLS[code].fullmatch(said) is not None
