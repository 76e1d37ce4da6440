import pytest

from rag.remarks import is_remark

REMARKS = """
That was exactly the number I had in mind
it all makes sense now
I'll pass this on to my manager.
we signed it last week
makes sense
ok this saves me a lot of time
드디어 이해가 됐어요
팀장님께 전달할게요
생각보다 간단하네요
덕분에 금방 끝났습니다
やっと見つかりました
思ったより簡単ですね
上司に伝えておきました
それは知らなかったです
"""
NOT_REMARKS = """
It was in which year
that one too
the refund policy
and in 2023
I want the other one
we need more details
i meant the second paragraph
That is not what I asked for
보증금은 얼마예요
그건 언제 끝났어요
더 알려줘
예외
두 번째는요
それはいつでしたか
価格も知りたいです
もっと詳しく
例外は
次の条件を教えてください
"""


@pytest.mark.parametrize("text", REMARKS.strip().split("\n"))
def test_what_only_says_something_is_a_remark(text: str):
    assert is_remark(text)


@pytest.mark.parametrize("text", NOT_REMARKS.strip().split("\n"))
def test_what_asks_or_names_something_to_look_for_is_none(text: str):
    assert not is_remark(text)


def test_a_long_text_is_no_remark():
    assert not is_remark("That was good, " * 20)
