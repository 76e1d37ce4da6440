"""What is answered without a search: to a greeting or thanks, and where there is nothing to search yet."""

import re

from rag.corpus import CorpusStatus
from rag.small_talk import is_small_talk
from rag.text import language

_THANKS = re.compile(r"thank|thx|고마|고맙|감사|수고|ありがと|どうも|お疲れ", re.IGNORECASE)
_FAREWELL = re.compile(r"\b(?:bye|goodbye|see you)\b|안녕히|잘 가|さようなら", re.IGNORECASE)
_GREETING = re.compile(
    r"\b(?:hi|hello|hey|good (?:morning|evening|afternoon))\b|안녕|반가|こんにちは|こんばんは|おはよう",
    re.IGNORECASE,
)

_SMALL_TALK = {
    "thanks": {
        "en": "You are welcome.",
        "ko": "천만에요.",
        "ja": "どういたしまして。",
    },
    "farewell": {
        "en": "Goodbye.",
        "ko": "안녕히 가세요.",
        "ja": "さようなら。",
    },
    "greeting": {
        "en": "Hello. What would you like to know from your documents?",
        "ko": "안녕하세요. 문서에서 무엇을 알고 싶으세요?",
        "ja": "こんにちは。ドキュメントについて、何を知りたいですか?",
    },
    "other": {
        "en": "What would you like to know from your documents?",
        "ko": "문서에서 무엇을 알고 싶으세요?",
        "ja": "ドキュメントについて、何を知りたいですか?",
    },
}
_NOTHING_TO_SEARCH = {
    "empty": {
        "en": "There are no documents here yet. Add some, and ask again.",
        "ko": "아직 문서가 없습니다. 문서를 추가한 뒤 다시 질문해 주세요.",
        "ja": "まだドキュメントがありません。追加してから、もう一度質問してください。",
    },
    "reading": {
        "en": "Your documents are still being read. Ask again in a moment.",
        "ko": "문서를 아직 읽는 중입니다. 잠시 후 다시 질문해 주세요.",
        "ja": "ドキュメントはまだ読み込み中です。少し待ってから、もう一度質問してください。",
    },
    "gone": {
        "en": "Nothing of what is chosen to be searched can be: it was deleted, is empty or could not be "
        "read. Choose other documents, or all of them, and ask again.",
        "ko": "검색하도록 선택한 것 중에 검색할 수 있는 문서가 없습니다. 삭제되었거나, 비어 있거나, 읽을 수 "
        "없었습니다. 다른 문서나 전체 문서를 선택한 뒤 다시 질문해 주세요.",
        "ja": "検索対象に選ばれたものの中に、検索できるドキュメントがありません。削除されたか、空か、読み込め"
        "なかったものです。別のドキュメント、またはすべてを選んでから、もう一度質問してください。",
    },
}


def reply_to(question: str) -> str | None:
    """Return the reply to a text that asks nothing, in its language; None where there is a question.

    >>> reply_to("Thank you very much!"), reply_to("안녕하세요"), reply_to("Thanks, what is OAuth?")
    ('You are welcome.', '안녕하세요. 문서에서 무엇을 알고 싶으세요?', None)
    """
    if not is_small_talk(question):
        return None
    return _in(_SMALL_TALK[_kind(question)], question)


def nothing_to_search(question: str, status: CorpusStatus) -> str | None:
    """Say, in the question's language, why nothing can be searched; None where something can."""
    return None if status == "searchable" else _in(_NOTHING_TO_SEARCH[status], question)


def _kind(text: str) -> str:
    """Return what is meant: "Hello, and thanks" is thanks."""
    kinds = (("thanks", _THANKS), ("farewell", _FAREWELL), ("greeting", _GREETING))
    return next((kind for kind, pattern in kinds if pattern.search(text)), "other")


def _in(replies: dict[str, str], question: str) -> str:
    return replies.get(language(question), replies["en"])
