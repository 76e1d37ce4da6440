"""150 more turns, 50 a language: the second that the rule met, and was then mended for."""

TURNS = {
    ("en", "greeting"): """
hey
Good evening!
thx
Thanks a lot, exactly what I needed
perfect, cheers
lol ok
Awesome!
that's all for today, thank you
No, that's fine thanks
Nice to meet you
hmm ok, fair enough
""",
    ("en", "assent"): """
yes, do that
Yep
that would be great
""",
    ("en", "standalone"): """
Actually, forget that. How many vacation days do new hires get?
Unrelated: does the office have showers?
Let's talk about the solar project. What did the feasibility study conclude?
Sorry, another question - where do I find the brand guidelines?
Coming to the insurance policy, what is the deductible for theft?
How does the committee decide whether it will fund a proposal?
what documents do i need for a visa to japan
Which suppliers raised their prices in the last quarter?
Is smoking allowed on the balcony?
summarise chapter 4 of the safety manual
What is photosynthesis?
If an employee loses their badge, who should they call?
Explain the difference between a will and a trust.
whats the total revenue for 2022
Find every mention of asbestos in the survey report
Can tenants sublet their flat without asking the landlord?
When the pump overheats, how can I cool it down?
How long does a wire transfer to Canada usually take?
Why did the Roman Empire fall?
I need the phone number of the Lindhagen branch.
define force majeure
""",
    ("en", "elliptic"): """
and for contractors?
what abt the other one
is it expensive
how come?
Which of them is cheaper?
Does that include VAT?
ok and after that?
Shorter please
In which section does it say so?
Compared to last year?
the second one
Are there any exceptions?
where was he born
same for 2021
can u elaborate
""",
    ("ko", "greeting"): """
안녕
안녕하세요~
감사합니다!
고마워요 많은 도움이 됐어요
ㅋㅋ 알겠어
오 그렇군요
네 이해했습니다
아하
수고하셨습니다
아니요 괜찮습니다
완벽해요 감사해요
""",
    ("ko", "assent"): """
네 부탁드려요
응 해줘
그래 좋아
""",
    ("ko", "standalone"): """
그건 됐고, 신입사원 연차는 며칠이야?
다른 거 물어볼게요. 회사 주차장은 몇 시까지 이용할 수 있나요?
주제를 바꿔서, 태양광 사업의 타당성 조사 결과를 알려줘
아 그리고 별개로 사내 어린이집 신청 방법 알려주세요
이번에는 보험 약관에 대해 물어볼게요. 도난 시 자기부담금은 얼마인가요?
광합성이란 무엇인가요?
일본 비자 신청에 필요한 서류 알려줘
지난 분기에 단가를 올린 공급업체는 어디인가요?
발코니에서 흡연해도 되나요
안전 매뉴얼 4장 요약해줘
직원이 사원증을 잃어버리면 그 직원은 어디에 신고해야 하나요?
유언과 신탁의 차이를 설명해줘
2022년 총매출 얼마
설문 보고서에서 석면이 언급된 부분 찾아줘
펌프가 과열되면 그것을 어떻게 식히나요?
캐나다로 송금하면 보통 며칠 걸려요?
로마 제국은 왜 멸망했어?
불가항력의 정의
계약서에 서명한 사람이 누구인지 알려주세요
세입자가 집주인 동의 없이 전대할 수 있나요?
퇴직금 계산 방법이 궁금합니다
""",
    ("ko", "elliptic"): """
계약직은요?
그럼 다른 하나는?
비싼가요?
왜 그런 거죠?
둘 중에 뭐가 더 싸?
부가세도 포함된 금액인가요?
그 다음에는?
좀 더 짧게
그 내용은 몇 조에 있나요?
작년이랑 비교하면?
두 번째 거
예외는 없나요?
그분은 어디서 태어났어요?
2021년도 똑같이 해줘
무슨 뜻이야?
""",
    ("ja", "greeting"): """
こんにちは
おはようございます
ありがとう!
助かりました、ありがとうございます
了解です
へえ、そうなんだ
なるほど、よく分かりました
お疲れ様です
いえ、大丈夫です
完璧です
はじめまして
""",
    ("ja", "assent"): """
はい、お願いします
うん、頼む
ぜひ
""",
    ("ja", "standalone"): """
それはさておき、新入社員の有給は何日ですか?
別の質問です。駐車場は何時まで使えますか?
話は変わりますが、太陽光事業の調査結果を教えてください
あと全然関係ないけど、社内託児所の申し込み方法は?
次に保険約款についてです。盗難時の免責金額はいくらですか?
光合成とは何ですか
日本のビザ申請に必要な書類を教えて
前四半期に値上げした仕入先はどこですか?
ベランダで喫煙してもいいですか
安全マニュアルの第4章を要約して
社員が社員証をなくした場合、その社員はどこに届け出ればよいですか?
遺言と信託の違いを説明して
2022年の総売上は?
調査報告書でアスベストに触れている箇所を探して
ポンプが過熱したら、それをどう冷やしますか?
カナダへの送金は何日くらいかかる?
ローマ帝国はなぜ滅びたの
不可抗力の定義
契約書に署名したのは誰ですか?
借主は大家の許可なしに転貸できますか
退職金の計算方法が知りたい
""",
    ("ja", "elliptic"): """
契約社員は?
もう一つの方は?
高いですか
どうしてそうなるの?
どっちが安い?
それは税込みですか?
その次は?
もう少し短く
第何条に書いてありますか?
去年と比べると?
二番目のやつ
例外はありますか?
彼はどこで生まれたの?
2021年も同じように
どういう意味?
""",
}
