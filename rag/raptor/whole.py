"""Whether a question asks about a whole: it names nothing but the document itself. English, Korean, Japanese.

"Summarise the meeting" and "What is the plot of the story?" are near to every passage and to none. Once the
words are taken away that ask for an overview, and those that call a document a document, nothing is left of
them. Of "Summarise the discussion about costs" costs are left, and they can be searched for.
"""

import re

from rag.text.language import words_of
from rag.text.tokenize import tokens

# As the English tokens are: in their stems, stop words left out.
_ENGLISH = words_of(
    """
    summar summari summaris synopsi outlin overview abstract gist essenc recap overal whole entir
    complet
    full general main major key central import primari chief core basic brief briefli short shortli concis
    high level bird eye view pictur tldr tl dr
    point idea theme topic subject content messag takeaway conclus find result argument highlight
    matter issu plot stori storylin narrat tale novel book chapter text document file page paper report
    articl studi memo transcript meet convers call discuss session interview lectur talk present collect
    librari describ explain tell give provid list say state discuss cover happen event occur deal
    concern contain includ mention present pleas can could would know learn read purpos
    sentenc paragraph word bullet
    """
)
_OTHERS = re.compile(
    """요약|줄거리|개요|전체적|전체|전반|핵심|주요|중요|요점|골자|주제|내용|이야기|소설|문서|글|책|파일|자료|보고서|논문|기사|회의록?|대화|논의
    |토론|사항|결론|결과|정리|설명|간단|간략|짧게|한마디|무엇|뭐|무슨|어떤|어떻게|대해|관해|대하여|관하여|대한|관한|알려|말해|다루|나오|나눈|있었|있는|일어
    |하나요|인가요|입니까|합니까|주세요|줘요?|해줘|부탁|해|하|된|되|것|점|들|은|는|이|가|을|를|의|에서|에|로|으로|과|와|도|야|지|니|나|요|서|한|인|써
    |要約|要点|要旨|概要|あらすじ|粗筋|筋書き|全体|全般|主な|主要|主題|重要|中心|論点|テーマ|トピック|ポイント|内容|話|物語|小説|文書|文章|本文|本書|本|ファイル|資料|報告書
    |レポート|論文|記事|会議|議事録?|対話|会話|議論|話し合い|話し合|結論|結果|まとめ|説明|簡単|簡潔|短く|何|どんな|どういう|どのよう|どう|教え|述べ|書かれ|起き|起こ
    |この|その|それ|これ|して|ください|下さい|ました|ますか|ます|ですか|です|てい|いる|ある|あり|られ|され|について|に関し|とは|では|から|まで|もの|こと|った|って|[のはがをにでとへもやなたてかしいくさせ]""",
    re.VERBOSE,
)
_WHOLES = re.compile(
    "요약|줄거리|개요|전체|핵심|주요|요점|골자|주제|내용|이야기|소설|문서|글|책|자료|보고서|논문|기사|회의|대화"
    "|要約|要点|要旨|概要|あらすじ|粗筋|全体|主な|主題|内容|話|物語|小説|文書|文章|本|資料|報告|論文|記事|会議|まとめ"
)
_ASIAN = re.compile("[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3]")


def asks_about_whole(question: str) -> bool:
    """Whether a question names nothing to search for but asks what there is.

    >>> asks_about_whole("What is the plot of the story?"), asks_about_whole("Describe the heating plan.")
    (True, False)
    """
    left = _OTHERS.sub(" ", question)
    if _ASIAN.search(left):
        return False
    named = set(tokens(left, "en"))
    return named <= _ENGLISH and bool(named or _WHOLES.search(question))
