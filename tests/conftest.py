"""What every room's tests share: a clean environment, a data directory, the real models."""

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
from hypothesis import settings
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

# What is imported and collected lives to the end. To look for garbage in it took a quarter of the time until
# the first test, and has each later search take longer.
gc.disable()
# With Python's own numbers the search for garbage takes two fifths of the time of tests that parse sources.
OFTEN = (20_000, 10, 10)  # objects, searches of the young, searches of the older

# The same examples every time: a red suite is the doing of what was changed. `make test-all` tries more of
# them (long). To look for examples that nobody has tried: `pytest --hypothesis-profile=search`.
settings.register_profile("suite", derandomize=True, deadline=None, max_examples=40)
settings.register_profile("long", derandomize=True, deadline=None)
settings.register_profile("search", max_examples=1000, deadline=None)
settings.load_profile("suite")

# Every AppTest looks through all installed packages, which takes longer than most pages. The first is made
# while tests are collected.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)

TESTS = Path(__file__).parent
WAITING = ("e2e", "faults")  # folders whose tests wait for half of their time
# What runs the application, real engines or child processes: folders and files.
INTEGRATION = (
    *("api", "e2e", "faults", "hostile", "ui", "rag/cli", "rag/connectors", "rag/ingest"),
    *("rag/models/local", "rag/models/packaged", "rag/test_any_store.py", "rag/test_cli.py"),
    *("rag/index/test_chroma_probe.py", "rag/retrieval/test_weights_stored.py", "rag/raptor/test_tree.py"),
    *(
        "benchmarks",
        "test_examples.py",
        "storage/test_damage.py",
        "storage/test_faults.py",
        "storage/test_fence.py",
    ),
    *("rag/citations/test_judges.py", "rag/retrieval/rerank/test_cross_encoder.py"),
    *("rag/index/test_lance_objects.py", "rag/test_objects.py"),
    *("storage/test_object_store.py", "storage/test_originals.py"),
    *("rag/index/test_staged_vectors.py", "rag/test_embedding_faults.py", "rag/test_llm_requests.py"),
    *(
        "rag/test_model_faults.py",
        "rag/test_same_passages.py",
        "rag/test_services.py",
        "rag/test_telemetry.py",
    ),
)
REAL_MODELS = {"embedder", "own_model"}  # fixtures
# What parsers read; that the sandbox reads it too is tested for every kind by test_detect.py.
ABOUT_TEXT = {
    "test_confluence.py",
    "test_html.py",
    "test_office_extras.py",
    "test_opendocument.py",
    "test_pdf_highlight.py",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what `make check` leaves out, ask each slow test for its reason, and spread those that wait."""
    spread(items)
    for item in items:
        if is_integration(item.path) or REAL_MODELS & set(getattr(item, "fixturenames", ())):
            item.add_marker("integration")
        for slow in item.iter_markers("slow"):
            if not slow.kwargs.get("reason"):
                raise pytest.UsageError(f'{item.nodeid}: say why it is slow: pytest.mark.slow(reason="...")')


@cache
def is_integration(path: Path) -> bool:
    place = path.relative_to(TESTS) if path.is_relative_to(TESTS) else path
    return any(map(place.is_relative_to, INTEGRATION))


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(*OFTEN)
    gc.enable()


def spread(items: list[pytest.Item]) -> None:
    """Put the files that wait for browsers and servers between those that compute.

    Workers take files in turn. Were the browsers' files next to each other, processors would idle.
    """
    files: dict[bool, dict[Path, None]] = {True: {}, False: {}}
    for item in reversed(items):  # the longest come late in the alphabet, and should not be waited for
        files[item.path.parent.name in WAITING].setdefault(item.path)
    place = {
        path: (number + 0.5) / len(group) * (0.8 if waiting else 1)
        for waiting, group in files.items()
        for number, path in enumerate(group)
    }
    items.sort(key=lambda item: place[item.path])


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
