"""Grids over HTTP: made, run, followed, corrected, exported, and kept from keys that see only a part."""

import io
import json
import time

import httpx
import openpyxl
import pytest

from rag.grid.export import GRID_FORMS, GRID_MEDIA_TYPES
from tests.api.conftest import ApiServer, add

COLUMNS = [
    {"id": "moat", "name": "Moat", "question": "How deep is the moat?", "kind": "number"},
    {"id": "deep", "name": "Depth of the moat", "kind": "text"},
]


def made(client: httpx.Client, **others: object) -> dict:
    response = client.post("/api/grids", json={"name": "Places", "columns": COLUMNS, **others})
    assert response.status_code == 201, response.text
    return response.json()


def followed(client: httpx.Client, grid_id: str) -> list[tuple[str, dict]]:
    """Run a grid to its end; return the events."""
    started = client.post(f"/api/grids/{grid_id}/run")
    assert started.status_code == 202
    text = client.get(f"/api/grids/{grid_id}/progress").text
    found = [part.split("\n") for part in text.split("\n\n") if part.startswith("event: ")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in found]


def test_a_grid_is_made_run_followed_and_read(served: ApiServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(served.services, "llm", None)
    with served.client() as ann:
        grid = made(ann)
        assert ann.get(f"/api/grids/{grid['id']}/estimate").json()["cells"] >= 4
        *_, (last, ended) = followed(ann, grid["id"])
        assert (last, ended["running"], ended["note"]) == ("grid", False, "")
        rows = ann.get(f"/api/grids/{grid['id']}/rows").json()["data"]
        cells = {row["document"]: row["cells"] for row in rows}
        assert {"castle.md", "harbour.md"} <= cells.keys()
        assert all(cell["state"] for row in rows for cell in row["cells"])
        assert any(cell["quotes"] for cell in cells["castle.md"]), cells["castle.md"]
        (quote, *_) = next(cell["quotes"] for cell in cells["castle.md"] if cell["quotes"])
        document = next(row["document_id"] for row in rows if row["document"] == "castle.md")
        text = ann.get(f"/api/documents/{document}/text").json()["text"]
        assert text[quote["start"] : quote["end"]] == quote["text"]
        assert quote["document_id"] == document
        assert ann.get(f"/api/grids/{grid['id']}/estimate").json()["cells"] == 0
        asked = ann.post(f"/api/grids/{grid['id']}/ask", json={"question": "Which moat is the deepest?"})
        assert [one["cells"][0]["column_id"] for one in asked.json()["statements"]] == ["moat"]
        (cited, *_) = asked.json()["statements"][0]["cells"][0]["citations"]
        text = ann.get(f"/api/documents/{cited['document_id']}/text").json()["text"]
        assert text[cited["start"] : cited["end"]] == cited["text"]
        first = ann.get(f"/api/grids/{grid['id']}/rows", params={"limit": 1}).json()
        rest = ann.get(f"/api/grids/{grid['id']}/rows", params={"cursor": first["next_cursor"]}).json()
        assert [*first["data"], *rest["data"]] == rows
        assert grid["id"] in [one["id"] for one in ann.get("/api/grids").json()["data"]]
        assert ann.delete(f"/api/grids/{grid['id']}").status_code == 204
        assert ann.get(f"/api/grids/{grid['id']}").status_code == 404


def test_a_run_goes_on_when_the_one_who_follows_it_leaves(served: ApiServer):
    with served.client() as ann:
        grid = made(ann, name="Followed")
        ann.post(f"/api/grids/{grid['id']}/run")
        with ann.stream("GET", f"/api/grids/{grid['id']}/progress") as response:
            next(response.iter_bytes())
        deadline = time.monotonic() + 60
        while ann.get(f"/api/grids/{grid['id']}").json()["running"]:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        there = ann.get(f"/api/grids/{grid['id']}").json()
        assert there["note"] == ""
        assert ann.get(f"/api/grids/{grid['id']}/estimate").json()["cells"] == 0


def test_a_cell_is_corrected_beside_what_was_found(served: ApiServer):
    with served.client() as ann:
        grid = made(ann, name="Corrected", scope={"documents": ["castle.md"]})
        followed(ann, grid["id"])
        (row,) = ann.get(f"/api/grids/{grid['id']}/rows").json()["data"]
        path = f"/api/grids/{grid['id']}/cells/{row['document_id']}/deep"
        changed = ann.put(path, json={"value": {"text": "ten metres"}}).json()["cells"][1]
        assert (changed["text"], changed["locked"]) == ("ten metres", True)
        assert changed["found"] == row["cells"][1]["found"]
        refused = ann.put(path, json={"value": {"yes": True}})
        assert (refused.status_code, "Depth" in refused.json()["detail"]) == (422, True)
        assert ann.put(path, json={"value": None}).json()["cells"][1]["corrected"] is None
        assert ann.put(path, json={"locked": True}).json()["cells"][1]["locked"]
        assert ann.put(path.replace("/deep", "/nothing"), json={"locked": True}).status_code == 422


def test_columns_and_rows_are_changed(served: ApiServer):
    with served.client() as ann:
        grid = made(ann, name="Changed")
        path = f"/api/grids/{grid['id']}"
        changed = ann.patch(path, json={"columns": COLUMNS[:1], "scope": {"collections": ["Reports"]}}).json()
        assert [one["id"] for one in changed["columns"]] == ["moat"]
        assert [(one["kind"], one["name"]) for one in changed["scope"]] == [("collection", "Reports")]
        rows = ann.get(f"{path}/rows").json()["data"]
        assert [row["document"] for row in rows] == ["harbour.md"]
        newer = add(served.workspace(), "quay.md", "# Quay\n\nThe quay was built in 1920.\n")
        served.workspace().library.collections.put(
            [newer.id], served.workspace().library.collections.named("Reports").id
        )
        assert len(ann.get(f"{path}/rows").json()["data"]) == 2
        assert ann.patch(path, json={"scope": {"collections": ["Nowhere"]}}).status_code == 404
        assert ann.patch(path, json={"columns": [{"name": "x", "kind": "magic"}]}).status_code == 422
        served.workspace().library.documents.delete(newer.id)


def test_a_grid_is_given_out_in_every_form(served: ApiServer):
    with served.client() as ann:
        grid = made(ann, name="Exported", template="paper", language="ko")
        followed(ann, grid["id"])
        for form in GRID_FORMS:
            response = ann.get(f"/api/grids/{grid['id']}/export", params={"form": form})
            assert response.headers["content-type"].startswith(GRID_MEDIA_TYPES[form])
            assert response.content
        book = ann.get(f"/api/grids/{grid['id']}/export", params={"form": "xlsx"}).content
        link = openpyxl.load_workbook(io.BytesIO(book)).worksheets[0]["A2"].hyperlink.target
        assert link.startswith(f"{served.url}/?document=")
        assert ann.get(f"/api/grids/{grid['id']}/export?form=exe").status_code == 422
        told = ann.get(f"/api/grids/{grid['id']}/figures").json()
        assert all(one["sentence"] for one in told["figures"])
        kinds = [entry.kind for entry in served.workspace().audit_log.list()]
        assert kinds.count("grid_exported") >= len(GRID_FORMS)


def test_a_stopped_run_says_so(served: ApiServer):
    with served.client() as ann:
        grid = made(ann, name="Stopped")
        ann.post(f"/api/grids/{grid['id']}/run")
        assert ann.post(f"/api/grids/{grid['id']}/stop").status_code == 202
        there = ann.get(f"/api/grids/{grid['id']}").json()
        assert not there["running"]


def test_a_key_that_is_limited_to_a_collection_sees_no_grid(served: ApiServer):
    with served.client() as ann:
        grid = made(ann, name="Hidden")
    inside = served.workspace().library.collections.named("Reports").id
    with served.client(served.key("ann", collections=[inside])) as limited:
        for path in ("", f"/{grid['id']}", f"/{grid['id']}/rows", f"/{grid['id']}/progress"):
            assert limited.get(f"/api/grids{path}").status_code == 403
        assert limited.post("/api/grids", json={"name": "x", "columns": COLUMNS}).status_code == 403
        assert limited.post(f"/api/grids/{grid['id']}/run").status_code == 403
