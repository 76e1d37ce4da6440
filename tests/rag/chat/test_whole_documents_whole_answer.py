import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

from rag.chat.answer import Done, Sources
from rag.chat.corpus import Corpus
from rag.chat.map_reduce import Coverage
from rag.chat.pipeline import RagPipeline
from rag.chat.scope import EVERYTHING, NarrowedTo
from rag.ingest.document_facts import DocumentProfile
from rag.jobs import never
from rag.passage import Passage
from storage.records import DocumentFact

LEASE = (
    "Ann Berg, Bo Dahl, Cy Holm\n\nThe mill of Brunn is let to the bakers of Brunn for nine years from May."
)
NOTES = "Suppliers:\n\n- Acme Ltd\n- Brunn Stone"
PASSAGES = [
    Passage("c1", "1", "lease.txt", "", None, "", 0, len(LEASE), LEASE),
    Passage("c2", "2", "ledger.md", "", None, "", 50, 50 + len(NOTES), NOTES),
]
PROFILES = [
    DocumentProfile(
        "1",
        "lease.txt",
        [DocumentFact("author", "Ann Berg", 0, 8), DocumentFact("author", "Cy Holm", 19, 26)],
    ),
    DocumentProfile("2", "ledger.md", [DocumentFact("author", "Dee Ek")]),
]


class Shelf(Corpus):
    def __init__(self, passages):
        self._passages = passages

    def documents_in_scope(self):
        return PROFILES

    def all_passages(self, document_ids=None):
        yield from (one for one in self._passages if document_ids is None or one.document_id in document_ids)


def asked(question: str, found=(), held=PASSAGES):
    documents = [Document(one.text, id=one.id, metadata=vars(one) | {"found_by": {}}) for one in found]
    pipeline = RagPipeline(RunnableLambda(lambda _: documents), corpus=Shelf(held), scope=EVERYTHING)
    events = list(pipeline.ask(question, [], never))
    done = next(event for event in events if isinstance(event, Done))
    sources = next(event for event in events if isinstance(event, Sources))
    return events, done, sources.passages


@pytest.mark.parametrize(
    ("question", "lead"),
    [
        ("List all suppliers", "**2 found:**"),
        ("모든 suppliers를 나열해 줘", "**2개를 찾았습니다:**"),
        ("すべてのsuppliersを列挙して", "**2件見つかりました:**"),
    ],
)
def test_a_list_has_all_items_each_cited_and_says_what_was_read(question: str, lead: str):
    events, done, passages = asked(question)
    assert done.text == f"{lead}\n\n- Acme Ltd [1]\n- Brunn Stone [1]"
    assert Coverage(2, 2, 2) in events
    for citation in done.citations:
        passage = passages[citation.marker - 1]
        at = citation.quote_start - passage.start
        assert passage.text[at : at + len(citation.quote)] == citation.quote
        assert citation.quote in done.text[citation.answer_start : citation.answer_end]


def test_documents_that_mention_something_are_named():
    _, done, passages = asked("Which documents mention the bakers?")
    assert done.text.startswith("**1 of 2 documents:**\n\n- lease.txt: The mill of Brunn")
    assert [passage.document for passage in passages] == ["lease.txt"]


def test_an_overview_quotes_the_document_that_is_called():
    events, done, _ = asked("Summarise the lease")
    assert done.text.startswith("**The mill of Brunn is let")
    assert NarrowedTo("lease.txt") in events
    assert Coverage(1, 1, 1) in events


def test_an_overview_by_the_words_of_a_heading_quotes_its_section_and_what_is_denied_is_searched():
    told = ("1. What is covered", "We pay for fire."), ("2. What is not covered", "We never pay for rust.")
    found = [
        Passage(f"c{at}", "1", "policy.md", "", None, heading, 100 * at, 100 * at + len(text), text)
        for at, (heading, text) in enumerate((*told, ("3. Claims", "Call us within a week.")))
    ]
    _, done, _ = asked("What is covered?", held=found)
    assert done.text == "**We pay for fire.** [1]"
    events, done, _ = asked("What is not covered?", found[1:], held=found)
    assert done.text.endswith("**We never pay for rust.** [1]")
    assert not any(isinstance(event, Coverage) for event in events)


def test_the_authors_are_quoted_from_the_text():
    _, done, _ = asked("Who wrote the lease?")
    assert done.text == "**Ann Berg, Bo Dahl, Cy Holm** [1]"


def test_an_author_of_the_file_alone_is_told_as_that():
    _, done, _ = asked("Who wrote the ledger?")
    assert "properties name Dee Ek" in done.text
    assert not done.citations


def test_a_list_of_which_nothing_is_named_is_searched():
    _, done, _ = asked("List all penguins")
    assert done.text == "Your documents do not seem to answer this."


def test_a_list_that_is_searched_says_how_little_of_the_scope_was_read():
    events, done, _ = asked("How many bakers are there?", PASSAGES[:1])
    assert "bakers of Brunn" in done.text
    assert Coverage(1, 2, 2) in events


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("동별 대표자는 모두 몇 명인가요?", "참석: 동별 대표자 9명 중 7명\n\n동별 대표자 7명이 찬성하였다."),
        ("監査委員は全部で何人ですか。", "監査委員3名が出席した。"),
    ],
)
def test_a_number_that_stands_behind_what_it_counts_names_none_of_it(question: str, text: str):
    _, done, _ = asked(question, [Passage("c1", "1", "a.md", "", None, "", 0, len(text), text)])
    assert text.partition("\n")[0].rstrip("。") in done.text


def test_a_number_that_a_sentence_states_is_quoted_rather_than_counted():
    listed = f"{NOTES}\n\nYears:\n\n- 1931\n- 1932"
    found = [PASSAGES[0], Passage("c3", "2", "ledger.md", "", None, "", 50, 50 + len(listed), listed)]
    _, done, _ = asked("How many years is the mill of Brunn let for?", found)
    assert "nine years" in done.text and "1931" not in done.text


COUNTED = """
| Term | Meals served | Price |
|---|---|---|
| Autumn | 9,840 | £2.60 |
| Spring | 9,310 | £2.75 |

| SKU | Item | Quantity |
|---|---|---|
| TL-1 | Cordless drill 18V | 24 |
"""


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("How many meals were served in spring?", "9,310"),
        ("How many meals are there?", "9,840"),
        ("How many drills do we have?", "| Cordless drill 18V | 24"),
        ("How many cordless drills are in stock?", "| Cordless drill 18V | 24"),
    ],
)
def test_a_number_that_a_table_states_is_quoted_rather_than_its_cells_counted(question: str, told: str):
    found = [PASSAGES[0], Passage("c3", "2", "ledger.md", "", None, "", 50, 50 + len(COUNTED), COUNTED)]
    _, done, _ = asked(question, found, found)
    assert told in done.text and "found:" not in done.text


@pytest.mark.parametrize(
    ("question", "listed", "items"),
    [
        ("How many modes are there?", "| Mode | h |\n|-|-|\n| Eco | 9 |\n| Quick | 4 |", "| Eco [1] |"),
        ("How many invoices are there?", "| Invoice | £ |\n|-|-|\n| 101 | 5 |\n| 102 | 7 |", "| 101 [1] |"),
        (
            "How many suppliers are there across all documents?",
            "Suppliers:\n\n- Acme\n- Brunn\n\n| Year | What |\n|---|---|\n| 1999 | First supplier signed |",
            "- Acme [1]\n- Brunn [1]",
        ),
    ],
)  # fmt: skip
def test_what_a_table_or_a_list_names_is_counted(question: str, listed: str, items: str):
    held = [Passage("c3", "2", "ledger.md", "", None, "", 0, len(listed), listed)]
    _, done, _ = asked(question, held=held)
    assert done.text.startswith("**2 found:**\n\n")
    assert items in done.text


BILLS = """\
| Invoice | Supplier | Sum | Status |
|---|---|---|---|
| INV-1 | Acme Ltd | 40 | open |
| INV-2 | Brunn | 75 | paid |
| INV-3 | Acme Ltd | 90 | open |
| INV-4 | Acme Ltd | 15 | disputed |
"""
BOOKINGS = "| Booking | Status |\n|---|---|\n| B1 | open |\n| B2 | held |\n| B3 | open |"
KOREAN_BILLS = "| 청구서 | 상태 |\n|---|---|\n| A1 | 미납 |\n| A2 | 완납 |\n| A3 | 미납 |"
JAPANESE_BILLS = "| 請求書番号 | 状況 |\n|---|---|\n| A1 | 未払い |\n| A2 | 済 |\n| A3 | 未払い |"


@pytest.mark.parametrize(
    ("question", "table", "named"),
    [
        ("How many invoices are open?", BILLS, ["INV-1", "INV-3"]),
        ("How many open invoices are there?", BILLS, ["INV-1", "INV-3"]),
        ("List all invoices from Acme Ltd", BILLS, ["INV-1", "INV-3", "INV-4"]),
        ("List all open or disputed invoices", BILLS, ["INV-1", "INV-3", "INV-4"]),
        ("How many invoices are there with the status paid?", BILLS, ["INV-2"]),
        ("How many bookings are open?", BOOKINGS, ["B1", "B3"]),
        ("미납인 청구서는 몇 건인가요?", KOREAN_BILLS, ["A1", "A3"]),
        ("未払いの請求書は何件ですか", JAPANESE_BILLS, ["A1", "A3"]),
        ("請求書のうち未払いは何件ありますか", JAPANESE_BILLS, ["A1", "A3"]),
        ("All invoices from Acme Ltd with the status open", BILLS, ["INV-1", "INV-3"]),
        ("미납 상태인 청구서를 모두 알려 주세요", KOREAN_BILLS, ["A1", "A3"]),
        ("상태가 미납인 청구서 전부", KOREAN_BILLS, ["A1", "A3"]),
        ("未払いの状況の請求書を全部見せてください", JAPANESE_BILLS, ["A1", "A3"]),
        ("未払いの請求書一覧", JAPANESE_BILLS, ["A1", "A3"]),
    ],
)
def test_rows_with_a_value_that_is_named_are_counted(question: str, table: str, named: list[str]):
    held = [Passage("c3", "2", "bills.csv", "", None, "", 0, len(table), table)]
    _, done, _ = asked(question, held=held)
    assert str(len(named)) in done.text.partition("\n")[0]
    assert all(f"\n| {name} [1] |" in done.text for name in named)
    assert [citation.quote.split()[1] for citation in done.citations] == named


@pytest.mark.parametrize(
    "question",
    ["How many invoices are unpaid?", "How many invoices are from March?", "How many letters are open?"],
)
def test_rows_are_not_counted_where_a_question_says_more_than_their_values(question: str):
    held = [Passage("c3", "2", "bills.csv", "", None, "", 0, len(BILLS), BILLS)]
    _, done, _ = asked(question, held=held)
    assert "found:" not in done.text


def test_a_row_that_two_passages_share_is_counted_once():
    cut = BILLS.index("| INV-3")
    rest = BILLS[cut:]
    heading = "Invoice | Supplier | Sum | Status"
    held = [
        Passage("c3", "2", "bills.csv", "", None, "", 0, len(BILLS), BILLS),
        Passage("c4", "2", "bills.csv", "", None, heading, cut, cut + len(rest), rest),
    ]
    _, done, _ = asked("How many invoices are open?", held=held)
    assert done.text.startswith("**2 found:**")


FEES = """\
会費は次のとおりです。

| 会費の名称 | 月額 |
|---|---|
| 正会員会費 | 三千円 |
| 学生のための会費 | 千円 |
"""
FEES_TOLD = "会費の種類は、正会員会費と学生会費の二種類とする。"


@pytest.mark.parametrize(
    ("question", "table", "listed"),
    [
        ("会費の種類をすべて教えてください", FEES, 2),
        ("会費を全部一覧にしてください", FEES, 2),
        ("会費一覧", FEES, 2),
        ("보험 종류를 모두 알려 주세요", "| 보험 | 보험료 |\n|---|---|\n| 화재 | 9 |\n| 상해 | 4 |", 2),
        ("List all types of leave", "| Leave | Days |\n|---|---|\n| Annual | 9 |\n| Parental | 4 |", 2),
        ("会費の種類をすべて教えてください", f"{FEES}\n{FEES_TOLD}", 0),
    ],
)
def test_the_kinds_of_a_thing_are_listed_where_no_sentence_tells_of_them(
    question: str, table: str, listed: int
):
    held = [Passage("c3", "2", "list.md", "", None, "", 0, len(table), table)]
    _, done, _ = asked(question, held=held, found=held)
    lead = done.text.partition("\n")[0]
    assert (str(listed) in lead) if listed else FEES_TOLD[:-1] in done.text
    if not question.isascii():
        assert "found" not in lead


def test_a_list_shows_the_rows_of_its_items_under_their_header():
    held = [Passage("c3", "2", "bills.csv", "", None, "", 100, 100 + len(BILLS), BILLS)]
    _, done, sources = asked("List all invoices", held=held)
    assert done.text.startswith(
        "**4 found:**\n\n| Invoice | Supplier | Sum | Status |\n|---|---|---|---|\n"
        "| INV-1 [1] | Acme Ltd | 40 | open |\n| INV-2 [1] | Brunn | 75 | paid |\n"
    )
    for citation in done.citations:
        row = done.text[citation.answer_start : citation.answer_end]
        assert row.replace(" [1]", "") == citation.quote
        assert sources[0].text[citation.quote_start - 100 : citation.quote_end - 100] == citation.quote


def test_a_list_of_what_several_rows_name_shows_none_of_them():
    held = [Passage("c3", "2", "bills.csv", "", None, "", 0, len(BILLS), BILLS)]
    _, done, _ = asked("List all suppliers", held=held)
    assert done.text == "**2 found:**\n\n- Acme Ltd [1]\n- Brunn [1]"


@pytest.mark.parametrize("question", ["When does the lease begin?", "List all penguins"])
def test_coverage_is_said_only_of_a_list_and_of_what_was_read(question: str):
    events, _, _ = asked(question, PASSAGES[:1] if "lease" in question else ())
    assert not any(isinstance(event, Coverage) for event in events)


def test_coverage_is_not_said_of_an_answer_that_read_passages_of_another_document_too():
    other = "The bakers of Brunn have 40 ovens."
    found = [PASSAGES[0], Passage("c3", "3", "ovens.csv", "", None, "", 0, len(other), other)]
    events, _, _ = asked("How many bakers are there?", found)
    assert not any(isinstance(event, Coverage) for event in events)
