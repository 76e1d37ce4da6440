"""150 turns in the middle of conversations, 50 a language, written for these tests before the rule met them.

Each is a text, whether it needs something from before it, and what kind it is. An assent answers the question
that `OFFER` ends with; where the answer before asked nothing (`STATEMENT`), the same words acknowledge it.
"""

from dataclasses import dataclass
from typing import Literal

from tests.rag import fourth_turns, second_turns, third_turns

Kind = Literal["greeting", "refusal", "assent", "acknowledgement", "new topic", "standalone", "elliptic"]

OFFER = {
    "en": "The lease ends on 31 May 2027 [1]. Shall I list the conditions of a renewal?",
    "ko": "임대차 계약은 2027년 5월 31일에 끝납니다 [1]. 갱신 조건도 알려 드릴까요?",
    "ja": "賃貸借契約は2027年5月31日に終わります[1]。更新の条件も一覧にしましょうか?",
}
STATEMENT = {
    "en": "The lease ends on 31 May 2027 [1].",
    "ko": "임대차 계약은 2027년 5월 31일에 끝납니다 [1].",
    "ja": "賃貸借契約は2027年5月31日に終わります[1]。",
}

_TURNS = {
    ("en", "greeting"): """
Hi there!
Good morning
Hello again
Thanks so much for your help
thank you, that was very useful
Cheers!
Have a nice day
ok bye then
""",
    ("en", "assent"): """
Yes
yes please
Sure, go ahead
Please do
""",
    ("en", "acknowledgement"): """
Okay, I understand
ok got it
I see, makes sense
Great, that's all
""",
    ("en", "new topic"): """
By the way, how do I claim travel expenses?
Different question: who maintains the pumps in hall B?
Now something else. Which vaccines does the clinic stock?
Let's move on to the budget: how much was spent on paper in 2021?
Changing the subject, when does the Varn bridge open to traffic?
One more thing, where are the fire exits on the second floor?
On another note, what does article 12 of the tenancy act say?
Next topic. Explain how bees choose a new nest.
""",
    ("en", "standalone"): """
What does a heat pump cost to run in winter?
List the members of the works council.
Who signed the contract with Brightwater Logistics?
How many days of parental leave are employees entitled to?
Does the warranty cover water damage?
what is the boiling point of ethanol
Why do glaciers look blue?
Compare the bus and the tram for commuting to the airport.
Where can visitors park at the Aldenburg museum?
When must invoices be paid according to the supply agreement?
""",
    ("en", "elliptic"): """
And on weekends?
What about part-time staff?
How long is it valid?
Who approved that?
Why not?
Can you give an example?
Tell me more about the second condition
and after the trial period?
Which of those is cheapest?
Is there an exception?
What did she say about the delay?
More details please
in euros?
Does it also apply to tenants?
How do they compare?
What were the reasons?
""",
    ("ko", "greeting"): """
안녕하세요!
좋은 아침이에요
반갑습니다
정말 고마워요
도와주셔서 감사합니다
수고하셨습니다
덕분에 잘 이해했어요, 감사해요
다음에 또 올게요, 안녕!
""",
    ("ko", "assent"): """
네
네, 부탁해요
응 그렇게 해줘
좋아요, 알려 주세요
""",
    ("ko", "acknowledgement"): """
네 알겠습니다
아 그렇군요
오케이 이해했어
그래, 그거면 됐어
""",
    ("ko", "new topic"): """
다른 질문인데요, 출장비는 언제까지 청구해야 하나요?
참, 회의실 예약은 어떻게 하나요?
화제를 바꿔서, 사내 어린이집 신청 자격이 궁금합니다.
그건 그렇고 구내식당 운영 시간은 어떻게 되나요?
이번에는 예산 이야기인데, 2021년 종이 구입비는 얼마였나요?
별개로 정수기 필터 교체 주기를 알려주세요.
새로운 주제입니다. 꿀벌은 새 둥지를 어떻게 고르나요?
마지막으로 바른 다리는 언제 개통되나요?
""",
    ("ko", "standalone"): """
재택근무는 일주일에 며칠까지 가능한가요?
퇴직금은 어떻게 계산하나요?
알덴부르크 박물관의 주차장은 어디에 있나요?
빙하가 파랗게 보이는 이유는 무엇인가요?
노사협의회 위원 명단을 보여주세요.
히트펌프의 겨울철 운영비는 얼마나 드나요?
공급 계약서에 따르면 대금은 언제까지 지급해야 합니까?
에탄올의 끓는점은?
제품 보증이 침수 피해도 보장하나요?
김민수 팀장이 승인한 예산은 얼마야?
""",
    ("ko", "elliptic"): """
주말에는?
계약직은 어떤가요?
그게 언제까지 유효해?
누가 승인했는데?
왜 안 돼?
예를 하나 들어줘
두 번째 조건을 더 설명해줘
수습 기간 이후에는요?
그중 제일 싼 건 뭐야?
예외가 있나요?
그녀는 지연에 대해 뭐라고 했어?
좀 더 자세히
유로로는 얼마야?
세입자에게도 적용되나요?
둘의 차이점은?
이유가 뭐였어?
""",
    ("ja", "greeting"): """
こんにちは!
おはようございます
はじめまして
どうもありがとう
助かりました、ありがとうございます
お疲れさまでした
失礼します
また来ますね、さようなら
""",
    ("ja", "assent"): """
はい
はい、お願いします
うん、そうして
ぜひ教えてください
""",
    ("ja", "acknowledgement"): """
はい、わかりました
なるほど
オーケー、理解しました
了解、それで十分です
""",
    ("ja", "new topic"): """
ところで、出張費の精算期限はいつですか?
別の質問ですが、会議室の予約方法を教えてください。
話は変わりますが、社内保育園の申込資格は何ですか?
次は予算について、2021年の用紙の購入費はいくらでしたか?
それはそうと、社員食堂の営業時間は何時から何時までですか?
あと、浄水器のフィルター交換の頻度を知りたいです。
新しい話題です。ミツバチは新しい巣をどうやって選びますか?
最後に、ヴァルン橋はいつ開通しますか?
""",
    ("ja", "standalone"): """
在宅勤務は週に何日まで認められていますか?
退職金はどのように計算されますか?
アルデンブルク博物館の駐車場はどこにありますか?
氷河が青く見える理由は何ですか?
労使協議会の委員の一覧を見せてください。
ヒートポンプの冬の運転費用はどれくらいですか?
供給契約では代金をいつまでに支払わなければなりませんか?
エタノールの沸点は?
製品保証は水濡れによる故障も対象ですか?
佐藤部長が承認した予算はいくら?
""",
    ("ja", "elliptic"): """
週末は?
契約社員はどうなりますか?
それはいつまで有効?
誰が承認したんですか?
なぜだめなの?
例を一つ挙げて
二つ目の条件をもう少し説明して
試用期間の後は?
その中で一番安いのはどれ?
例外はありますか?
彼女は遅れについて何と言いましたか?
もっと詳しく
ユーロではいくら?
借主にも適用されますか?
両者の違いは?
理由は何だったの?
""",
}
_AFTER_OFFER = frozenset({"assent", "refusal"})
_LEANING = frozenset({"assent", "elliptic"})

ROUNDS = (_TURNS, second_turns.TURNS, third_turns.TURNS, fourth_turns.TURNS)


@dataclass(frozen=True)
class FollowUp:
    """A turn, the answer before it, and whether it needs something from there."""

    text: str
    answer: str
    leans: bool
    kind: str


def turns(language: str, round_: int = 0) -> list[FollowUp]:
    """Return the 50 turns of a language, of one of the four rounds in which they were written."""
    return [
        FollowUp(text, (OFFER if kind in _AFTER_OFFER else STATEMENT)[language], kind in _LEANING, kind)
        for (code, kind), lines in ROUNDS[round_].items()
        if code == language
        for text in lines.strip().split("\n")
    ]
