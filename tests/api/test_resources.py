"""The resources under /api, as a program uses them."""

import base64
import json
import zipfile
from contextlib import closing
from io import BytesIO
from pathlib import Path

import httpx
import pytest

from api.answers import AnswerBuilder
from api.problems import MEDIA_TYPE
from rag.services import Services
from rag.settings import load
from storage.records import Message
from tests.api.conftest import CASTLE, HARBOUR, QUESTION, ApiServer, add, ready, running
from tests.rag.fake_llm import FakeLLM, Reply
from tests.rag.ingest.parsers.makers import Placed, pdf

ANSWER = "The harbour handled 4.1 million containers in 2024 [1]."


@pytest.fixture
def client(api: ApiServer):
    api.fake.say(ANSWER)
    with api.client() as opened:
        yield opened


def data(response: httpx.Response) -> dict:
    assert response.is_success, response.text
    return response.json()


def refused(response: httpx.Response, status: int) -> str:
    """The sentence of a problem."""
    assert (response.status_code, response.headers["content-type"]) == (status, MEDIA_TYPE), response.text
    problem = response.json()
    assert problem["status"] == status and problem["title"]
    return problem["detail"]


def events(response: httpx.Response) -> list[tuple[str, dict]]:
    blocks = [block.split("\n") for block in response.text.split("\n\n") if block.startswith("event: ")]
    return [
        (name.removeprefix("event: "), json.loads(fields.removeprefix("data: "))) for name, fields in blocks
    ]


def test_passages_are_found_in_a_scope(client):
    found = data(client.post("/api/search", json={"query": "opened in 1893", "k": 2}))
    assert found["passages"][0]["document"] == "harbour.md"
    best = found["passages"][0]
    assert best["text"] == HARBOUR[best["start"] : best["end"]] and best["found_by"]
    only = data(client.post("/api/search", json={"query": "opened in 1893", "collections": ["Reports"]}))
    assert {one["document"] for one in only["passages"]} == {"harbour.md"}
    assert only["searched_in"] == "Reports (collection)"
    assert refused(client.post("/api/search", json={"query": "x", "collections": ["Lamps"]}), 404)


def test_no_more_passages_are_found_than_asked_for_without_a_model(tmp_path: Path):
    chapters = [
        f"# Harbour {number}\n\n" + f"The harbour {number} opened in 1893. " * 30 for number in range(9)
    ]
    services = Services(load({"data": tmp_path / "data", "shutdown_seconds": 0}))
    with closing(services), FakeLLM() as unused, running(services, unused) as server:
        add(server.workspace("ann"), "harbours.md", "\n\n".join(chapters))
        with server.client(server.key("ann")) as ann:
            found = {
                k: len(data(ann.post("/api/search", json={"query": "opened in 1893", "k": k}))["passages"])
                for k in (3, 8)
            }
    assert found == {3: 3, 8: 8}


def test_an_answer_is_whole_or_a_stream_of_events(client):
    whole = data(client.post("/api/ask", json={"question": QUESTION}))
    assert whole["text"] == ANSWER and whole["citations"][0]["status"] == "verified"
    assert whole["conversation_id"] is None
    with client.stream("POST", "/api/ask", json={"question": QUESTION, "stream": True}) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        response.read()
    told = events(response)
    names = [name for name, _ in told]
    assert names[0] == "condensed" and names[-1] == "answer"
    assert names.index("sources") < names.index("token") < names.index("done")
    assert "".join(fields["text"] for name, fields in told if name == "token") == ANSWER
    same = ("text", "citations", "sources", "model")
    assert [told[-1][1][key] for key in same] == [whole[key] for key in same]


def test_an_answer_about_a_whole_scope_says_how_much_was_read(client):
    asked = {"question": "Summarise my documents", "collections": ["Reports"], "stream": True}
    told = events(client.post("/api/ask", json=asked))
    (coverage,) = (fields for name, fields in told if name == "coverage")
    assert coverage["read"] == coverage["total"] > 0 and coverage["documents"] == 1
    whole = told[-1][1]
    assert whole["coverage"] == f"Read {coverage['read']} of {coverage['total']} passages in 1 document"
    assert whole["reading_offer"] is None


def test_a_failure_ends_the_stream_with_a_problem(client, api):
    api.fake.reply(Reply(status=500))
    response = client.post("/api/ask", json={"question": QUESTION, "stream": True})
    name, problem = events(response)[-1]
    assert (name, problem["status"]) == ("error", 502)
    assert problem["detail"] == refused(client.post("/api/ask", json={"question": QUESTION}), 502)


def test_a_chat_is_kept_gone_on_with_read_exported_and_deleted(client):
    first = data(client.post("/api/ask", json={"question": QUESTION, "store": True}))
    chat = first["conversation_id"]
    again = {"question": "And when was it opened?", "conversation_id": chat, "stream": True}
    assert events(client.post("/api/ask", json=again))[-1][1]["conversation_id"] == chat
    listed = data(client.get("/api/conversations", params={"limit": 1}))["data"]
    assert listed == [data(client.get(f"/api/conversations/{chat}"))]
    read = data(client.get(f"/api/conversations/{chat}/messages"))["data"]
    assert [one["role"] for one in read] == ["user", "assistant"] * 2
    assert read[1]["citations"] == first["citations"] and read[1]["sources"] == first["sources"]
    part = data(client.get(f"/api/conversations/{chat}/messages", params={"limit": 2}))
    older = data(client.get(f"/api/conversations/{chat}/messages", params={"before": part["previous"]}))
    assert older["data"] + part["data"] == read
    assert ANSWER[:20] in client.get(f"/api/conversations/{chat}/export").text
    assert client.delete(f"/api/conversations/{chat}").status_code == 204
    assert refused(client.get(f"/api/conversations/{chat}"), 404)


def test_a_text_is_checked_statement_by_statement(client):
    text = "The harbour was opened in 1893. The harbour handled 9.9 million containers in 2024."
    checked = data(client.post("/api/check", json={"text": text, "collections": ["Reports"]}))
    assert [one["status"] for one in checked["statements"]] == ["verified", "differs"]
    assert checked["statements"][1]["note"] == "4.1 million"
    assert (checked["verified"], checked["total"]) == (1, 2)
    source = checked["statements"][0]["sources"][0]
    assert HARBOUR[source["start"] : source["end"]] == source["quote"]
    file = base64.b64encode(text.encode()).decode()
    streamed = events(client.post("/api/check", json={"file": file, "name": "a.md", "stream": True}))
    assert "progress" in [name for name, _ in streamed]
    assert streamed[-1][1]["statements"][0]["status"] == "verified"
    for wrong in ({}, {"text": "a", "file": "YQ=="}, {"file": "é"}):
        assert refused(client.post("/api/check", json=wrong), 422)


@pytest.fixture
def own(api: ApiServer):
    """A client of a person who has nothing yet."""
    api.keys["new"] = api.key("new")
    with api.client("new") as opened:
        yield opened
    for record in api.workspace("new").library.documents.list():
        api.workspace("new").ingest.remove(record.id)


def test_a_file_is_added_as_a_form_or_as_it_is_and_becomes_ready(own, api):
    form = data(own.post("/api/documents", files={"file": ("castle.md", CASTLE.encode())}))
    raw = data(
        own.post("/api/documents", params={"name": "등대.md"}, content="등대는 1901년까지 켜졌다.".encode())
    )
    (first,), (second,) = form["documents"], raw["documents"]
    assert (first["name"], first["outcome"], second["name"]) == ("castle.md", "new", "등대.md")
    for one in (first, second):
        ready(api.workspace("new"), one["id"])
        assert data(own.get(f"/api/documents/{one['id']}"))["state"] == "ready"
    again = data(own.post("/api/documents", files={"file": ("castle.md", CASTLE.encode())}))
    assert again["documents"][0]["outcome"] == "unchanged" and again["documents"][0]["id"] == first["id"]
    assert own.delete(f"/api/documents/{first['id']}").status_code == 204
    assert refused(own.get(f"/api/documents/{first['id']}"), 404)


def test_each_document_of_an_archive_is_added_into_the_collection(own):
    collection = data(own.post("/api/collections", json={"name": "Box"}))["id"]
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.md", CASTLE)
        archive.writestr("b.md", HARBOUR)
    added = data(own.post("/api/documents?name=box.zip&collection=Box", content=packed.getvalue()))
    assert {one["name"] for one in added["documents"]} == {"box/a.md", "box/b.md"}
    assert {one["collection_id"] for one in added["documents"]} == {collection}

    assert own.delete(f"/api/collections/{collection}").status_code == 204


def test_an_upload_with_the_same_idempotency_key_is_answered_alike(own, api):
    def send(content: str, key: str) -> httpx.Response:
        return own.post("/api/documents?name=a.md", content=content, headers={"Idempotency-Key": key})

    first = data(send(CASTLE, "one"))
    assert data(send(CASTLE, "one")) == first  # a second upload would be "unchanged"
    assert data(send(CASTLE, "two"))["documents"][0]["outcome"] == "unchanged"
    assert "another request" in refused(send(HARBOUR, "one"), 409)
    assert len(api.workspace("new").library.documents.list()) == 1


def test_what_is_no_upload_is_refused_in_words(own):
    assert "no name" in refused(own.post("/api/documents", content=b"words"), 422)
    assert "no file" in refused(own.post("/api/documents", files={"other": b"words"}), 422)
    assert refused(
        own.post("/api/documents", content=b"x", headers={"content-type": "multipart/form-data"}), 400
    )
    large = own.post("/api/documents?name=a.md", content=b"a" * (1 << 20) + b"a")
    assert "larger than 1 MB" in refused(large, 413)
    chunked = own.post("/api/documents?name=a.md", content=(b"a" * 100_000 for _ in range(12)))
    assert "larger than 1 MB" in refused(chunked, 413)


def test_the_text_and_the_pages_of_a_document_are_those_that_citations_count_in(own, api, tmp_path):
    pages = [[Placed("The moat is nine metres deep.", 50, 400)], [Placed("The tower is old.", 50, 400)]]
    content = pdf(tmp_path / "castle.pdf", pages).read_bytes()
    id_ = data(own.post("/api/documents?name=castle.pdf", content=content))["documents"][0]["id"]
    ready(api.workspace("new"), id_)
    whole = data(own.get(f"/api/documents/{id_}/text"))
    assert whole["length"] == len(whole["text"]) and [one["number"] for one in whole["pages"]] == [1, 2]
    start = whole["text"].index("nine")
    part = data(own.get(f"/api/documents/{id_}/text", params={"start": start, "end": start + 4}))
    assert (part["text"], [one["number"] for one in part["pages"]]) == ("nine", [1])
    plain, marked = (
        own.get(f"/api/documents/{id_}/pages/1/image", params=params).content
        for params in ({}, {"start": start, "end": start + 11})
    )
    assert plain.startswith(b"\x89PNG") and marked.startswith(b"\x89PNG") and plain != marked
    assert "no page 3" in refused(own.get(f"/api/documents/{id_}/pages/3/image"), 404)


def test_lists_are_read_page_after_page_whatever_comes_meanwhile(own, api):
    here = api.workspace("new")
    for number in range(5):
        add(here, f"{number}.md", f"Castle number {number} has a moat.")
    page = data(own.get("/api/documents", params={"limit": 2}))
    seen = [one["name"] for one in page["data"]]
    add(here, "later.md", "The last castle has none.")
    while page["next_cursor"]:
        page = data(own.get("/api/documents", params={"limit": 2, "cursor": page["next_cursor"]}))
        seen += [one["name"] for one in page["data"]]
    assert seen == ["4.md", "3.md", "2.md", "1.md", "0.md"]
    for wrong in ("no", "é", "W10", "[" * 100):
        assert "cursor" in refused(own.get("/api/documents", params={"cursor": wrong}), 422)


def test_collections_are_made_renamed_and_deleted(own):
    made = data(own.post("/api/collections", json={"name": "  HR  2024 "}))
    assert made["name"] == "HR 2024"
    assert "HR 2024 already" in refused(own.post("/api/collections", json={"name": "hr 2024"}), 422)
    renamed = data(own.patch(f"/api/collections/{made['id']}", json={"name": "Staff"}))
    assert data(own.get("/api/collections"))["data"] == [renamed] == [data(own.get("/api/collections/Staff"))]
    assert own.delete(f"/api/collections/{made['id']}").status_code == 204
    assert data(own.get("/api/collections"))["data"] == []


def test_a_source_is_listed_and_read(own, api, tmp_path):
    (tmp_path / "castle.md").write_text(CASTLE)
    here = api.workspace("local")
    made = here.syncing.sources.create("folder", "Castles", {"path": str(tmp_path)})
    with api.client(api.services.local_token) as local:
        (listed,) = data(local.get("/api/sources"))["data"]
        assert (listed["name"], listed["kind"], listed["documents"]) == ("Castles", "folder", 0)
        assert local.post(f"/api/sources/{made.id}/sync").status_code == 202
        job = here.syncing.job(made.id)
        assert job is None or job.wait(60)
        assert data(local.get(f"/api/sources/{made.id}"))["documents"] == 1
        assert local.post(f"/api/sources/{made.id}/stop").status_code == 202
    assert data(own.get("/api/sources"))["data"] == []
    assert refused(own.post(f"/api/sources/{made.id}/sync"), 404)


def test_a_stored_offer_to_read_all_is_sent_with_its_cost():
    cost = {"passages": 214, "requests": 12, "tokens": 48_000}
    message = Message(
        "a1", "assistant", "Three.", "complete", "q1", None, "fake", None, {}, None, reading_offer=cost
    )
    sent = AnswerBuilder().stored(message, "c1").model_dump(mode="json")  # a warning is an error here
    assert sent["reading_offer"] == cost
