import pytest

from rag.condense import REMEMBERED, condense
from rag.errors import Cancelled
from rag.followup import leans
from rag.llm import LLM, LLMSettings
from rag.small_talk import is_small_talk

ENGLISH = [("user", "What is the refund policy of Acme Cloud?"), ("assistant", "Refunds take 14 days [1].")]
KOREAN = [
    ("user", "삼성전자의 2022년 매출은 얼마인가요?"),
    ("assistant", "2022년 매출은 302조 원입니다 [1]."),
]
JAPANESE = [("user", "トヨタの2022年の売上高はいくらですか?"), ("assistant", "売上高は37兆円です[1]。")]

LEANING = {
    "en": """
And in 2023?
What about the second one?
why?
how much?
tell me more
Is it safe?
who wrote it?
and the price?
Which one is cheaper?
when did he die?
any awards?
what else?
What happened next?
Are they expensive?
the other?
So how does that work?
How long does this take?
Can you explain the second point?
Where was she born?
""",
    "ko": """
그럼 2023년은?
그건 언제야?
그 사람은 어디서 태어났어?
왜?
더 자세히 알려줘
두 번째는?
이유는?
그리고 가격은?
다른 방법은 없어?
얼마야?
언제까지야?
누가 만들었어?
그것의 장점은 뭐야?
그러면 일본은 어때?
비용은?
예를 들면?
그때 대통령은 누구였어?
그의 부인은?
어디서?
몇 명이나?
그중에서 가장 큰 것은?
그 회사의 매출은?
""",
    "ja": """
2023年は?
それはいつですか?
彼の妻は誰?
なぜ?
もっと詳しく教えて
二番目は?
理由は?
では価格は?
他の方法はありますか?
いくらですか?
いつまで?
誰が作ったの?
その利点は何ですか?
日本はどうですか?
費用は?
当時の大統領は?
どこで?
何人?
申請方法は?
その中で一番大きいのは?
同社の売上は?
じゃあどうすればいい?
""",
}
STANDING_ALONE = {
    "en": """
What is the capital of South Korea?
How does BM25 rank documents?
When was the Seoul Olympics held?
Explain the refund policy for annual subscriptions.
What are the side effects of aspirin?
How many employees does Samsung have?
What is this document about?
Is melatonin bad for you?
How is sewage recycled?
Who was Anne Bonny and where was she born?
What is mortadella and where is it from?
""",
    "ko": """
서울의 인구는 얼마인가요?
한국의 대통령은 어떻게 선출되나요?
환불 정책에 대해 설명해 주세요.
세종대왕은 언제 한글을 만들었나요?
이순신 장군이 태어난 곳은 어디인가?
연차 휴가는 며칠까지 쓸 수 있나요?
파이썬에서 리스트를 정렬하는 방법은?
2023년 삼성전자의 영업이익은 얼마인가요?
이 문서의 주제는 무엇인가요?
""",
    "ja": """
韓国の首都はどこですか?
東京タワーの高さは何メートルですか?
返金ポリシーについて説明してください。
徳川家康はいつ江戸幕府を開きましたか?
有給休暇は何日まで取れますか?
Pythonでリストを並べ替える方法は?
2023年のトヨタの営業利益はいくらですか?
電気料金の割引を申し込む資格は何ですか?
この文書の主題は何ですか?
""",
}
SMALL_TALK = """
Hi
Hello!
Thanks!
Thank you very much.
ok
great, thanks
안녕하세요
고마워요
감사합니다!
네
네, 알겠습니다
좋아요
こんにちは
ありがとうございます
はい
わかりました
了解です
bye
"""


def cases(texts: dict[str, str]) -> list[tuple[str, str]]:
    return [(code, text) for code, lines in texts.items() for text in lines.split("\n") if text]


@pytest.mark.parametrize(("code", "question"), cases(LEANING))
def test_a_question_that_lacks_something_leans(code, question):
    assert leans(question)


@pytest.mark.parametrize(("code", "question"), cases(STANDING_ALONE))
def test_a_question_that_stands_alone_is_left_alone(code, question):
    assert not leans(question)
    assert condense(question, ENGLISH + KOREAN + JAPANESE) == question


@pytest.mark.parametrize("text", SMALL_TALK.strip().split("\n"))
def test_greetings_and_thanks_are_left_alone(text):
    assert is_small_talk(text)
    assert condense(text, ENGLISH) == text


@pytest.mark.parametrize("text", ["Thanks, what is OAuth?", "네, 그럼 환불은?", "はい、では費用は?"])
def test_a_question_after_thanks_is_no_small_talk(text):
    assert not is_small_talk(text)


@pytest.mark.parametrize("question", ["And in 2023?", "그럼 2023년은?", "2023年は?", "it"])
def test_the_first_question_is_never_touched(question):
    assert condense(question, []) == question


@pytest.mark.parametrize(
    ("history", "question", "expected"),
    [
        (ENGLISH, "And how long does it take?", "And how long does it take? (about refund policy)"),
        (KOREAN, "그럼 2023년은?", "그럼 2023년은? (삼성전자, 매출)"),
        (JAPANESE, "2023年は?", "2023年は?（トヨタ、売上高）"),
    ],
)
def test_the_conversation_s_terms_are_carried_in_brackets(history, question, expected):
    assert condense(question, history) == expected


def test_recent_terms_come_before_old_ones():
    history = [
        ("user", "Who founded Microsoft?"),
        ("assistant", "Gates."),
        ("user", "Describe photosynthesis."),
        ("assistant", "Light."),
    ]
    assert "photosynthesis" in condense("Why does it matter?", history)


def test_rare_terms_come_before_common_ones():
    rarity = {"quasar": 9.0}
    said = condense(
        "Is it far away?", [("user", "Is a bright quasar visible?")], rarity=lambda t: rarity.get(t, 0.1)
    )
    assert "quasar" in said


def test_turns_that_only_ask_for_more_name_no_subject():
    history = [*ENGLISH, ("user", "더 자세히 알려줘"), ("assistant", "Refunds take 14 days [1].")]
    assert "자세히" not in condense("もっと詳しく", history)


def test_neighbouring_words_are_carried_as_one():
    assert (
        condense("And predators?", [("user", "Where do guinea pigs sleep?")])
        == "And predators? (about guinea pigs)"
    )


def test_of_two_thousand_turns_the_first_question_and_the_newest_messages_count():
    turn = [
        ("user", "What about topic {} of the alpha beta report?"),
        ("assistant", "A long answer on {}. " * 50),
    ]
    history = [(role, text.replace("{}", str(number))) for number in range(2000) for role, text in turn]
    understood = condense("And why?", history)
    assert understood != "And why?"
    assert understood == condense("And why?", [history[0], *history[-REMEMBERED:]])


@pytest.fixture
def model(fake_llm):
    with LLM(LLMSettings(fake_llm.url, "fake", timeout=30, idle_timeout=30)) as llm:
        yield llm


def test_a_model_rewrites_what_leans(fake_llm, model):
    fake_llm.say("How long does a refund from Acme Cloud take?")
    assert (
        condense("How long does it take?", ENGLISH, llm=model)
        == "How long does a refund from Acme Cloud take?"
    )
    assert "What is the refund policy of Acme Cloud?" in fake_llm.requests[0].prompt


def test_a_model_is_not_asked_about_what_stands_alone(fake_llm, model):
    question = "What is the capital of South Korea?"
    assert condense(question, ENGLISH, llm=model) == question
    assert fake_llm.requests == []


@pytest.mark.parametrize(
    "strange",
    [
        "",
        "It takes 14 days.",
        "How long does a refund from Globex take?",
        "How long do the 30 days take?",
        "How long? " * 100,
        "Here is the question:\nHow long does it take?",
        "<html>",
    ],
)
def test_a_strange_rewrite_gives_way_to_the_rule(fake_llm, model, strange):
    fake_llm.say(strange)
    assert (
        condense("How long does it take?", ENGLISH, llm=model)
        == "How long does it take? (about refund policy)"
    )


def test_a_label_or_quotes_around_a_rewrite_are_dropped(fake_llm, model):
    fake_llm.say('Standalone question: "How long does a refund take?"')
    assert condense("How long does it take?", ENGLISH, llm=model) == "How long does a refund take?"


def test_only_as_much_history_is_sent_as_fits(fake_llm):
    fake_llm.say("How long does it take?")
    history = [("user", f"Question number {n} about apples? " * 20) for n in range(50)]
    with LLM(LLMSettings(fake_llm.url, "fake", context_tokens=2000)) as llm:
        condense("How long does it take?", history, llm=llm)
    prompt = fake_llm.requests[0].prompt
    assert "number 49 " in prompt
    assert "number 2 " not in prompt
    assert len(prompt) < 2000 * 4


def test_a_cancel_is_not_taken_for_a_failure(fake_llm, model):
    with pytest.raises(Cancelled):
        condense("How long does it take?", ENGLISH, llm=model, cancelled=lambda: True)
