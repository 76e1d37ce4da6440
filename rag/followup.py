"""Whether a question leans on the conversation before it: English, Korean, Japanese. No model.

It leans when it points back (pronouns, demonstratives), leads on ("and", "그럼", "では"), compares with
something unsaid, or says too little by itself. Greetings and thanks do not lean: they ask nothing.
"""

import re
from collections.abc import Sequence

from rag.language import words_of
from rag.small_talk import assents, bare, is_small_talk, past
from rag.text import language, tokens

SHORT = 3
"""Content words at or under which an English question may say too little by itself."""
BRIEF = 14
"""Letters at or under which the same goes for Korean and Japanese."""

SAYS_LITTLE = words_of(
    """
    add added allow ask asked become became begin best better bring call called came case change come
    consider contain day days different difficult end ended example fact find follow found general get
    getting give given go going good great happen happened help important include including interesting
    involve keep kind know known large later learn let like likely line list little long look lot made
    main major make makes mean means meant mention mentioned much name named need new next number old
    order part people play played point popular provide question really reason receive refer related
    right said saw say says see seen serve set several show side similar small sorry special start
    started state sure take taken takes talk tell thank thanks thing things think time times took total
    true try turn type types use used using want way week well went work worked year years yes
    """
)
"""English words that name no subject."""

# What opens a turn and says nothing of its subject: an interjection, or that the subject changes.
_INTERJECTION = re.compile(
    r"(?:(?:(?:oh |ah |ok |wow )?(?:thanks?(?: you)?(?: (?:so|very) much| a lot)?|ok(?:ay)?|great|cool|wow"
    r"|interesting|awesome|nice|oh|ah|hm+|mm+"
    r"|(?:that|it)(?: is|['’]s| was| sounds| looks) (?:very |really |so |too )?"
    r"(?:good|great|nice|interesting|bad|sad|clear)"
    r"|yes|yeah|no|sure|right|i see|good to know|감사합니다|고마워요?|네|예|응|아|오|와|그렇군요|좋아요?"
    r"|ありがとう(?:ございます)?|はい|うん|なるほど|わかりました|へえ|ああ))\s?[,.!、。！…]+\s*)+(?=\S)",
    re.IGNORECASE,
)
_NEW_SUBJECT = re.compile(
    r"(?:by the way|btw|(?:now )?(?:speaking of |for |to |on to )?something (?:else|different)|(?:a |an "
    r"|on a |on an |on )?"
    r"(?:different|another|new|next|unrelated) (?:question|topic|subject|note|thing|matter)|one (?:more|last"
    r"|other) (?:thing|question)"
    r"|(?:let(?:'|’)?s |let us |to |)chang(?:e|ing) the (?:subject|topic)"
    r"|(?:다른|새로운|딴|또 다른|별개의) (?:질문|얘기|이야기|주제|화제)(?:인데요?|입니다만?|이에요|예요"
    r"|인데 말이야)?|(?:화제|주제|말|이야기)를 (?:바꿔서?|돌려서?|바꾸면)"
    r"|그건 그렇고|그나저나|별개로|이와 별개로|참|마지막으로|끝으로|여담인데|여담이지만"
    r"|ところで|話は変わりますが|話(?:題)?を変え(?:て|ますが|ると)|別の(?:質問|話|件)(?:ですが|です|だけど"
    r"|で)?|新しい(?:話題|質問)(?:ですが|です|で)?"
    r"|それはそうと|さて|最後に|あと|ちなみに)(?:[\s,.:;!、。：]+)(?=\S)",
    re.IGNORECASE,
)

JUDGED = 600
"""Characters of a turn that are judged: one that leans says so early, and a long one says enough."""
LONGEST_MORE = 80
"""Characters of a turn that asks for more of the same, at most: a longer one asks for something."""
# More of the same: nothing new is asked for.
_MORE = re.compile(
    r"(?:(?:can|could|would) you |please )*(?:(?:tell me|say|know|anything|something|some|a bit"
    r"|a little) )?more"
    r"(?: (?:details?|info|information|please|about (?:it|that|this)))*"
    r"|(?:(?:can|could|would) you |please )*(?:go on|continue|keep going|elaborate|explain)"
    r"(?: (?:more|further|it|that|this|please|in (?:more )?detail))*"
    r"|(?:but )?why(?: not| so| is (?:that|this|it)(?: so)?)?|how (?:so|come)|what do you mean(?: by that)?"
    r"|meaning"
    r"|(?:in )?more detail(?:s|ed)?(?: please)?|(?:are you )?(?:sure|certain)|really|is that (?:true|so)"
    r"|what else|and"
    r"|(?:(?:can|could) you )?(?:give (?:me )?)?(?:for |an |another |some |more )*examples?(?: please)?"
    r"|(?:(?:좀|조금|더|자세히|자세하게|상세히|구체적으로|계속|이어서|그것도|그걸|예를|예시를?|하나|들어|들면"
    r"|설명해?|알려|말해|얘기해|해) ?){1,5}"
    r"(?:줘요?|주세요|주실래요|줄래요?|줄 수 있어요?|주시겠어요|요)?"
    r"|왜(?: ?(?:요|그래요?|그런가요?|그렇죠|그런 ?거(?:야|예요|죠)))?|어째서(?:요)?|이유는?요?|무슨 (?:뜻|말"
    r"|의미)(?:이?야|이?에요|인가요|이죠)?"
    r"|정말(?:요|이야|이에요)?|진짜(?:요|야)?|예를 ?들(?:면|어서?)"
    r"|(?:もっと|もう少し|もうちょっと|さらに|より)?(?:詳しく|くわしく|詳細(?:に|を)?|具体的に|例を(?:一つ"
    r"|ひとつ)?(?:挙げて)?|続きを?)?"
    r"(?:お?教えて|説明して|話して|聞かせて|続けて|知りたい)?(?:もらえますか|くれますか|いただけますか"
    r"|ください|下さい|お願いします|です)?"
    r"|(?:それは)?(?:なぜ|どうして|なんで)(?:ですか|なの(?:ですか)?|でしょうか)?|理由は|例えば|たとえば"
    r"|どういう(?:意味|こと)(?:ですか)?"
    r"|本当(?:に|ですか)?|ほんと(?:に)?",
    re.IGNORECASE,
)

# A word that stands for something said before.
_PRONOUN = re.compile(
    r"\b(?:he|him|his|she|her|hers|they|them|their|theirs|it|its|former|latter)\b"
    r"|\b(?:this|these|those)\b"
    r"(?! (?:article|document|file|page|text|report|paper|pdf|year|month|week|century)\b)"
    r"|(?:^|\b(?:about|of|for|to|with|like|is|was|do|does|did|than|after|before|by|from|in|on|at|mean"
    r"|explain|describe|compare|list|show|summari[sz]e|define|translate|repeat|find) )"
    r"that\b"
    r"(?! (?:is|are|was|were|can|has|have|had|the|a|an|i|you|we)\b)"
    r"|^(?:(?:why|how|when|where|what|who) )?(?:is|was|does|did|will|would|can|could|should|has) that\b"
    r"|\bthat(?= (?:down|up|out|further|again)\b|\W*$)",
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
        r"다른|또 |더 |나머지|이외|외에|번째|마지막|다음|같은|비교|차이"
        r"|^\S+(?:은|는)\s?어(?:때|떤가|떻게\s?[되돼됐])"
        r"|(?:으?로|에게|에)(?:는|도)\s?(?:얼마|언제|어디|누[구가]|왜|뭐|무엇|어[때떻])"
    ),
    "ja": re.compile(
        r"他の|ほかの|別の|もう(?:一|ひと)|より|残り|以外|つ目|番目|最後の|次の|同じ|比べ|違い"
        r"|(?:は|って)(?:どう|いかが)|にも|でも|もう少し|例を"
        r"|(?:では|には)(?:いくら|いつ|どこ|だ?誰|どう|なぜ|どれ|何(?!が))"
        r"|の(?:前|後|あと|間|場合|時|とき|際|ほか)は\W*$"
    ),
}

# A sentence that begins so goes on with what was said.
_LEADS_ON = {
    "en": re.compile(
        r"(?:(?:and|but|so|or|also|then|plus)\b|what about|how about|what else|who else|where else"
        r"|anything else"
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
    r"\b(?:is|are|was|were|am|do|does|did|can|could|will|would|should|must|may|has|have|had|cause[sd]?"
    r"|means?)\b"
    r"|\b(?:happen(?:s|ed)?|exists?)\b"
    r"|^(?:please )?(?:describe|tell|explain|compare|list|give|show|summari[sz]e|define|name|find|write)\b",
    re.IGNORECASE,
)
_EMPTY_STEMS = frozenset(tokens(" ".join(SAYS_LITTLE), "en"))
_EXAMPLE = re.compile(r"\bexamples?\W*$", re.IGNORECASE)
# A year dates a question and names nothing: "what happened in 1966?"
_YEAR = re.compile(r"\b(?:in|by|since|after|before|until|from|during) (?:1\d|20)\d\d\b", re.IGNORECASE)
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
# What something has, without what has it: "the reason", where nothing is said before it.
_RELATION = {
    "ko": re.compile(
        r"(?:그 )?(?:예외|이유|원인|조건|방법|비용|가격|금액|기간|기한|시기|장점|단점|장단점|차이점?|결과"
        r"|특징|종류|예시|목적|대상"
        r"|위치|이름|나이|순서|절차|자격|역할|의미|효과|영향|문제점?|해결책|대안|근거|출처|규모|한도|벌칙"
        r"|혜택|담당자|책임자|작성자|저자|대표자|소유자"
        r"|(?:더 )?(?:자세한|상세한|구체적인) (?:내용|정보|사항))"
        r"(?:은|는|이|가|을|를|도|에는|만)?(?:요|\s|\W*$)"
    ),
    "ja": re.compile(
        r"(?:例外|理由|原因|条件|方法|費用|価格|金額|期間|期限|時期|利点|欠点|長所|短所|違い|結果|特徴|種類"
        r"|例|目的|対象|場所"
        r"|名前|年齢|順番|順序|手順|手続き|資格|役割|意味|効果|影響|問題点?|解決策|代案|根拠|出典|規模|上限"
        r"|罰則|特典|担当者|責任者|作成者|著者|代表者|所有者)"
        r"(?:は|が|を|も|に|$)"
    ),
}
# The second of what? However long the sentence is.
_NTH = {
    "ko": re.compile(
        r"(?:첫|두|세|네|다섯|마지막|다음|이전)\s?번?째?\s?(?:것|거|건|조건|항목|방법|이유|질문|문장|점|예)"
    ),
    "ja": re.compile(
        r"(?:[一二三四五\d]つ目|[一二三四五\d]番目|最後|次|前)の(?:もの|の|条件|項目|方法|理由|質問|文|点|例)"
    ),
}
_NOUN = re.compile(r"[가-힣]{2,}\s+[가-힣]{2,}|[一-鿿ァ-ヺー]{2,}|[A-Za-z]{3,}")


def leans(question: str, answer: str = "") -> bool:
    """Return whether a question, not the first of its conversation, needs something from before it.

    `answer` is the last one: "yes" to its question asks for what it offered, and else for nothing.

    >>> leans("And in 2023?"), leans("그건 언제야?"), leans("いくらですか?"), leans("Thanks a lot!")
    (True, True, True, False)
    """
    text = question.strip()[:JUDGED]
    if goes_on(text, answer):
        return True
    if not text or is_small_talk(text):
        return False
    said = past(_INTERJECTION, text)
    anew = past(_NEW_SUBJECT, said)
    return _leans(said) if anew == said else _points_back(anew)


def goes_on(question: str, answer: str = "") -> bool:
    """Return whether a question asks for more of the same: what the last answer rests on serves again.

    >>> goes_on("Tell me more"), goes_on("왜요?"), goes_on("もっと詳しく"), goes_on("And in 2023?")
    (True, True, True, False)
    """
    said = bare(past(_INTERJECTION, question.strip()))
    more = 0 < len(said) <= LONGEST_MORE and bool(_MORE.fullmatch(said))
    return more or assents(question, answer)


def last_answer(history: Sequence[tuple[str, str]]) -> str:
    """Return the last answer of a conversation, (role, content) oldest first; empty where there is none."""
    return next((content for role, content in reversed(history) if role == "assistant"), "")


def _leans(text: str) -> bool:
    code = _code(text)
    if _LEADS_ON[code].match(text):
        return True
    return _leans_in_english(text) if code == "en" else _leans_without_spaces(text, code)


def _points_back(text: str) -> bool:
    """Return whether a word stands for something said before: where the subject changes, only this leans."""
    code = _code(text)
    plain = _EMPTY_IT.sub(" ", text)
    pointer = (_PRONOUN if code == "en" else _DEMONSTRATIVE[code]).search(plain)
    if not pointer:
        return False
    before = plain[: pointer.start()]
    return not any(pattern.search(before) for pattern in ((_NAME, _CLAUSE) if code == "en" else (_NOUN,)))


def _code(text: str) -> str:
    """Return which of the rules a text is judged by: a few Kanji are Japanese, other letters English."""
    code = language(text)
    return "ja" if code == "zh" else code if code in _DEMONSTRATIVE else "en"


def _leans_in_english(text: str) -> bool:
    plain = _YEAR.sub(" ", _EMPTY_IT.sub(" ", text))
    if _PRONOUN.search(plain):
        return _points_back(plain)
    if _NAME.search(plain):
        return False
    return bool(_ELSEWHERE.search(plain)) or _says_too_little(_YEAR.sub(" ", text))


def _says_too_little(text: str) -> bool:
    """Return whether an English question without names has no subject, or few words and no verb."""
    words = frozenset(tokens(text))
    if _EXAMPLE.search(text) or words <= _EMPTY_STEMS:
        return True
    whole = bool(_WHOLE.search(text)) and not _DEFINITE.search(text)
    return len(words) <= SHORT and not whole


def _leans_without_spaces(text: str, code: str) -> bool:
    if _points_back(text) or _NTH[code].match(text):
        return True
    if sum(map(str.isalnum, text)) > BRIEF:
        return False
    return bool(_UNSAID[code].search(text) or _RELATION[code].match(text) or not _TOPIC[code].search(text))
