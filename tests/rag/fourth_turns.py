"""150 more turns, 50 a language: the fourth that the rule met, and was then mended for."""

TURNS = {
    ("en", "greeting"): """
morning!
heya
Okay that answers my question
thank u so much
Wonderful, I have everything I need
gotcha thx
Good work
See you tomorrow!
Oh I didn't know that
yay
""",
    ("en", "refusal"): """
not now, thanks
No, that's enough
""",
    ("en", "assent"): """
go for it
Yes, I would appreciate that
""",
    ("en", "standalone"): """
Enough about leases. Which laptops can staff order?
I have a question about travel: is business class ever reimbursed?
New question. Where is the first aid kit in the warehouse kept?
Can we talk about pensions? How much does the employer contribute?
Oh and totally different thing, who won the 2019 design award?
What is the maximum load of the freight elevator?
when does the cafeteria open
Tell me about the history of the Aldenburg railway
Do part-time employees get paid sick leave?
How can customers cancel their subscription?
list the main findings of the water quality study
Who is the CEO of Halvorsen Marine?
what percentage of patients recovered after surgery
Should I water orchids every day?
Explain how a heat exchanger works and why it corrodes.
Is there a limit on remote work days per week?
how do i reset my password
In which year was the company founded?
What do auditors check when they visit a branch?
definition of gross negligence
Which form do I need for parental leave?
""",
    ("en", "elliptic"): """
and in Spain?
what about weekends
how many of them are women?
could you rephrase
Is it refundable?
Who decides this?
the first option sounds better, what does it cost?
any alternatives
Since when?
why is that
How does that compare with 2020?
what did she say about it
Give me the details
But isn't that illegal?
go deeper
""",
    ("ko", "greeting"): """
좋은 하루 보내세요~
오 감사해요 ㅎㅎ
안녕하십니까
아 이제 알겠다
잘 봤습니다
답변 고맙습니다
궁금증이 풀렸어요
네 그럼 수고하세요
음 그렇구나
다행이다
""",
    ("ko", "refusal"): """
아니요 지금은 괜찮아요
됐어 고마워
""",
    ("ko", "assent"): """
네 알려주세요
좋아 보여줘
""",
    ("ko", "standalone"): """
임대 얘기는 그만하고, 직원이 주문할 수 있는 노트북은 뭐가 있어?
출장 관련해서 질문이 있는데, 비즈니스석도 환급되나요?
새 질문입니다. 창고 구급상자는 어디에 보관하나요?
이제 연금 얘기를 해보죠. 회사 부담금은 얼마인가요?
근데 전혀 다른 얘긴데 2019년 디자인상은 누가 받았어?
화물 엘리베이터의 최대 하중은 얼마인가요?
구내식당 몇 시에 열어
알덴부르크 철도의 역사에 대해 알려줘
시간제 직원도 유급 병가를 받을 수 있나요?
고객은 구독을 어떻게 해지하나요?
수질 조사 주요 결과 정리해줘
할보르센 마린 대표이사가 누구야?
수술 후 회복된 환자 비율
난초는 매일 물을 줘야 하나요?
열교환기가 작동하는 원리와 그것이 부식되는 이유를 설명해줘
재택근무는 주 며칠까지 가능한가요
비밀번호 초기화 방법 알려주세요
회사는 몇 년도에 설립됐어?
감사인은 지점을 방문할 때 무엇을 확인하나요?
중과실이란?
육아휴직 신청하려면 어떤 서식이 필요해?
""",
    ("ko", "elliptic"): """
스페인에서는요?
주말은 어때
그중 여성은 몇 명이야?
다시 풀어서 써줘
환불 가능해?
그건 누가 정해요?
첫 번째 방법이 나아 보이는데 얼마야?
대안은?
언제부터?
그건 왜 그래
2020년이랑 비교하면 어때?
그 사람은 그것에 대해 뭐라고 했어?
세부 내용 좀
근데 그거 불법 아니야?
더 깊게 파줘
""",
    ("ja", "greeting"): """
よい一日を
わーい、ありがとうございます!
初めまして、よろしくお願いします
あ、やっとわかった
拝見しました
ご回答ありがとうございます
疑問が解けました
では、失礼します
うーん、そうですか
よかった
""",
    ("ja", "refusal"): """
いいえ、今はいいです
もう十分です、ありがとう
""",
    ("ja", "assent"): """
はい、教えてください
いいね、見せて
""",
    ("ja", "standalone"): """
賃貸の話はここまでにして、社員が注文できるノートパソコンは何ですか?
出張について質問があります。ビジネスクラスは精算できますか?
新しい質問です。倉庫の救急箱はどこに保管されていますか
今度は年金の話をしましょう。会社の拠出額はいくらですか?
全然違う話だけど、2019年のデザイン賞は誰が取ったの?
貨物エレベーターの最大荷重は?
社員食堂は何時に開く
アルデンブルク鉄道の歴史について教えて
パート社員も有給の病気休暇を取れますか?
顧客はどうやって購読を解約しますか?
水質調査の主な結果をまとめて
ハルヴォルセン・マリンの社長は誰?
手術後に回復した患者の割合
蘭には毎日水をやるべきですか?
熱交換器の仕組みと、それが腐食する理由を説明してください
在宅勤務は週何日まで可能ですか
パスワードのリセット方法を教えて
会社は何年に設立されましたか?
監査人は支店を訪れるとき何を確認しますか?
重過失とは?
育休を申請するにはどの書式が必要?
""",
    ("ja", "elliptic"): """
スペインでは?
週末はどう
そのうち女性は何人?
言い換えて
返金できますか?
それは誰が決めるの?
一つ目の方がよさそうだけど、いくら?
代わりの案は?
いつから?
それはなんで
2020年と比べてどう?
その人はそれについて何と言った?
詳細をお願い
でもそれって違法じゃない?
もっと深く掘り下げて
""",
}
