"""A question that asks who is answered with the definition of the term that the quote has."""

from collections.abc import Iterator

import pytest

from rag.chat.answer import Done, Sources
from rag.factory import make_pipeline
from rag.ingest.library import Library
from rag.jobs import never
from rag.models.embeddings import Embedder
from rag.settings import Settings
from storage.database import Database
from tests.rag.chat.test_pipeline import put

FILLER = (
    "The gravel of the yard is raked on Fridays, and the gate stays open until the evening bell is rung. "
)
DOCUMENTS = {
    "lift.md": 'Contract between Hill Homes ("the Client") and Norvik Lifts GmbH ("the Contractor").\n\n'
    f"# Yard\n\n{FILLER * 40}\n\n# Object\n\nThe Contractor maintains both lifts.\n\n"
    "# Keys\n\nThe porter keeps the keys of the cellar.\n",
    "청소.md": '# 정의\n\n"위탁업체"란 주식회사 푸른환경을 말한다.\n\n'
    "# 폐기물\n\n위탁업체는 매주 화요일에 의료폐기물을 수거한다.\n",
    "清掃.md": "# 定義\n\n「委託業者」とは、株式会社みどりビルサービスをいう。\n\n"
    "# 清掃\n\n委託業者は、毎朝開館前に館内を清掃する。\n",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Iterator[Library]:
    database = Database.open(tmp_path_factory.mktemp("definitions"))
    opened = Library(database, "ann", lambda: embedder)
    for name, text in DOCUMENTS.items():
        put(opened, text, name)
    yield opened
    opened.close()
    database.close()


def asked(library: Library, question: str) -> tuple[Done, Sources]:
    events = list(make_pipeline(Settings(), library, None).ask(question, (), never))
    done = next(event for event in events if isinstance(event, Done))
    return done, next(event for event in events if isinstance(event, Sources))


@pytest.mark.parametrize(
    ("question", "answer", "definition"),
    [
        ("Who maintains the lifts?", "The Contractor maintains both lifts.", "Norvik Lifts GmbH"),
        ("의료폐기물은 누가 수거하나요?", "위탁업체는 매주 화요일에", "주식회사 푸른환경"),
        ("館内を清掃するのは誰ですか", "委託業者は、毎朝開館前に", "株式会社みどりビルサービス"),
    ],
)
def test_a_term_that_answers_who_is_followed_by_its_definition(
    library: Library, question: str, answer: str, definition: str
):
    done, sources = asked(library, question)
    first, second, *_ = done.citations
    assert answer in first.quote
    assert definition in second.quote
    passage = sources.passages[second.marker - 1]
    assert passage.text[second.quote_start - passage.start : second.quote_end - passage.start] == second.quote


@pytest.mark.parametrize("question", ["Which lifts does the Contractor maintain?", "Who keeps the keys?"])
def test_no_definition_follows_what_names_no_term_or_asks_no_person(library: Library, question: str):
    done, _ = asked(library, question)
    assert not any("Norvik" in citation.quote for citation in done.citations[:2])


def test_a_definition_that_is_the_best_quote_is_not_repeated(library: Library):
    done, _ = asked(library, "Who is the Contractor?")
    assert sum("Norvik" in citation.quote for citation in done.citations) == 1
