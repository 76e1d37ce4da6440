"""What every room's tests share: a clean environment, a data directory, the real models.

`conftest.py` loads it where tests run; the process that hands them out imports none of it.
"""

import gc
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from httpx._transports import default as httpx_transports
from httpx2._transports import default as httpx2_transports
from streamlit.components.v2 import manifest_scanner

from rag.connectors import http
from rag.ingest.library import Library
from rag.ingest.parsers import sandbox
from rag.models import embeddings as bert
from rag.models.embeddings import Embedder, open_embedder
from rag.models.llm import LLM
from rag.models.local.catalog import QWEN_0_5B
from rag.models.local.install import fetch
from rag.models.local.server import LocalModel
from rag.models.packaged import catalog
from rag.settings import default_model_cache
from storage import database as ledger
from storage import postgres, sqlite
from storage.database import Database
from tests import s3
from tests.once import (
    CompiledOnce,
    CopiedLedger,
    HashedOnce,
    OpenedOnce,
    TrustedOnce,
    read_here,
    read_text_here,
)
from tests.s3 import Link, S3Server

# Every AppTest looks through all installed packages, which takes longer than most pages. The first is made
# while tests are collected.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)

TESTS = Path(__file__).parent
# What parsers read; that the sandbox reads it too is tested for every kind by test_detect.py.
ABOUT_TEXT = {
    "test_confluence.py",
    "test_html.py",
    "test_office_extras.py",
    "test_opendocument.py",
    "test_pdf_highlight.py",
}
OPEN = Path("/dev/fd")  # each open file, socket and pipe of this process
LEFT_OPEN = 300  # a process of the suite has some fifty for servers and models that live to its end
SETTINGS = ("FOOTNOTE_", "OPENAI_", "DATABASE_URL", "AWS_")


@pytest.fixture(scope="session", autouse=True)
def no_settings_of_this_machine() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(SETTINGS):
                patch.delenv(name)
        # Loading an analyser takes seconds in each process; test_morphemes.py and others ask for them.
        patch.setenv("FOOTNOTE_KOREAN_JAPANESE_ANALYZERS", "off")
        # On a slow machine a model that answers at once may seem to have taken too long to rewrite one.
        patch.setenv("FOOTNOTE_LLM_REPHRASE_TIMEOUT", "60")
        yield


@pytest.fixture(autouse=True)
def one_main_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the main module: a page that is run takes its place, and what forks later would run it again."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])


@pytest.fixture(scope="session", autouse=True)
def made_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bert, "OnnxEmbedder", OpenedOnce())
        patch.setattr(catalog, "_sha256", HashedOnce(catalog._sha256))
        patch.setattr(ledger, "_local", CopiedLedger())
        patch.setattr(sqlite, "engine", CompiledOnce(sqlite.engine))
        patch.setattr(postgres, "engine", CompiledOnce(postgres.engine))
        for module, name in (
            (httpx_transports, "create_ssl_context"),
            (httpx2_transports, "create_ssl_context"),
            (http, "tls_context"),
        ):
            patch.setattr(module, name, TrustedOnce(getattr(module, name)))
        yield


@pytest.fixture(scope="module", autouse=True)
def files_are_closed() -> Iterator[None]:
    """Fail where files, sockets and pipes are left open by one file of tests after the other."""
    yield
    if len(list(OPEN.iterdir())) > LEFT_OPEN:
        gc.collect()
        left = Counter(map(leads_to, OPEN.iterdir()))
        assert left.total() <= LEFT_OPEN, f"left open by now: {left.most_common(20)}"


def leads_to(descriptor: Path) -> str:
    """Return the file of a descriptor, or the kind of what is none: ``socket``."""
    with suppress(OSError):
        return str(descriptor.readlink()).partition(":[")[0]
    return "unknown"


@pytest.fixture(scope="module", autouse=True)
def files_are_read_here(request: pytest.FixtureRequest) -> Iterator[None]:
    """Read files without a child process, but where tests are about the sandbox, attacks and crashes."""
    with pytest.MonkeyPatch.context() as patch:
        if request.path.name in ABOUT_TEXT and request.path.parent.name == "parsers":
            patch.setattr(sandbox, "run_into", read_here)
        elif not {"parsers", "hostile", "faults"} & set(request.path.relative_to(TESTS).parts):
            patch.setattr(sandbox, "run_into", read_text_here)
        yield


@contextmanager
def closing_each(kind: type[Library] | type[LLM]) -> Iterator[None]:
    """Close each object of a class that is made meanwhile."""
    made: list[Library | LLM] = []
    make: Any = kind.__init__

    def keep(one: Any, *parts: Any, **options: Any) -> None:
        make(one, *parts, **options)
        made.append(one)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, "__init__", keep)
        yield
    for one in made:
        one.close()


@pytest.fixture
def models_are_closed() -> Iterator[None]:
    """Close a test's models: each has a thread, and connections."""
    with closing_each(LLM):
        yield


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """A new ledger. A test's libraries are closed before it: an index left open holds fifteen files."""
    with closing(Database.open(tmp_path / "data")) as opened, closing_each(Library):
        yield opened


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    if not s3.PYTHON.exists():
        pytest.skip(s3.MISSING)
    with s3.running() as running:
        yield running


@pytest.fixture
def s3_link(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Link]:
    """Lead what this test does with objects through a link that can be cut."""
    link = Link(s3_server.port)
    for name, value in s3.environment(link.port).items():
        monkeypatch.setenv(name, value)
    yield link
    link.cut()


@pytest.fixture(scope="session")
def embedder() -> Embedder:
    """The default embedding model, as `make run` has prepared it."""
    return open_embedder("multilingual-e5-small", cache=default_model_cache())


@pytest.fixture(scope="session")
def own_model() -> Iterator[LocalModel]:
    """The smallest real language model, as `make test` has fetched it, served to the whole run once needed.

    It takes 0.7 GB of memory. Ask for few tokens: two busy cores write a handful of them a second.
    """
    cache = default_model_cache()
    for _ in fetch(QWEN_0_5B, cache):
        pass
    with LocalModel(QWEN_0_5B.path(cache), name=QWEN_0_5B.name, context_tokens=4096) as model:
        yield model
