"""What asks for more of the same, and for nothing new: English, Korean, Japanese."""

import re

MORE = re.compile(
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
"""The whole of such a turn, without marks: "tell me more", "왜요", "もっと詳しく"."""
