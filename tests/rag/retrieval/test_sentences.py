import pytest
from langchain_core.embeddings import Embeddings

from rag.passage import Passage
from rag.retrieval.sentences import WIDEST, extract


def passage(text: str, document: str = "a.txt") -> Passage:
    return Passage("c", "d", document, "", None, "", 0, len(text), text)


def quotes(question: str, *texts: str) -> list[str]:
    passages = [passage(text) for text in texts]
    return [passages[p.number - 1].text[p.start : p.end] for p in extract(question, passages)]


FILLER = (
    "The weather was mild that year. Several committees met in the old hall. "
    "A new road was planned along the river."
)


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("When was the bridge opened?", "The bridge was opened in 1932.", "The bridge is painted grey."),
        (
            "How many people can the stadium seat?",
            "The stadium can seat 45,000 people.",
            "The stadium has a roof.",
        ),
        ("Who designed the library?", "The library was designed by Zaha Hadid.", "The library is large."),
        ("다리는 언제 개통되었나요?", "다리는 1932년에 개통되었다.", "다리는 회색으로 칠해졌다."),
        (
            "경기장에는 몇 명이 앉을 수 있나요?",
            "경기장에는 45,000명이 앉을 수 있다.",
            "경기장에는 지붕이 있다.",
        ),
        ("橋はいつ開通しましたか?", "橋は1932年に開通した。", "橋は灰色に塗られている。"),
        ("競技場には何人が座れますか?", "競技場には4万5千人が座れる。", "競技場には屋根がある。"),
    ],
)
def test_the_sentence_with_the_kind_of_thing_asked_for_comes_first(question, answer, other):
    assert answer in quotes(question, f"{FILLER} {other}", f"{other} {FILLER} {answer}")[0]


def test_every_pick_is_a_verbatim_span_of_its_passage():
    texts = [f"{FILLER} The bridge was opened in 1932.", "한강 다리는 1932년에 개통되었다. 날씨가 맑았다."]
    passages = [passage(text) for text in texts]
    for pick in extract("When was the bridge opened?", passages):
        assert 0 <= pick.start < pick.end <= len(texts[pick.number - 1])
        assert (
            texts[pick.number - 1][pick.start : pick.end].strip()
            == texts[pick.number - 1][pick.start : pick.end]
        )


def test_a_pronoun_brings_the_neighbour_it_stands_for():
    text = "The Golden Bridge spans the bay. It was opened to traffic in 1937."
    assert quotes("When was the Golden Bridge opened?", text) == [text]


@pytest.mark.parametrize(
    ("question", "before", "answer"),
    [
        (
            "월 차임은 얼마인가요?",
            "임대차 보증금은 금 8천만 원으로 하며, 을은 계약 체결일에 10%를 지급한다.",
            "월 차임은 금 420만 원으로 하고, 을은 매월 말일까지 송금한다.",
        ),
        (
            "遅延損害金の利率は?",
            "敷金には利息を付さない。",
            "乙が支払を怠ったときは、年14.6パーセントの割合による遅延損害金を支払う。",
        ),
        ("What is the rent?", "A deposit of 900 euros is due in May.", "The rent is 450 euros a month."),
    ],
)
def test_a_sentence_before_the_answer_that_shares_no_word_with_the_question_is_not_quoted_with_it(
    question: str, before: str, answer: str
):
    assert quotes(question, f"{before} {answer}")[0] == answer


@pytest.mark.parametrize(
    "question", ["How do zebras digest bamboo?", "얼룩말의 소화 기관은?", "シマウマの消化器官は?", "???", ""]
)
def test_nothing_is_said_where_nothing_fits(question):
    texts = {"얼": "다리는 1932년에 개통되었다.", "シ": "橋は1932年に開通した。"}
    assert quotes(question, texts.get(question[:1], "The bridge was opened in 1932.")) == []
    assert extract(question, []) == []


@pytest.mark.parametrize(
    "long",
    [
        "cell one, two | " * 200 + "the reactor limit is 450 degrees | " + "other cells | " * 200,
        "x" * 3000 + " the reactor limit is 450 degrees " + "y" * 3000,
    ],
)
def test_a_sentence_too_long_to_read_is_clipped_around_the_answer(long):
    found = quotes("What is the reactor limit?", long)
    assert "reactor limit is 450" in found[0]
    assert len(found[0]) <= WIDEST
    assert found[0] in long


@pytest.mark.timeout(60)
def test_two_megabytes_without_a_space_do_not_hang():
    assert all(len(quote) <= WIDEST for quote in quotes("abc abc", "abc" * 20_000))


class Counting(Embeddings):
    """Knows two subjects; counts what it is asked."""

    asked = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        self.asked += 1
        return [1.0, 0.0] if "bridge" in text or "다리" in text else [0.0, 1.0]


def test_across_languages_meaning_decides():
    text = "A new road was planned. The bridge was opened in 1932."
    (first, *_) = extract("다리는 언제 개통되었나요?", [passage(text)], embedder=Counting())
    assert "bridge" in text[first.start : first.end]


def test_meaning_is_not_asked_where_words_decide():
    embedder = Counting()
    assert extract(
        "When was the bridge opened?", [passage("The bridge was opened in 1932.")], embedder=embedder
    )
    assert embedder.asked == 0


@pytest.mark.parametrize(
    ("question", "heading", "sentence"),
    [
        (
            "What is the foreign exchange risk?",
            "Foreign Exchange Risk",
            "Our stores abroad are exposed to rates.",
        ),
        ("환율 위험은 무엇인가요?", "환율 위험", "해외 매장은 환율 변동에 노출되어 있다."),
        ("為替リスクとは何ですか?", "為替リスク", "海外の店舗は為替の変動にさらされている。"),
    ],
)
def test_a_heading_is_not_an_answer_where_a_sentence_says_something(question, heading, sentence):
    assert not any(
        quote == heading for quote in quotes(question, f"{heading}\n\n{sentence}\n\n20\n\n{FILLER}")
    )


def test_the_same_words_are_not_quoted_twice():
    line = "<h1>Thanks for the feedback!</h1>"
    assert len(quotes("thanks for the feedback", line, line, line)) == 1


def test_what_was_said_already_is_not_said_again_while_there_is_more():
    text = "The castle was built in 1432. Its moat is nine metres deep. Its tower fell in 1650."
    given = [Passage("c", "d", "a.txt", "", None, "", 0, len(text), text)]
    said = "The castle was built in 1432. [1]"
    picks = extract("When was the castle built?", given, said=said)
    quotes = [text[pick.start : pick.end] for pick in picks]
    assert quotes and not any("1432" in quote for quote in quotes)
    whole = extract("When was the castle built?", given, said=text)
    assert whole == extract("When was the castle built?", given)


COSTS = "| | 2023 | 2022 |\n|---|---|---|\n| Total cost | 16,128 | 15,615 |"
REPAIR = (
    "Repair order 7\n\n| | Hours | Cost |\n|---|---|---|\n| Labour | 9 | 900 |\n| Grand total | | 5,738 |"
)


def first_quote(question: str, *told: tuple[str, str]) -> str:
    passages = [Passage("c", name, name, "", None, "", 0, len(text), text) for name, text in told]
    best = extract(question, passages)[0]
    return passages[best.number - 1].text[best.start : best.end]


def test_the_total_of_a_document_that_speaks_of_something_else_is_not_meant():
    told = (("report.pdf", COSTS), ("repair.pdf", REPAIR))
    assert "5,738" in first_quote("How much did the repair cost in total?", *told)
    assert "16,128" in first_quote("What was the total cost in 2023?", *told)


def test_a_row_of_figures_is_no_reason():
    why = "Console revenue fell since fewer consoles were sold in the year."
    table = "| | 2023 | 2022 |\n|---|---|---|\n| Console revenue | 611 | 744 |"
    assert first_quote("Why did console revenue go down?", ("a.pdf", table), ("b.pdf", why)) == why


def test_a_row_that_answers_is_not_followed_by_text_about_something_else():
    drill = "| Cordless drill | 24 | 89.90 |"
    table = f"| Item | Quantity | Price |\n|---|---|---|\n{drill}\n| Step ladder | 15 | 72 |"
    policy = (
        "Submit claims within 60 days of the end of the trip. Receipts are needed for every item above £10."
    )
    assert quotes("How many drills do we have?", table, FILLER, policy) == [drill]


ROTA = (
    "The leader of each shift keeps the keys.\n\n| Shift | Hours | Leader |\n|---|---|---|\n"
    "| A | 06:00–11:00 | Paul Weir |\n| C | 17:00–20:00 | Ines Duarte |\n| D | 20:00–23:00 | Ola Berg |"
)


@pytest.mark.parametrize(
    ("question", "row"),
    [
        ("Who leads shift A?", "| A | 06:00–11:00 | Paul Weir |"),
        ("When does shift C start?", "| C | 17:00–20:00 | Ines Duarte |"),
        ("When does shift D start?", "| D | 20:00–23:00 | Ola Berg |"),
    ],
)
def test_a_row_is_found_by_the_letter_that_names_it(question: str, row: str):
    assert quotes(question, ROTA)[0] == row


def test_a_letter_names_a_thing_in_a_sentence():
    told = "Appendix B lists the alarms. Appendix D lists the keys. Appendix E lists the lamps."
    best = extract("What is listed in appendix D?", [passage(told)])[0]
    assert told[best.best_start : best.best_end] == "Appendix D lists the keys."


@pytest.mark.parametrize(
    ("question", "told", "amount"),
    [
        (
            "再塗装はいくらかかりましたか。",
            "通路の再塗装は、9月26日に完了した。費用は48万円で、予算の55万円以内に収まった。",
            "費用は48万円で、予算の55万円以内に収まった。",
        ),
        (
            "지붕 수리에 얼마가 들었나요?",
            "지붕 수리는 9월 26일에 끝났다. 비용은 48만 원이었다.",
            "비용은 48만 원이었다.",
        ),
        (
            "How much did the repair of the roof cost?",
            "The repair of the roof ended on 26 September. The builder was paid £480.",
            "The builder was paid £480.",
        ),
    ],
)
def test_an_amount_after_the_sentence_that_names_its_subject_is_the_answer(
    question: str, told: str, amount: str
):
    best = extract(question, [passage(f"{told} {FILLER}")])[0]
    assert told[best.start : best.end] == told
    assert told[best.best_start : best.best_end] == amount


def test_a_sentence_with_the_amount_needs_no_other():
    told = "The rent is 900 euros. The deposit is £1,800."
    best = extract("How much is the rent?", [passage(told)])[0]
    assert told[best.best_start : best.best_end] == "The rent is 900 euros."
