"""The OpenAPI document, held against the running server by schemathesis."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.api.conftest import ApiServer

CHECKS = (
    *("not_a_server_error", "status_code_conformance", "content_type_conformance"),
    *("response_headers_conformance", "response_schema_conformance", "unsupported_method"),
)
EXAMPLES = 25  # drawn at random for each operation


@pytest.fixture(scope="module")
def document(served: ApiServer) -> dict:
    with served.client() as client:
        return client.get("/api/openapi.json").json()


def operations(document: dict) -> list[tuple[str, str, dict]]:
    return [
        (method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


def test_it_asks_for_a_key_and_says_what_every_operation_does(document):
    assert document["security"] == [{"key": []}]
    for method, path, operation in operations(document):
        assert operation["summary"] and operation["description"], (method, path)
        assert {"401", "403", "422", "429"} <= set(operation["responses"]), (method, path)


def test_bodies_have_examples(document):
    for name in (
        "AskRequest",
        "SearchRequest",
        "TextToCheck",
        "CompletionRequest",
        "CollectionName",
        "NewGrid",
    ):
        assert document["components"]["schemas"][name]["examples"], name


def test_every_reference_is_there(document):
    text = json.dumps(document)
    schemas = document["components"]["schemas"]
    for part in text.split('"#/components/schemas/')[1:]:
        assert part.split('"')[0] in schemas


@pytest.mark.parametrize(
    "phases",
    [
        pytest.param("examples,coverage", id="at the limits of every field"),
        pytest.param("fuzzing", id="at random", marks=pytest.mark.slow(reason="draws requests at random")),
    ],
)
def test_the_running_server_does_what_the_document_says(
    served: ApiServer, document: dict, tmp_path: Path, phases: str
):
    file = tmp_path / "openapi.json"
    file.write_text(json.dumps(document))
    command = [
        *(Path(sys.executable).with_name("schemathesis"), "run", file, f"--url={served.url}"),
        *("-H", f"Authorization: Bearer {served.key('fuzz')}", f"--checks={','.join(CHECKS)}"),
        *(f"--phases={phases}", f"--max-examples={EXAMPLES}", "--seed=1", "--no-color"),
        "--request-timeout=60",  # on a busy machine
    ]
    run = subprocess.run(
        list(map(str, command)),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "SCHEMATHESIS_HOOKS": ""},
    )
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]
