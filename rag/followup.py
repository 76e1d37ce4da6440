"""Whether a question leans on the conversation before it: English, Korean, Japanese. No model.

It leans when it points back (pronouns, demonstratives), leads on ("and", "그럼", "では"), compares with
something unsaid, or says too little by itself. Greetings and thanks do not lean: they ask nothing.
"""

import re
from collections.abc import Sequence

from rag.antecedents import introduced
from rag.language import words_of
from rag.more import MORE
from rag.openings import LEADS_ON, past_change, past_politeness, spelled_out
from rag.remarks import is_remark
from rag.small_talk import assents, bare, is_small_talk
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

JUDGED = 600
"""Characters of a turn that are judged: one that leans says so early, and a long one says enough."""
LONGEST_MORE = 80
"""Characters of a turn that asks for more of the same, at most: a longer one asks for something."""
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
    r"\b(?:else|(?<!each )others?(?! than)|(?<!one )another|instead|as well|too|same|next|afterwards?"
    r"|later|earlier|back then"
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
        r"다른|또 |더 |나머지|이외|외에|번째|마지막|다음|같은|똑같|동일하|마찬가지|비교|차이"
        r"|^\S+도\s"
        r"|^\S+(?:은|는)\s?어(?:때|떤가|떻게\s?[되돼됐])"
        r"|(?:으?로|에게|에)(?:는|도)\s?(?:얼마|언제|어디|누[구가]|왜|뭐|무엇|어[때떻])"
    ),
    "ja": re.compile(
        r"他の|ほかの|別の|もう(?:一|ひと)|より|残り|以外|つ目|番目|最後の|次の|同じ|比べ|違い"
        r"|(?:は|って)(?:どう|いかが)|にも|でも|もう少し|例を"
        r"|(?:では|には)(?:いくら|いつ|どこ|だ?誰|どう|なぜ|どれ|何(?!が))"
        r"|^(?:[\d一二三四五]+(?:文|行|字|語|段落|点)|表|箇条書き|リスト|一覧|図|英語|日本語"
        r"|韓国語)(?:以内)?(?:で|に)"
        r"|(?:では|には|からは|までは)\W*$"
        r"|の(?:前|後|あと|間|場合|時|とき|際|ほか)は\W*$"
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
_NOUN_OF = re.compile(r"[a-z]{4,} of (?!the\b|it\b|that\b|this\b|them\b)[a-z]{3,}", re.IGNORECASE)
_VERB = re.compile(
    r"^(?:is|are|was|were|do|does|did|can|could|will|would|should|must|may|has|have)\b", re.IGNORECASE
)
_EMPTY_STEMS = frozenset(tokens(" ".join(SAYS_LITTLE), "en"))
_EXAMPLE = re.compile(r"\bexamples?\W*$", re.IGNORECASE)
# A year dates a question and names nothing: "what happened in 1966?"
_YEAR = re.compile(r"\b(?:in|by|since|after|before|until|from|during) (?:1\d|20)\d\d\b", re.IGNORECASE)
# Who did something has its verb with it, whichever that is: "who won ...?"
_DEED = re.compile(r"^who (?!else\b)\w", re.IGNORECASE)
_DEFINITE = re.compile(
    r"\bthe (?!(?:company|firm|office|building|government|public|world|law|canteen|cafeteria)\b)"
    r"(?!(?:[a-z-]+ ){1,3}(?:of|in|for|between|to|from|with) )[a-z]|\bany\b|\bthere\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<=[\w,'’\"] )[A-Z][\w&’'-]+|\b[A-Z]{2,}\b|[\"“「『][^\"”」』]+[\"”」』]|\b\w*\d\w*\b")
_CLAUSE = re.compile(
    r"\b(?!(?:what|when|where|that|then|with|does|will|have)\b)\w{4,}[^,.;?!]*(?:[,.;?!]|\band\b|\bif\b)"
)
# A topic of its own: a word with a particle (Korean), a word of Kanji, Katakana or Latin letters with one.
_TOPIC = {
    "ko": re.compile(r"[가-힣A-Za-z0-9]{2,}(?:은|는|이|가|을|를|의|에서|에|와|과|로)(?=[\s,])"),
    "ja": re.compile(
        r"(?:(?![何誰])[一-鿿ァ-ヺーA-Za-z0-9]){2,}(?:は|が|を|の|(?<!的)(?<!正確)(?<!簡単)に"
        r"|で(?![きすし])|と|って)(?=[^\W])"
    ),
}
# What something has, without what has it: "the reason", where nothing is said before it.
_RELATION = {
    "ko": re.compile(
        r"(?:그 )?(?:예외|세부 ?(?:내용|사항|정보)|이유|원인|조건|방법|비용|가격|금액|기간|기한|시기|장점"
        r"|단점|장단점|차이점?|결과"
        r"|특징|종류|예시|목적|대상"
        r"|위치|이름|나이|순서|절차|자격|역할|의미|효과|영향|문제점?|해결책|대안|근거|출처|규모|한도|벌칙"
        r"|혜택|담당자|책임자|작성자|저자|대표자|소유자"
        r"|(?:더 )?(?:자세한|상세한|구체적인) (?:내용|정보|사항))"
        r"(?:은|는|이|가|을|를|도|에는|만)?(?:요|\s|\W*$)"
    ),
    "ja": re.compile(
        r"(?:例外|詳細|概要|理由|原因|条件|方法|費用|価格|金額|期間|期限|時期|利点|欠点|長所|短所|違い"
        r"|結果|特徴|種類"
        r"|例|目的|対象|場所"
        r"|名前|年齢|順番|順序|手順|手続き|資格|役割|意味|効果|影響|問題点?|解決策|代案|根拠|出典|規模|上限"
        r"|罰則|特典|担当者|責任者|作成者|著者|代表者|所有者)"
        r"(?:は|が|を|も|に|$)"
    ),
}
# The second of what? However long the sentence is.
# Two things are told apart or compared, and both are named.
_BOTH = re.compile(
    r"(?:와|과|이?랑|하고|및)\s+\S+?(?:의|를|을|은|는|이|가)?\s.*(?:차이|비교|다른|다르|같)|と\S+?(?:の|を"
    r"|は|が)\S*(?:違|比|同)"
)
# In Korean: what two things at least are named by, a particle or not, before the word that asks.
_NAMED = re.compile(
    r"(?:^|\s)(?!얼마|어떻게|언제|어디|누[구가]|무[슨엇]|몇|왜|어떤|어느|좀|조금|그"
    r"|저)[가-힣A-Za-z0-9]{2,}(?<![고서면며게히만야은는로도한운요다줘어아해지데까나니래거것된될할쓴큰른])(?=\s)"
)
_FRAGMENT = re.compile(r"(?:[은는도]요|에[는도])\W*$")
_ASKED = re.compile(r"[가-힣]{2,}(?:이?란|이라는 게|이?라고)(?=\W|$)")
_NTH = {
    "en": re.compile(
        r"\bthe (?:first|second|third|fourth|last|other|next|previous) (?:option|one|point|condition"
        r"|item|part|step)\b"
        r"|^(?:can|could|would|will) (?:you|i|we) (?:please )?\w+(?: please)?\W*$",
        re.IGNORECASE,
    ),
    "ko": re.compile(
        r"(?:첫|두|세|네|다섯|마지막|다음|이전)\s?번?째?\s?(?:것|거|건|조건|항목|방법|이유|질문|문장|점|예)"
    ),
    "ja": re.compile(
        r"(?:[一二三四五\d]つ目|[一二三四五\d]番目|最後|次|前)の(?:もの|の|方|ほう|案|条件|項目|方法|理由"
        r"|質問|文|点|例)"
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
    said = past_politeness(spelled_out(text))
    if is_remark(said):
        return False
    anew = past_change(said)
    return _leans(said) if anew == said else _points_back(anew)


def goes_on(question: str, answer: str = "") -> bool:
    """Return whether a question asks for more of the same: what the last answer rests on serves again.

    >>> goes_on("Tell me more"), goes_on("왜요?"), goes_on("もっと詳しく"), goes_on("And in 2023?")
    (True, True, True, False)
    """
    said = bare(past_politeness(spelled_out(question.strip())))
    more = 0 < len(said) <= LONGEST_MORE and bool(MORE.fullmatch(said))
    return more or assents(question, answer)


def last_answer(history: Sequence[tuple[str, str]]) -> str:
    """Return the last answer of a conversation, (role, content) oldest first; empty where there is none."""
    return next((content for role, content in reversed(history) if role == "assistant"), "")


def _leans(text: str) -> bool:
    code = _code(text)
    if LEADS_ON[code].match(text):
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
    if code == "en" and introduced(before, pointer[0]):
        return False
    return not any(pattern.search(before) for pattern in ((_NAME, _CLAUSE) if code == "en" else (_NOUN,)))


def _code(text: str) -> str:
    """Return which of the rules a text is judged by: a few Kanji are Japanese, other letters English."""
    code = language(text)
    return "ja" if code == "zh" else code if code in _DEMONSTRATIVE else "en"


def _leans_in_english(text: str) -> bool:
    plain = _YEAR.sub(" ", _EMPTY_IT.sub(" ", text))
    if _NTH["en"].search(plain):
        return True
    if _PRONOUN.search(plain):
        return _points_back(plain)
    if _NAME.search(plain):
        return False
    if _ELSEWHERE.search(plain):
        return True
    return _says_too_little(_YEAR.sub(" ", text)) and not _is_a_dated_deed(text)


def _is_a_dated_deed(text: str) -> bool:
    """Return whether an English question asks who did what in which year, and names all of it."""
    undated = _YEAR.sub(" ", text)
    if undated == text or not _DEED.match(text) or _DEFINITE.search(undated):
        return False
    return len(frozenset(tokens(undated)) - _EMPTY_STEMS) >= SHORT


def _says_too_little(text: str) -> bool:
    """Return whether an English question without names has no subject, or few words and no verb."""
    words = frozenset(tokens(text))
    if _EXAMPLE.search(text) or words <= _EMPTY_STEMS:
        return True
    if len(words) == SHORT and _NOUN_OF.match(text):
        return False
    whole = bool(_WHOLE.search(text)) and not _DEFINITE.search(text)
    if _DEFINITE.search(text) and len(words) == SHORT and _VERB.search(text):
        return False
    return len(words) <= SHORT and not whole


def _leans_without_spaces(text: str, code: str) -> bool:
    if _points_back(text) or _NTH[code].match(text):
        return True
    if sum(map(str.isalnum, text)) > BRIEF or _BOTH.search(text):
        return False
    if _UNSAID[code].search(text) or _RELATION[code].match(text):
        return True
    return not _names_a_topic(text, code)


def _names_a_topic(text: str, code: str) -> bool:
    named = code == "ko" and (
        _ASKED.search(text) or (len(_NAMED.findall(f"{text} ")) > 1 and not _FRAGMENT.search(text))
    )
    return bool(named or _TOPIC[code].search(text))
