"""What every room's tests share: a clean environment, a data directory, the real embedding model."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag.config import default_model_cache
from rag.embeddings import Embedder, open_embedder
from storage.database import Database

SETTINGS = ("FOOTNOTE_", "OPENAI_", "DATABASE_URL")


@pytest.fixture(autouse=True)
def no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(SETTINGS):
            monkeypatch.delenv(name)
    # Loading an analyser takes seconds in each process; tests/rag/test_morphemes.py and others ask for them.
    monkeypatch.setenv("FOOTNOTE_MORPHEMES", "off")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database.open(tmp_path / "data")
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def embedder() -> Embedder:
    """The default embedding model, as `make run` has prepared it."""
    return open_embedder("multilingual-e5-small", cache=default_model_cache())
