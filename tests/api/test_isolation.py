"""Every route of the interface: without a key nothing, and of another person's things no trace.

The routes are found by reflection: a new one without a case here fails the first test.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import httpx
import pytest

from api.application import create_api, create_app
from benchmarks import isolation
from rag.services import Services
from tests.api.conftest import QUESTION, SECRET, ApiServer
from tests.api.test_mcp import over_http, refused
from tests.rag.isolation import Leaks, queries
from tests.storage.test_owners import belongings

CHAT = {"messages": [{"role": "user", "content": "mine?"}]}
# Of each route: its scope, and the requests with an id in them, as they are sent.
CASES: dict[tuple[str, str], tuple[str, list[dict]]] = {
    ("POST", "/api/ask"): (
        "ask",
        [
            {"json": {"question": "mine?", "conversation_id": "{conversation}"}},
            {"json": {"question": "mine?", "collections": ["{collection}"]}},
            {"json": {"question": "mine?", "documents": ["{document}"]}},
            {"json": {"question": "mine?", "documents": ["{document}"], "store": True}},
        ],
    ),
    ("POST", "/api/search"): (
        "read",
        [
            {"json": {"query": "words", "documents": ["{document}"]}},
            {"json": {"query": "words", "collections": ["{collection}"]}},
        ],
    ),
    ("POST", "/api/check"): (
        "ask",
        [
            {"json": {"text": "These are words.", "documents": ["{document}"]}},
            {"json": {"text": "These are words.", "collections": ["{collection}"]}},
        ],
    ),
    ("POST", "/api/documents"): (
        "write",
        [{"params": {"name": "a.md", "collection": "{collection}"}, "content": b"words"}],
    ),
    ("GET", "/api/documents"): ("read", [{"params": {"collection": "{collection}"}}]),
    ("GET", "/api/documents/{document_id}"): ("read", [{}]),
    ("GET", "/api/documents/{document_id}/text"): ("read", [{}]),
    ("GET", "/api/documents/{document_id}/pages/{number}/image"): ("read", [{}]),
    ("DELETE", "/api/documents/{document_id}"): ("write", [{}]),
    ("GET", "/api/collections"): ("read", []),
    ("POST", "/api/collections"): ("write", []),
    ("GET", "/api/collections/{collection_id}"): ("read", [{}]),
    ("PATCH", "/api/collections/{collection_id}"): ("write", [{"json": {"name": "mine now"}}]),
    ("DELETE", "/api/collections/{collection_id}"): ("write", [{}]),
    ("GET", "/api/sources"): ("read", []),
    ("GET", "/api/sources/{source_id}"): ("read", [{}]),
    ("POST", "/api/sources/{source_id}/sync"): ("write", [{}]),
    ("POST", "/api/sources/{source_id}/stop"): ("write", [{}]),
    ("GET", "/api/conversations"): ("read", []),
    ("GET", "/api/conversations/{conversation_id}"): ("read", [{}]),
    ("GET", "/api/conversations/{conversation_id}/messages"): ("read", [{}]),
    ("GET", "/api/conversations/{conversation_id}/export"): ("read", [{}]),
    ("DELETE", "/api/conversations/{conversation_id}"): ("write", [{}]),
    ("GET", "/api/grids"): ("read", []),
    ("POST", "/api/grids"): (
        "write",
        [
            {"json": {"name": "Mine", "template": "cv", "scope": {"collections": ["{collection}"]}}},
            {"json": {"name": "Mine", "template": "cv", "scope": {"documents": ["{document}"]}}},
        ],
    ),
    ("GET", "/api/grids/{grid_id}"): ("read", [{}]),
    ("PATCH", "/api/grids/{grid_id}"): ("write", [{"json": {"name": "mine now"}}]),
    ("DELETE", "/api/grids/{grid_id}"): ("write", [{}]),
    ("GET", "/api/grids/{grid_id}/rows"): ("read", [{}]),
    ("PUT", "/api/grids/{grid_id}/cells/{document_id}/{column_id}"): (
        "write",
        [{"json": {"value": {"text": "mine"}}}],
    ),
    ("GET", "/api/grids/{grid_id}/estimate"): ("read", [{}]),
    ("POST", "/api/grids/{grid_id}/run"): ("write", [{}]),
    ("POST", "/api/grids/{grid_id}/stop"): ("write", [{}]),
    ("GET", "/api/grids/{grid_id}/progress"): ("read", [{}]),
    ("GET", "/api/grids/{grid_id}/figures"): ("read", [{}]),
    ("POST", "/api/grids/{grid_id}/ask"): ("ask", [{"json": {"question": "mine?"}}]),
    ("GET", "/api/grids/{grid_id}/export"): ("read", [{}]),
    ("GET", "/api/webhooks"): ("read", []),
    ("POST", "/api/webhooks"): ("write", []),
    ("GET", "/api/webhooks/{webhook_id}"): ("read", [{}]),
    ("POST", "/api/webhooks/{webhook_id}/enable"): ("write", [{}]),
    ("DELETE", "/api/webhooks/{webhook_id}"): ("write", [{}]),
    ("GET", "/api/keys"): ("the local token", []),
    ("POST", "/api/keys"): ("the local token", []),
    ("DELETE", "/api/keys/{key_id}"): ("the local token", []),
    ("GET", "/v1/models"): ("read", []),
    ("GET", "/v1/models/{model:path}"): ("read", [{}]),
    ("POST", "/v1/chat/completions"): (
        "ask",
        [
            {"json": {**CHAT, "model": "footnote/{collection}"}},
            {"json": {**CHAT, "metadata": {"conversation_id": "{conversation}"}}},
        ],
    ),
}
CALLS = [
    pytest.param(method, path, request, id=f"{method} {path} {number}")
    for (method, path), (_, requests) in CASES.items()
    for number, request in enumerate(requests)
]
NOBODYS = "0" * 16


@pytest.fixture(scope="module")
def ids(served: ApiServer) -> dict[str, str]:
    """The ids of Dora's things; Emil has his own of everything."""
    belongings(served.services.database, "emil")
    served.keys["emil"] = served.key("emil")
    found = belongings(served.services.database, "dora")
    return {"number": "1", "column_id": "c1", "model:path": f"footnote/{found['collection']}", **found}


def fill(value, ids: dict[str, str]):
    if isinstance(value, dict):
        return {key: fill(one, ids) for key, one in value.items()}
    if isinstance(value, list):
        return [fill(one, ids) for one in value]
    return value.format_map(ids) if isinstance(value, str) else value


def sent(client: httpx.Client, method: str, path: str, request: dict, ids: dict[str, str]) -> httpx.Response:
    named = {**ids, **{f"{name}_id": id_ for name, id_ in ids.items()}}
    for name, id_ in named.items():
        path = path.replace(f"{{{name}}}", id_)
    return client.request(method, path, **fill(request, named))


def told(response: httpx.Response, ids: dict[str, str]) -> tuple[int, str]:
    return response.status_code, _without(response.text, ids)


def _without(text: str, ids: dict[str, str]) -> str:
    for id_ in sorted(ids.values(), key=len, reverse=True):
        text = text.replace(id_, "…") if len(id_) > 1 else text
    return text


def found_routes() -> Iterator[tuple[str, str]]:
    api = create_api(lambda: pytest.fail("no service is needed"))
    for path, methods in api.openapi()["paths"].items():
        yield from ((method.upper(), path) for method in methods)


def test_nothing_is_served_beside_the_routes_with_cases_and_what_the_operator_reads():
    there = {route.path for route in create_app(served_by_nobody()).routes}
    assert there == {"/healthz", "/readyz", "/metrics", "/api/{path:path}", "/v1/{path:path}", "/mcp"}


def served_by_nobody() -> Services:
    return cast(Services, None)  # the routes are only counted


def test_every_route_has_a_case():
    declared = {(method, path.replace(":path", "")) for method, path in CASES}
    assert set(found_routes()) == declared


@pytest.mark.parametrize(("method", "path", "request_"), CALLS)
def test_a_strangers_id_is_an_id_that_does_not_exist(served: ApiServer, ids, method, path, request_):
    made_up = {name: NOBODYS if len(id_) >= 16 else id_ for name, id_ in ids.items()}
    made_up["model:path"] = f"footnote/{NOBODYS}"
    with served.client("emil") as emil:
        came = sent(emil, method, path, request_, ids)
        assert came.status_code == 404, came.text
        assert told(came, ids) == told(sent(emil, method, path, request_, made_up), made_up)


# Of each tool of agents, its arguments with an id in them.
TOOLS: dict[str, list[dict]] = {
    "search_documents": [
        {"query": "words", "documents": ["{document}"]},
        {"query": "words", "collections": ["{collection}"]},
    ],
    "ask_documents": [
        {"question": "mine?", "documents": ["{document}"]},
        {"question": "mine?", "collections": ["{collection}"]},
    ],
    "read_passage": [{"document_id": "{document}", "start": 0, "end": 5}],
    "read_document": [{"document_id": "{document}"}],
    "list_documents": [{"collection": "{collection}"}],
    "verify_statement": [
        {"statement": "These are words.", "documents": ["{document}"]},
        {"statement": "These are words.", "collections": ["{collection}"]},
    ],
}


async def test_a_strangers_id_is_an_id_that_does_not_exist_for_every_tool(served: ApiServer, ids):
    made_up = {name: NOBODYS if len(id_) >= 16 else id_ for name, id_ in ids.items()}
    async with over_http(served.url, served.keys["emil"]) as agent:
        assert {tool.name for tool in (await agent.list_tools()).tools} == set(TOOLS)
        for tool, calls in TOOLS.items():
            for arguments in calls:
                came = await refused(agent, tool, **fill(arguments, ids))
                nobodys = await refused(agent, tool, **fill(arguments, made_up))
                assert "There is no" in came, (tool, came)
                assert _without(came, ids) == _without(nobodys, made_up), tool


@pytest.mark.parametrize(("method", "path"), CASES)
def test_nothing_is_answered_without_a_key_nor_beyond_its_scope(served: ApiServer, ids, method, path):
    scope, requests = CASES[method, path]
    request = requests[0] if requests else {}
    with httpx.Client(base_url=served.url) as nobody:
        refusal = sent(nobody, method, path, request, ids)
        assert (refusal.status_code, refusal.headers["www-authenticate"]) == (401, "Bearer")
    others = [one for one in ("read", "ask", "write") if one != scope]
    with served.client(served.key("ann", *others)) as limited:
        assert sent(limited, method, path, request, ids).status_code == 403


def test_the_description_itself_needs_a_key(served: ApiServer):
    assert httpx.get(f"{served.url}/api/openapi.json").status_code == 401
    assert httpx.get(f"{served.url}/api/nowhere").status_code == 401


def test_a_key_limited_to_a_collection_finds_lists_and_reads_nothing_else(served: ApiServer):
    ann = served.workspace("ann")
    inside = ann.library.collections.named("Reports").id
    outside = next(one for one in ann.library.documents.list() if one.name == "castle.md")
    chat = ann.conversations.create("mine").id
    with served.client(served.key("ann", collections=[inside])) as limited:
        listed = limited.get("/api/documents").json()["data"]
        assert {one["name"] for one in listed} == {"harbour.md"}
        assert [one["id"] for one in limited.get("/api/collections").json()["data"]] == [inside]
        models = [one["id"] for one in limited.get("/v1/models").json()["data"]]
        assert models == ["footnote", "footnote/Reports"]
        found = limited.post("/api/search", json={"query": "castle moat deep"}).json()["passages"]
        assert {one["document"] for one in found} == {"harbour.md"}
        asked = limited.post("/api/ask", json={"question": "How deep is the moat of the castle?"}).json()
        assert {one["document"] for one in asked["sources"]} <= {"harbour.md"}
        checked = limited.post("/api/check", json={"text": "The castle was built in 1432."}).json()
        assert checked["verified"] == 0
        for path in (f"/api/documents/{outside.id}", f"/api/documents/{outside.id}/text"):
            assert limited.get(path).status_code == 404
        assert limited.delete(f"/api/documents/{outside.id}").status_code == 404
        assert limited.get("/api/conversations").status_code == 403
        assert limited.get(f"/api/conversations/{chat}/messages").status_code == 403
        again = {"question": "more", "conversation_id": chat}
        assert limited.post("/api/ask", json=again).status_code == 403
        assert limited.get("/api/sources").status_code == 403
        upload = limited.post("/api/documents?name=a.md", content=b"words")
        assert upload.status_code == 403 and "into which" in upload.json()["detail"]


def test_no_passage_of_another_person_is_ever_found(served: ApiServer):
    words = ("harbour", "lighthouse", "whale oil", "1901", "lamp", "burned", "castle", QUESTION)
    with served.client("ann") as ann, served.client("bob") as bob:
        for word, retriever in itertools.product(words, ("bm25", "similarity", "ensemble-cc", "mmr")):
            asked = {"query": word, "retriever": retriever, "k": 50}
            hers = ann.post("/api/search", json=asked).json()["passages"]
            his = bob.post("/api/search", json=asked).json()["passages"]
            assert not {one["text"] for one in hers} & {one["text"] for one in his}
            assert SECRET.split("\n\n")[1].strip() not in str(hers)


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(15, id="15"),
        pytest.param(
            1000, marks=[pytest.mark.slow(reason="asks 7,000 questions"), pytest.mark.timeout(3600)]
        ),
    ],
)
async def test_seven_ways_of_asking_over_http_and_tools_find_nothing_of_another(tmp_path: Path, asked: int):
    with isolation.served(tmp_path, 8) as (url, key, hers):
        found = await isolation.leaks_over_http(url, key, hers, queries(asked))
    assert found == dict.fromkeys(isolation.OVER_HTTP, Leaks(asked, 0, 0))


def test_no_key_is_logged(served: ApiServer, caplog: pytest.LogCaptureFixture):
    with caplog.at_level("DEBUG"), served.client("ann") as ann:
        ann.get("/api/documents")
        ann.post("/api/ask", json={"question": ""})
        httpx.get(f"{served.url}/api/documents", headers={"Authorization": f"Bearer {served.keys['ann']}x"})
    assert served.keys["ann"][21:] not in caplog.text
