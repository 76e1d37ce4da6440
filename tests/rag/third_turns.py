"""150 more turns, 50 a language: the third that the rule met, and was then mended for."""

TURNS = {
    ("en", "greeting"): """
hiya
Good afternoon, how are you doing?
great stuff, thank you!
ta
Brilliant, that clears it up
ok makes sense now
No worries, bye
Sorry, my mistake
I appreciate your help
""",
    ("en", "refusal"): """
no thank you
nah I'm good
""",
    ("en", "assent"): """
yes I'd like that
sure why not
ok please
""",
    ("en", "standalone"): """
Switching gears, what is the notice period for freelancers?
Quick question about something else: is the canteen open on Saturdays?
Leaving that aside, who chairs the audit committee?
On to the next one. How is the bonus calculated?
Before I forget, when is the tax return for Norway due?
what happens to unused holiday when an employee resigns
Does a landlord have to return the deposit before they inspect the flat?
What are the symptoms of lead poisoning?
give me a list of all the vendors in the 2023 procurement report
How often should smoke detectors be tested
Translate the abstract of the Meyer paper into plain English
Which countries signed the treaty and when did they ratify it?
Is overtime paid?
How do bees communicate with each other?
who is responsible for data protection
My laptop was stolen, how do I report it?
What does SLA stand for?
Are dogs allowed in the building?
explain the escalation process for severity 1 incidents
What's the difference between gross and net salary?
Should a child who has a fever be given aspirin, and what if she vomits?
""",
    ("en", "elliptic"): """
and the deadline?
how about Germany
what if they refuse
Why does it matter?
who else
Any other risks?
ok but how much exactly
is that per month or per year
Can you summarise that in two sentences?
show me the source
And the rest?
does the same apply to interns
more cheaply?
when exactly?
Could you put it in a table
""",
    ("ko", "greeting"): """
반가워요
좋은 오후예요
정말 큰 도움이 되었습니다 감사합니다
ㄳㄳ
오 대박
이제 이해가 되네요
넵 확인했습니다
제가 착각했네요 죄송해요
다음에 또 물어볼게요 안녕히 계세요
""",
    ("ko", "refusal"): """
아뇨 됐어요
아니 괜찮아
""",
    ("ko", "assent"): """
네 그렇게 해주세요
당연하죠
응 부탁해
""",
    ("ko", "standalone"): """
화제 바꿔서 프리랜서 계약 해지 통보 기간은 얼마야?
다른 질문 하나 할게요. 구내식당은 토요일에도 여나요?
그 얘기는 나중에 하고, 감사위원회 위원장은 누구예요?
다음 주제로 넘어가서 상여금 산정 방식 알려줘
아 맞다 노르웨이 세금 신고 기한이 언제였지?
퇴사할 때 남은 연차는 어떻게 처리되나요
납 중독 증상이 뭐야?
2023년 구매 보고서에 나온 업체 목록 뽑아줘
연기 감지기 점검 주기
마이어 논문 초록을 쉽게 번역해 줘
조약에 서명한 나라들은 어디이고 그 나라들은 언제 비준했나요?
초과근무 수당 나오나요?
꿀벌은 어떻게 의사소통해?
개인정보 보호 책임자가 누구죠
노트북을 도난당했는데 그걸 어떻게 신고하나요?
SLA가 무슨 뜻이야?
건물에 강아지 데려와도 되나요?
심각도 1등급 장애의 보고 절차 설명해 주세요
세전 월급과 세후 월급은 어떻게 달라?
전기차 보조금
열이 나는 아이에게 아스피린을 먹여도 되나요?
""",
    ("ko", "elliptic"): """
마감일은?
독일은 어때
거절하면 어떻게 돼?
그게 왜 중요한데
또 누가 있어?
다른 위험은 없나요?
정확히 얼마인데요?
한 달 기준이야 일 년 기준이야?
두 문장으로 요약해 줘
출처 보여줘
나머지는?
인턴한테도 적용돼?
더 싼 건 없어?
정확히 언제?
표로 정리해줄래
""",
    ("ja", "greeting"): """
どうも
こんにちは、お元気ですか?
とても参考になりました、感謝します
あざっす
おお、すごい
やっと理解できました
はい、確認しました
すみません、勘違いでした
また質問しますね、失礼します
""",
    ("ja", "refusal"): """
いえ、結構です
ううん、いらない
""",
    ("ja", "assent"): """
はい、そうしてください
もちろん
お願い
""",
    ("ja", "standalone"): """
話題を変えて、フリーランスの解約予告期間はどれくらい?
もう一つ別の質問。社員食堂は土曜も開いていますか?
その話は置いておいて、監査委員会の委員長は誰ですか
次の話題に移ります。賞与の計算方法を教えて
あ、そういえばノルウェーの確定申告の期限はいつだっけ?
退職するとき残った有給はどうなりますか
鉛中毒の症状は?
2023年の調達報告書にある業者を一覧にして
煙感知器の点検周期
マイヤー論文の要旨を分かりやすく訳して
条約に署名した国はどこで、それらの国はいつ批准しましたか?
残業代は出ますか?
ミツバチはどうやって意思疎通するの?
個人情報保護の責任者は誰ですか
ノートパソコンを盗まれたのですが、それをどこに届け出ればいいですか?
SLAって何の略?
ビルに犬を連れてきてもいいですか?
重大度1の障害の報告手順を説明してください
額面と手取りはどう違うの?
電気自動車の補助金
熱のある子どもにアスピリンを飲ませてもいいですか?
""",
    ("ja", "elliptic"): """
締め切りは?
ドイツはどう?
断られたらどうなる?
なぜそれが重要なの
他に誰がいる?
ほかのリスクはないの?
正確にはいくらですか
月額?それとも年額?
二文でまとめて
出典を見せて
残りは?
インターンにも適用される?
もっと安いのはない?
具体的にいつ?
表にしてくれる?
""",
}
