import pytest

from rag.chat.whole_documents import documents_called, read_whole_question, whole_readings
from rag.ingest.document_facts import DocumentProfile
from rag.text.tokenize import tokens
from storage.records import DocumentFact

LEASE = DocumentProfile("1", "lease.docx", [DocumentFact("title", "Lease of the Brunn mill", 0, 23)])
REPORT = DocumentProfile("2", "q3.pdf", [DocumentFact("name", "Holm Corp.", 0, 10, "Holm")])
OTHERS = [DocumentProfile(str(n), f"notes {n}.md", []) for n in range(3, 9)]
DOCUMENTS = [LEASE, REPORT, *OTHERS]


@pytest.mark.parametrize(
    ("question", "kind", "subject", "ids"),
    [
        ("Summarise the Holm report", "overview", "", {"2"}),
        ("What is the mill lease about?", "overview", "", {"1"}),
        ("이 문서를 요약해 줘", "overview", "", None),
        ("この文書を要約してください", "overview", "", None),
        ("Who wrote the Holm report?", "author", "", {"2"}),
        ("Tell me about risks", "topic", "risks", None),
        ("List all suppliers in my documents.", "list", "suppliers", None),
        ("How many invoices are there?", "list", "invoices", None),
        ("How many invoices do the files list?", "list", "invoices", None),
        ("공급업체는 몇 곳인가요?", "list", "공급업체", None),
        ("Which suppliers do we have?", "list", "suppliers", None),
        ("仕入先の一覧を教えてください", "list", "仕入先", None),
        ("仕入先は何社ありますか", "list", "仕入先", None),
        ("모든 공급업체를 나열해 줘", "list", "공급업체", None),
        ("すべての請求書を列挙して", "list", "請求書", None),
        ("Which documents mention the flood of 1932?", "documents", "the flood of 1932", None),
        ("Which documents mention the mill?", "documents", "the mill", None),
        ("Which files have the word lease?", "documents", "lease", None),
        ("In which documents is Holm named?", "documents", "Holm", None),
        ("어떤 문서에 홍수가 나오나요?", "documents", "홍수", None),
        ("洪水について書かれた文書はどれですか。", "documents", "洪水", None),
        ("홍수를 언급하는 문서는 무엇인가요?", "documents", "홍수", None),
        ("洪水に言及している文書はどれですか?", "documents", "洪水", None),
    ],
)
def test_a_question_about_all_is_recognised(question, kind, subject, ids):
    found = read_whole_question(question, DOCUMENTS)
    assert found is not None
    assert (found.kind, found.subject, found.document_ids) == (kind, subject, ids and frozenset(ids))


@pytest.mark.parametrize(
    "question",
    [
        "When did the mill open?",
        "What is Brunnite?",
        "Who won the cup?",
        "How many shares did Holm buy back?",
        "How many people attended the meeting?",
        "기와를 몇 개 샀나요?",
        "会議には何人が出席しましたか?",
        "방앗간은 언제 열렸나요?",
        "水車はいつ開きましたか?",
    ],
)
def test_a_question_that_a_passage_answers_is_searched(question: str):
    assert read_whole_question(question, DOCUMENTS) is None


def test_things_to_be_listed_are_read_as_written_before_a_word_of_them_names_a_document():
    read = [(one.subject, one.document_ids) for one in whole_readings("List all mill owners", DOCUMENTS)]
    assert read == [("mill owners", None), ("owners", {"1"})]


def test_a_question_that_names_no_document_has_one_reading():
    assert [one.kind for one in whole_readings("List all suppliers", DOCUMENTS)] == ["list"]
    assert list(whole_readings("When did it open?", DOCUMENTS)) == []


def test_the_names_of_a_document_are_read_once_for_all_questions(monkeypatch):
    read = []
    monkeypatch.setattr("rag.ingest.document_facts.tokens", lambda text: read.append(text) or tokens(text))
    documents = [DocumentProfile(str(number), f"mill of town{number}.md", []) for number in range(300)]
    for town in ("town7", "town8"):
        assert [one.id for one in documents_called(f"Who bought {town}?", documents)] == [town[4:]]
    assert len(read) == 300
