"""Webhooks over HTTP: made, listed and removed, and told of a document by the running server."""

import json
import time

from pytest_httpserver import HTTPServer

from tests.api.conftest import ApiServer


def test_a_webhook_is_made_told_and_removed(served: ApiServer, httpserver: HTTPServer):
    httpserver.expect_request("/hook", method="POST").respond_with_data(status=204)
    served.services.settings = served.services.settings.model_copy(update={"private_hosts": ("127.0.0.1",)})
    with served.client() as ann:
        wanted = {"url": httpserver.url_for("/hook"), "events": ["document.ready"]}
        made = ann.post("/api/webhooks", json=wanted).json()
        assert made["secret"].startswith("whsec_")
        added = ann.post("/api/documents?name=pier.md", content=b"# Pier\n\nThe pier is long.\n").json()
        deadline = time.monotonic() + 60
        while not httpserver.log:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        (listed,) = ann.get("/api/webhooks").json()["data"]
        assert "secret" not in listed and listed["url"] == wanted["url"]
        told = json.loads(httpserver.log[0][0].get_data())
        assert told["data"]["document_id"] == added["documents"][0]["id"]
        assert ann.get(told["data"]["links"]["api"]).json()["state"] == "ready"
        assert ann.delete(f"/api/webhooks/{made['id']}").status_code == 204
        assert ann.get("/api/webhooks").json()["data"] == []


def test_what_is_no_url_is_refused_and_a_limited_key_sees_none(served: ApiServer):
    with served.client() as ann:
        for url in ("ftp://example.org", "https://ann:pw@example.org/", "nothing"):
            refused = ann.post("/api/webhooks", json={"url": url})
            assert (refused.status_code, refused.headers["content-type"]) == (422, "application/problem+json")
    inside = served.workspace().library.collections.named("Reports").id
    with served.client(served.key("ann", collections=[inside])) as limited:
        assert limited.get("/api/webhooks").status_code == 403
        assert limited.post("/api/webhooks", json={"url": "https://example.org"}).status_code == 403
