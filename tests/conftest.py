"""How the suite runs: what is left out of a run, in which order, and where its fixtures are loaded."""

import gc
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

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
        "storage/test_lock_fence.py",
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


def pytest_configure(config: pytest.Config) -> None:
    """Load the fixtures where tests run: to import what they need takes seconds."""
    hands_out = config.getoption("numprocesses", None) and not hasattr(config, "workerinput")
    if not hands_out:
        config.pluginmanager.import_plugin("tests.fixtures")


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
