import pytest

from rag.text.questions import heading_question, sentence_questions, table_questions


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        ("The castle of Aldenburg was built in 1432.", "When was the castle of Aldenburg built?"),
        ("The second quay was opened on 14 May 2025.", "When was the second quay opened?"),
        ("The authority employed 1,204 people.", "How many people did the authority employ?"),
        (
            "In 2025 the harbour handled 4.1 million containers, 12 % more than before.",
            "How many containers did the harbour handle in 2025?",
        ),
        ("The second quay cost $30 million.", "How much did the second quay cost?"),
        ("A ship under 100 metres pays 240 euros a day.", "How much does a ship under 100 metres pay?"),
        ("The monthly rent is EUR 1,200.", "What is the monthly rent?"),
        ("Automotive revenue was $261 million.", "What was Automotive revenue?"),
        ("AutoGen is an open-source framework for agents.", "What is AutoGen?"),
        ("세운상가는 1968년 김수근이 설계하여 완공되었다.", "세운상가는 언제 완공되었습니까?"),
        ("제2부두는 2025년 5월 14일에 개장했습니다.", "제2부두는 언제 개장했습니까?"),
        ("2023년 한빛병원은 환자 약 3만 2천 명을 치료했다.", "2023년 한빛병원은 환자를 몇 명 치료했습니까?"),
        ("2024년 말 직원은 1,204명으로, 1년 전보다 38명 늘었다.", "2024년 말 직원은 몇 명입니까?"),
        ("주차 요금은 하루 2만 원입니다.", "주차 요금은 하루 얼마입니까?"),
        ("新校舎は2021年4月に開校しました。", "新校舎はいつ開校しましたか。"),
        ("2023年、中央病院は約3万人の患者を治療した。", "中央病院は2023年に患者を何人治療しましたか。"),
        ("2024年末の職員は1,204人で、前年より38人増えた。", "2024年末の職員は何人ですか。"),
        ("駐車料金は1日2千円です。", "駐車料金は1日いくらですか。"),
        ("第3条（賃料）賃料は月額120,000円とし、毎月末日までに支払う。", "賃料は月額いくらですか。"),
        ("第5条 管理費は、月額８，０００円とする。", "管理費は月額いくらですか。"),
        (
            "賃貸借期間は、2024年4月1日から2026年3月31日までの2年間とする。",
            "賃貸借期間はいつからいつまでですか。",
        ),
        ("충정아파트는 1937년에 지어진 아파트이다.", "충정아파트는 무엇입니까?"),
        ("東京駅は1914年に開業された駅である。", "東京駅はいつ開業されましたか。"),
        ("광고선전비는 전년보다 조금 늘어난 820백만 원입니다.", "광고선전비는 얼마입니까?"),
        ("箱根とは神奈川県にある町である。", "箱根とは何ですか。"),
        ("関西の減少は物流倉庫の移転が原因である。", "関西の減少の理由は何ですか。"),
        ("売上の増加は新店舗の開業によるものです。", "売上の増加の理由は何ですか。"),
        ("遅延の理由は倉庫を移転したためである。", "遅延の理由は何ですか。"),
        ("会員の特典は商品が一割引きになる優待券です。", "会員の特典は何ですか。"),
        ("간사이 매출 감소는 물류 창고 이전 때문이다.", "간사이 매출 감소는 무엇 때문입니까?"),
        ("배송이 늦은 이유는 창고를 옮겼기 때문입니다.", "배송이 늦은 이유는 무엇입니까?"),
    ],
)
def test_a_sentence_answers_the_question_that_a_person_would_ask(sentence: str, question: str):
    (found,) = sentence_questions(f"{sentence} ")
    assert found.text == question
    assert sentence.startswith(f"{sentence} "[found.start : found.end].strip())


@pytest.mark.parametrize(
    "sentence",
    [
        "It was built in 1432.",
        "This is a list of what they had.",
        "© 2023 NVIDIA Corporation. All rights reserved.",
        "- The castle was built in 1432.",
        "| The castle | was built in 1432. |",
        "Run away.",
        "The house is a detached bungalow of two bedrooms.",
        "The ground outside is an even slope of clay.",
        "그는 1968년에 완공되었다고 말했다.",
        "これは町である。",
        "",
    ],
)
def test_a_sentence_that_only_its_context_makes_clear_gives_no_question(sentence: str):
    assert list(sentence_questions(sentence)) == []


@pytest.mark.parametrize(
    ("heading", "sentence", "question"),
    [
        (
            "営業会議 議事録 > 議題1 オフィス家具の納期遅延",
            "原因は倉庫の移転に伴う入荷の遅れである。",
            "オフィス家具の納期遅延の原因は何ですか。",
        ),
        (
            "주간회의 > 안건 1 가구 배송 지연",
            "원인은 물류센터 이전이다.",
            "가구 배송 지연의 원인은 무엇입니까?",
        ),
        ("Late deliveries", "The cause is a move of the house.", "What is the cause of late deliveries?"),
        ("納期遅延", "原因は倉庫の移転に伴う入荷の遅れである。", "納期遅延の原因は何ですか。"),
    ],
)
def test_a_general_noun_is_asked_for_with_the_heading_above_it(heading: str, sentence: str, question: str):
    assert "".join(found.text for found in sentence_questions(sentence, heading)) == question


@pytest.mark.parametrize(
    "sentence",
    [
        "原因は倉庫の移転に伴う入荷の遅れである。",
        "第3四半期は大型案件の検収が12月に集中する見込みである。",
        "원인은 물류센터 이전이다.",
        "3분기는 대형 사업의 검수가 몰리는 시기이다.",
        "The cause is a move of the warehouse.",
        "The total was 1,204 in that year.",
    ],
)
@pytest.mark.parametrize("heading", ["", "概要", "scan_001 > 결과"])
def test_a_general_noun_or_a_period_alone_gives_no_question(sentence: str, heading: str):
    assert list(sentence_questions(sentence, heading)) == []


def test_a_general_heading_is_asked_about_with_the_one_above_it():
    assert heading_question("業績報告 > リスク", "文具部門の利益率を下げるおそれがある。") == (
        "「業績報告のリスク」には何が書かれていますか。"
    )
    assert heading_question("リスク", "文具部門の利益率を下げるおそれがある。") == ""


def test_a_beginning_is_written_small_where_the_text_writes_it_small():
    text = "Gross margin was 74.0% in the quarter. A year before, gross margin was lower."
    first, *_ = sentence_questions(text)
    assert first.text == "What was gross margin?"


def test_the_text_of_the_document_tells_which_words_of_a_title_are_written_small():
    document = (
        "Loft Insulation\nLoft insulation is a layer of wool. Lay the insulation in the loft of Ash House."
    )
    first, *_ = sentence_questions("Loft insulation is a layer of wool.", document=document)
    assert first.text == "What is loft insulation?"
    for heading, name in [
        ("Loft Insulation", "loft insulation"),
        ("The Ash House Loft", "the Ash House loft"),
    ]:
        asked = heading_question(heading, "Lay it evenly.", document=document)
        assert asked == f"What does the document say about {name}?"


def test_a_sentence_over_several_lines_is_read_as_one():
    (found,) = sentence_questions("The castle\nof Aldenburg\nwas built in 1432.")
    assert found.text == "When was the castle of Aldenburg built?"


def test_a_row_of_a_table_gives_a_question_about_its_first_number():
    text = (
        "| | 2024 | Adjusted cost July 1 |\n|---|---|---|\n| Total net sales | 81,797 | 3 |\n| 12 | 7 | 8 |"
    )
    (found,) = table_questions(text)
    assert found.text == "What were total net sales in 2024?"
    assert text[found.start : found.end].startswith("| Total net sales")


@pytest.mark.parametrize(
    ("heading", "question"),
    [
        ("Report > Share repurchases", "What does the document say about share repurchases?"),
        ("Contract > 5. Vehicles and drivers", "What does the document say about vehicles and drivers?"),
        ("Just Modern Python", "What does the document say about Just Modern Python?"),
        ("UNITED STATES SECURITIES AND EXCHANGE COMMISSION", ""),
        ("12", ""),
        ("focus(options?)", ""),
        ("Sales | 2024", ""),
        ("", ""),
    ],
)
def test_a_heading_that_names_a_subject_gives_a_question(heading: str, question: str):
    assert heading_question(heading, "The company bought shares.") == question


def test_a_passage_in_han_characters_alone_is_asked_about_in_the_language_of_its_document():
    assert heading_question("週次会議", "週次会議 議事録", "ja") == "「週次会議」には何が書かれていますか。"


def test_a_korean_table_is_asked_about_with_the_mark_that_its_column_takes():
    table = "| 품목 | 증감률 |\n|---|---|\n| 생활용품은 올해 | 12 |\n| 생활용품 | 13 |\n"
    assert "생활용품의 증감률은 얼마입니까?" in [one.text for one in table_questions(table)]


@pytest.mark.parametrize(
    ("header", "row", "question"),
    [
        ("Season | Meals served", "Autumn 2025 | 1,234", "How many meals were served in Autumn 2025?"),
        (
            "Cargo | 2025 | 2024",
            "Containers (thousand) | 4,100 | 3",
            "How many containers were there in 2025?",
        ),
        (
            "Quarter | Operating profit",
            "Third quarter | 30",
            "What was operating profit in the third quarter?",
        ),
        ("Balance | June 30, 2024", "Total assets | $30", "What were total assets on June 30, 2024?"),
        ("Room | Price", "Hall A | $30", "What is the price of Hall A?"),
        ("Result | 2024", "Net revenues | 880", "What were net revenues in 2024?"),
        ("Result | 2024", "Gross margins | 44 %", "What were gross margins in 2024?"),
        ("Result | 2024", "Provision for income taxes | 880", "What was provision for income taxes in 2024?"),
        ("Result | 2024", "EBITDA margin | 12 %", "What was EBITDA margin in 2024?"),
        ("Result | 2024", "US sales | 880", "What were US sales in 2024?"),
        ("Company | EBITDA margin", "Hanbit | 12 %", "What is the EBITDA margin of Hanbit?"),
        ("Company | Net Income", "Hanbit | 12", "What is the net income of Hanbit?"),
        ("Staff | 2024", "Total employees | 880", "How many employees were there in 2024?"),
        ("Staff | 2024", "IT employees | 880", "How many IT employees were there in 2024?"),
        ("Output | 2024", "Turbines sold | 880", "How many turbines were sold in 2024?"),
        ("Output (units) | 2024", "Turbines | 880", "How many turbines were there in 2024?"),
        ("화물 | 2025년", "매출액 | 880", "2025년 매출액은 얼마입니까?"),
        ("계절 | 매출", "2025년 가을 | 12", "2025년 가을 매출은 얼마입니까?"),
        ("貨物のデータ | 2025年", "売上高 | 8", "2025年の売上高はいくらですか。"),
        ("四半期のまとめ | 来場者数", "第1四半期 | 8", "第1四半期の来場者数はどのくらいですか。"),
    ],
)
def test_a_cell_is_asked_for_as_a_person_would_by_the_kind_of_its_row_and_column(
    header: str, row: str, question: str
):
    (found,) = table_questions(f"| {header} |\n|{'---|' * (header.count('|') + 1)}\n| {row} |\n")
    assert found.text == question


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("Cargo | 2025", "Grain (thousand tonnes) | 880"),
        ("Date | Status", "Autumn 2025 | 3"),
        ("Month | 2025", "March | 3"),
        ("Result | 2024", "Services | 880"),
        ("Result | 2024", "Americas | 880"),
        ("Result (units) | 2024", "Americas | 880"),
        ("Result | 2024", "Goods sold | 880"),
        ("Result | 2024", "Turbines | 880"),
        ("In millions of dollars | 2024", "Vehicles sold | 880"),
        ("Change | 2024 (%)", "Employees | 12"),
        ("화물 | 2025년", "컨테이너(천 개) | 4,100"),
        ("貨物のデータ | 2025年", "コンテナ（千個） | 4,100"),
    ],
)
def test_a_cell_that_no_natural_question_is_known_for_gives_none(header: str, row: str):
    assert list(table_questions(f"| {header} |\n|---|---|\n| {row} |\n")) == []


def test_a_count_is_not_asked_for_where_the_line_above_the_table_says_a_currency():
    table = "Revenue by source (in $ millions)\n\n| Source | 2024 |\n|---|---|\n| Customers | 880 |\n"
    assert list(table_questions(table)) == []


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        ("준공 예정일은 2026년 5월 10일입니다.", "준공 예정일은 언제입니까?"),
        ("담당자는 안전관리팀 김민수 과장입니다.", "담당자는 누구입니까?"),
        ("完成予定日は2026年5月10日です。", "完成予定日はいつですか。"),
        ("担当者は安全課の鈴木さんです。", "担当者は誰ですか。"),
    ],
)
def test_a_day_is_asked_for_by_when_and_a_person_by_who(sentence: str, question: str):
    (found,) = sentence_questions(sentence)
    assert found.text == question


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        ("공사 기간은 착공 후 90일이다.", "공사 기간은 얼마나 됩니까?"),
        ("계약 기간은 2025년 4월 1일부터 2년입니다.", "계약 기간은 얼마나 됩니까?"),
        ("휴가는 근속 1년마다 10일입니다.", "휴가는 얼마나 됩니까?"),
        ("보존 기한은 작성일부터 6개월 이내입니다.", "보존 기한은 얼마나 됩니까?"),
        ("납부일은 다음 달 영업일 기준 25일입니다.", "납부일은 언제입니까?"),
        ("임대료 지급은 매월 25일입니다.", "임대료 지급은 언제입니까?"),
        ("준공 예정은 내년인 2026년 5월입니다.", "준공 예정은 언제입니까?"),
        (
            "접수 기간은 5월 1일부터 5월 10일까지입니다.",
            "접수 기간은 언제부터 언제까지입니까?",
        ),
        ("契約期間は令和7年4月1日から2年です。", "契約期間はどのくらいですか。"),
        ("有効期間は発行日から30日です。", "有効期間はどのくらいですか。"),
        ("試用期間は入社日から3か月間である。", "試用期間はどのくらいですか。"),
        ("開業の予定は令和7年4月1日です。", "開業の予定はいつですか。"),
        ("支払日は請求書が届いた翌月の25日です。", "支払日はいつですか。"),
        ("締切日は各月の10日です。", "締切日はいつですか。"),
        ("受付期間は5月1日から5月10日までです。", "受付期間はいつからいつまでですか。"),
    ],
)
def test_a_span_is_asked_for_by_how_long_and_a_day_by_when(sentence: str, question: str):
    (found,) = sentence_questions(sentence)
    assert found.text == question


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        ("담당자는 안전관리팀의 3명입니다.", "담당자는 몇 명입니까?"),
        ("담당자는 안전관리팀 직원 두 명입니다.", "담당자는 몇 명입니까?"),
        ("담당자는 김민수 과장 외 2명입니다.", "담당자는 누구입니까?"),
        ("행사는 올해로 제12회입니다.", "행사는 무엇입니까?"),
        ("担当者は安全課の3名です。", "担当者は何名ですか。"),
        ("選考委員は、小川・奥泉・川上の3名である。", "選考委員は何名ですか。"),
        ("担当者は鈴木さんほか12名です。", "担当者は誰ですか。"),
        ("著者は戦後を代表する作家の一人です。", "著者は誰ですか。"),
    ],
)
def test_a_count_of_people_is_asked_for_by_how_many_and_not_by_who(sentence: str, question: str):
    (found,) = sentence_questions(sentence)
    assert found.text == question


@pytest.mark.parametrize("sentence", ["담당자는 접수 후 대기 10분입니다.", "担当者は受付から10分です。"])
def test_a_span_that_a_sentence_says_of_a_person_gives_no_question(sentence: str):
    assert list(sentence_questions(sentence)) == []


@pytest.mark.parametrize(
    ("what", "question"),
    [
        ("인건비", "2025년 인건비는 얼마입니까?"),
        ("광고선전비", "2025년 광고선전비는 얼마입니까?"),
        ("임대료", "2025년 임대료는 얼마입니까?"),
        ("차량유지비", "2025년 차량유지비는 얼마입니까?"),
        ("정부보조금", "2025년 정부보조금은 얼마입니까?"),
        ("영업이익률", "2025년 영업이익률은 얼마입니까?"),
        ("판매량", "2025년 판매량은 얼마입니까?"),
        ("외래 환자 수", "2025년 외래 환자 수는 얼마입니까?"),
        ("방문객수", "2025년 방문객수는 얼마입니까?"),
    ],
)
def test_a_korean_measure_is_asked_for_by_how_much(what: str, question: str):
    (found,) = table_questions(f"| 항목 | 2025년 |\n|---|---|\n| {what} | 12 |\n")
    assert found.text == question


@pytest.mark.parametrize(
    ("what", "period"),
    [
        ("완료", "2025년"), ("자료", "2025년"), ("장비", "2025년"), ("준비", "2025년"), ("무료", "2025년"),
        ("교수", "2025년"), ("선수", "2025년"), ("업무용 차량", "2025년"), ("법률", "2025년"),
        ("대학교수", "2025년"), ("통신장비", "2025년"), ("지금", "2025년"),
        ("資料のまとめ", "2025年"), ("配布資料", "2025年"), ("原料", "2025年"), ("複数", "2025年"),
    ],
)  # fmt: skip
def test_a_name_that_only_ends_like_a_measure_gives_no_question(what: str, period: str):
    head = "항목" if period.endswith("년") else "項目のまとめ"
    assert list(table_questions(f"| {head} | {period} |\n|---|---|\n| {what} | 12 |\n")) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "섬의 면적은 옛 문헌에 적힌 것보다 조금 넓은 33제곱킬로미터이며 주민의 수가 344명입니다.",
        "섬의 이름은 옛 문헌에 여러 차례 나오고 지금 그곳에 사는 주민은 344명입니다.",
        "海士町の面積は33.46km2、2015年度末の人口は2,344人である。",
        "島までの距離は約60kmであり、高速船で約2時間である。",
    ],
)
def test_a_number_that_a_sentence_says_of_something_else_gives_no_question(sentence: str):
    assert list(sentence_questions(sentence)) == []
