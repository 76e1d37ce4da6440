import pytest

from rag.retrieval.question_type import asks_for_overview

WHOLE = [
    "Summarize the whole meeting.",
    "What is the plot of the story?",
    "What were the main discussion points of the meeting?",
    "What is this document about?",
    "Give me an overview, please.",
    "What are the key takeaways?",
    "TL;DR",
    "이 문서의 내용을 요약해 주세요.",
    "이야기의 줄거리는 무엇인가요?",
    "회의에서 논의된 주요 사항은?",
    "이 책은 무엇에 관한 내용인가요?",
    "この文書を要約してください",
    "物語のあらすじは何ですか",
    "会議の主な論点は？",
    "この本は何について書かれていますか",
]
PART = [
    "Summarize the discussion about costs.",
    "What did the engineer say in the meeting?",
    "Who is Harold Tate, and what happens to him in the story?",
    "What happened in 1945?",
    "How big is it?",
    "난방 계획을 요약해 주세요.",
    "김 부장은 회의에서 무슨 말을 했나요?",
    "무슨 일이 일어났나요?",
    "暖房計画について説明してください",
    "ハロルドは誰ですか",
    "",
    "?",
    "42",
]


@pytest.mark.parametrize("question", WHOLE)
def test_what_names_nothing_but_the_document_asks_about_the_whole(question):
    assert asks_for_overview(question)


@pytest.mark.parametrize("question", PART)
def test_what_names_something_does_not(question):
    assert not asks_for_overview(question)
