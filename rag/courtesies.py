"""The words that greetings, thanks and acknowledgements are made of: English, Korean, Japanese.

A word says so by itself ("thanks"), or only goes along with one that does ("so", "much").
"""

import re

from rag.language import words_of

SAYS = words_of(
    """
    hi hello hey heya yay hooray hiya howdy yo greetings welcome thanks thank thankyou thx tnx ty tysm cheers
    appreciated appreciate ta ok okay okey okie k kk alright right good great nice cool perfect
    excellent brilliant
    amazing wonderful fantastic awesome lovely super superb neat sweet impressive wow interesting
    fascinating surprising bye goodbye cya sorry lol haha hehe hmm hm mm mhm ah aha oh ooh sure yes yeah
    yea yep yup no nope nah fine noted understood gotcha clear fair enough sense helpful useful handy
    worked works done pleasure congratulations congrats night morning evening afternoon care weekend tomorrow
    """
)
"""English words of politeness."""
GOES_ALONG = words_of(
    """
    i you u we me my your it this that there is s are re am m was were be been a an the for to of and but
    so very really quite pretty too just all exactly absolutely totally definitely needed wanted looking
    lot lots bunch ton million much everything anything now today again later soon not answered then day
    week help
    helped helps helping answer answers answering info information explanation explaining clarifying
    time work job know hear see saw seen meet meeting talk get got makes make made have had has will ll
    d do did t with in at as well think believe guess understand bit
    nothing need needs problem worries bad everyone guys team mate man buddy friend sir
    way kind enjoy what clears cleared up stuff sorted solved mistake fault bad
    """
)
"""English words that ask for nothing beside those."""
ASKING = re.compile(
    r"(?<!that )(?<!this )(?<!it )(?<!there )\b(?:is|are|was|were|do|did|have|had|has|will) "
    r"(?:i|you|u|we|it|this|that|there|the)\b"
    r"|\bnot\b(?! (?:now|today|bad|yet|at all)\b)"
    r"|\bwhat\b(?! (?:i|we)\b)",
    re.IGNORECASE,
)
"""A verb before its subject, or "what" but "what I needed": something is asked after all."""
PLEASANTRY = re.compile(
    r"hi+|he+y+|hello+|how (?:are|r) (?:you|u|things)(?: doing| today)*|how s (?:it going|everything|life)"
    r"|how is it going|how do you do|what s up|whats up|sup|how about you|and you"
    r"|잘 (?:지내|지냈|지내셨|있었)(?:세|어|니|냐)?요?|お?元気(?:ですか|かな|でしたか)?|調子は(?:どう"
    r"|いかが)(?:ですか)?",
    re.IGNORECASE,
)
"""What is asked for politeness' sake."""

TELLS = re.compile(
    r"(?:i|you|we|it|that|this)(?:['’]\w+)? (?!.*\b(?:need|want|mean|meant|wonder|like|ask|asked|said|but"
    r"|not|which"
    r"|when|how|why|where|who|if|one|other)\b)(?!(?:would|was just|also)\b)[^?,.;]{2,40}"
    r"|(?!.*(?:얼마|어떻게|언제|어디|누[구가]|무[슨엇]|왜|다른|번째))[가-힣 ]{2,16}(?:네요?|군요|구나"
    r"|[었았했됐렸]어요?|[었았했됐렸]습니다|게요|겠습니다)"
    r"|(?!.*[何誰]|.*(?:いつ|どこ|どう|なぜ|他|別))[^?？、。]{1,16}(?:ました|でした|だった"
    r"|[いきしちりっんけ]た)(?:よ|ね|な)?"
    r"|(?!.*[何誰]|.*(?:いつ|どこ|どう|なぜ|他|別))[^?？、。]{1,16}(?:ます|です|だ)(?:よ|ね|な)",
    re.IGNORECASE,
)
"""A short statement of one's own or about what was said: after thanks, it asks nothing either."""

_KO_ENDING = (
    r"(?:(?:하|합|했|해|드|드리|드려|드립|드렸|되|됩|됐|돼|웠|워|습니|입니|이|었|았|였|셨|십니|세|시|겠|어"
    r"|아"
    r"|여|구|렸|니|지만|는데|은데|한|인|히)*"
    r"(?:요|다|네|군|구나|은|어|아|해|돼|지|죠|워|히|용|당|함|됨|음))?"
)
SAYS_IN_KOREAN = re.compile(
    r"(?:하이|헬로|안녕|고마|고맙|감사|땡큐|수고|반가|반갑|봤|그렇|그러|알겠|알았|알게|좋|이해[가도]?|아니"
    r"|괜찮|됐|되었|완벽"
    r"|훌륭|대단|최고|멋지|멋져|재밌|재미있|흥미롭|흥미로|신기|놀랍|놀라|유용|유익|다행|미안|죄송|충분"
    r"|명확|확실"
    r"|깔끔|친절|도움됐|확인|파악|고생|실례|잘자|잘가|들어가|주무|가|계|쉬)"
    rf"{_KO_ENDING}"
    r"|(?:네+|넵|넹|예|응+|웅|그래|오케이|오키|오케|굿|아하|오호|와우|우와|헐|ㅇㅋ|ㅇㅇ|(?:ㄱㅅ|ㄳ)+|대박"
    r"|[ㅋㅎㅠㅜ]+)요?"
    r"|자요?|안녕하십니까|[가-힣]{0,6}(?:네요|군요|구나|구먼|할게요?|볼게요?|올게요?|을게요?|겠습니다"
    r"|겠어요?)"
)
"""A Korean word of politeness, or one with an end of statements of one's own: "-네요", "-겠습니다"."""
GOES_ALONG_IN_KOREAN = re.compile(
    r"정말로?|진짜로?|너무|매우|대단히|아주|많이|많은|큰|덕분에|덕택에|잘|다|이제|이만|그만|그럼|아+|오+"
    r"|와+|음+|흠+"
    r"|어+|저[는도]?|나[는도]?|제가|모두|전부|오늘[은도]?|(?:하루|아침|점심|오전|오후|저녁|밤"
    r"|주말)(?:이에요|예요|이야|입니다)?|되세요|보내세요|하세요|됩니다"
    r"|도움[이도]?|답변|설명|안내|덕에|친절한|자세한|빠른|정확한|명쾌한|여기까지|이상|좋은|즐거운|행복한"
    r"|다음에"
    r"|나중에|또|다시|그거면|그걸로|이걸로|이거면|이거로|더는|필요|없어요?|없습니다|있어요?|있습니다"
    r"|만나서|뵙게|봬요?"
    r"|봐요?|만나요?|무슨|말인지|뭔지|한|번|되어|되었어요|아뇨|궁금한|지금은|그렇게|아니|완전|되게|꽤|참"
    r"|[가-힣]{0,4}(?:셔서|줘서|주어서|어서|아서|해서)"
)
"""A Korean word that asks for nothing beside one."""
SAYS_IN_JAPANESE = re.compile(
    r"(?:こんにち[はわ]|こんばん[はわ]|おは(?:よう)?|おやすみ|はじめまして|初めまして|ありがと|有難う"
    r"|あざっ?す|サンキュー"
    r"|どうも|(?:よい|良い)(?:一日|週末)|わ[ーあ]+い?|うー+ん?|拝見|はい|いいえ|いえ|いや|うん|ええ|了解"
    r"|りょ|ううん|(?:い|要)らない|承知|かしこまり|(?:よく)?(?:わか|分か)(?:り|った)|理解"
    r"|なるほど|オーケー|オッケー|おけ|さようなら|さよなら|バイバイ|やあ|やっほー|ハロー|感謝|お疲れ"
    r"|おつかれ|ご苦労"
    r"|失礼|助か|すご[いく]|凄い|そう(?:なん|だったん)?(?:ですか|ですね|だね|だよね|なの|か|だ|です)|そっか"
    r"|へ[えぇー]+|ふ[ー〜]?ん|ふむ+|お[おー〜]+|ほ[うー]+|完璧|素晴らし[いく]|最高|面白い|おもしろい"
    r"|興味深い"
    r"|よかった|良かった|(?:それで|これで)?(?:十分|充分|大丈夫|結構|オーケー|いい|良い|OK)|また(?:来|質問"
    r"|聞|明日|今度|後|お願)"
    r"|すみません|すいません|ごめん|申し訳|よろしく|宜しく|お世話|参考にな|勉強にな|もういい|以上|ばっちり"
    r"|笑"
    r"|納得|確認|満足|嬉しい|うれしい|楽しかった|[wｗ]+$|OK|ok|thanks)"
)
"""What says so in Japanese, where no space ends a word."""
GOES_ALONG_IN_JAPANESE = re.compile(
    r"(?:でき|では|うございま(?:す|した)|ございま(?:す|した)|いたしま(?:す|した)|でした|だった|しました"
    r"|します|した|りました"
    r"|ります|ました|ます|です|なさい|さまでした|様でした|さま|様|さん|んだ|なん|ね|よ|な|だ|う|った|って"
    r"|て|で|に|は"
    r"|が|を|と|も|の|ー|〜|ああ|あー|えー|とても|すごく|本当|ほんと|大変|心から|よく|とりあえず|もう|これ"
    r"|それ"
    r"|今日|いろいろ|色々|丁寧|詳しい|早い|説明|回答|情報|お?教え|調べ|答え|くれ|いただ(?:い|き)|頂(?:い"
    r"|き)|もらえ"
    r"|お願い|良い|よい|いい|一日|週末|皆|みな|こと|し|まし|り|い|く|やっと|あっ|あ|ご|お|では|今|でき"
    r"|勘違い|今回|特に|あり|ません|ない|です)"
)
"""What asks for nothing beside it."""
