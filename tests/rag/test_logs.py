"""The log: every line is JSON, and none holds a word that is not ours."""

import ast
import io
import json
import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rag.errors import LLMRejected, ModelUnavailable, SettingsError
from rag.ingest.library import Library
from rag.ingest.queue import LANES, Ingest
from rag.jobs import Jobs
from rag.logs import LoggableText, about, count_errors, fields, write_lines
from rag.models.embeddings import Embedder
from storage.database import Database

ROOT = Path(__file__).parents[2]
MARK = "canary-7f3a"
LOGS = ("debug", "info", "warning", "error", "exception", "critical", "log")
Written = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def written() -> Iterator[Written]:
    """The lines written so far; what the test's own logging is, comes back afterwards."""
    loggers = [
        logging.root,
        *(one for one in logging.root.manager.loggerDict.values() if isinstance(one, logging.Logger)),
    ]
    before = [(one, list(one.handlers), one.propagate, one.level) for one in loggers]
    stream = io.StringIO()
    write_lines(stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    for logger, handlers, propagate, level in before:
        logger.handlers, logger.propagate = handlers, propagate
        logger.setLevel(level)


def test_a_line_tells_time_level_event_and_place(written: Written):
    logging.getLogger("rag.ingest.library").warning("Adding %d chunks to the word index", 12)
    (line,) = written()
    assert line["time"].endswith("Z") and len(line["time"]) == 24
    assert line["level"] == "warning" and line["where"] == "rag.ingest.library"
    assert line["event"] == "Adding 12 chunks to the word index"


@pytest.mark.parametrize(
    "given",
    [MARK, f"{MARK}\n{{}}", [MARK], {"text": MARK}, Path(MARK), MARK.encode(), ValueError(MARK)],
    ids=lambda given: type(given).__name__,
)
def test_what_is_filled_in_is_left_out_unless_it_is_a_number(written: Written, given: object):
    log = logging.getLogger("rag.ingest.parsers")
    log.warning("reading %s ended", given)
    log.warning("%s", given)
    log.warning("seen", extra=fields(what=f"{MARK} with spaces"))
    log.info("%(a)s", {"a": given})
    assert len(written()) == 4
    assert MARK not in json.dumps(written())


def test_an_error_is_told_by_class_and_frames_without_its_words(written: Written):
    try:
        {}[MARK]
    except KeyError:
        logging.getLogger("rag.jobs").exception("A job failed")
    (line,) = written()
    assert line["error"] == "KeyError" and MARK not in json.dumps(line)
    assert line["frames"][-1].startswith("test_logs.py:")


def test_words_of_ours_at_the_start_are_told_in_full(written: Written):
    said = "The setting FOOTNOTE_K is '0', which cannot be used."
    logging.getLogger("footnote").error("Footnote cannot work yet. %s", LoggableText(SettingsError(said)))
    assert written()[0]["event"].endswith(said)


def test_what_is_worked_on_is_named_on_every_line(written: Written):
    log = logging.getLogger("rag.chat.answer")
    with about("answer:7f3a"):
        log.info("inside", extra=fields(seconds=1.5, outcome="complete", nothing=None))
    log.info("outside")
    inside, outside = written()
    assert inside["turn"] == "7f3a" and inside["seconds"] == 1.5 and inside["outcome"] == "complete"
    assert "turn" not in outside


def test_libraries_are_heard_from_warnings_on_and_their_words_left_out(written: Written):
    log = logging.getLogger("some.library")
    log.setLevel(logging.INFO)
    log.info("sending %s", MARK)
    log.warning("retrying %s in %d s", MARK, 3)
    log.warning(f"could not read {MARK}")
    lines = written()
    assert [line["event"] for line in lines[:2]] == ["retrying … in 3 s", "…"]
    assert len(lines) == 2 and MARK not in json.dumps(lines)


def test_handlers_that_libraries_brought_are_taken_away(capsys: pytest.CaptureFixture[str], written: Written):
    log = logging.getLogger("brought.its.own")
    log.addHandler(logging.StreamHandler())
    log.propagate = False
    write_lines(stream := io.StringIO())
    log.warning(f"as text: {MARK}")
    assert MARK not in capsys.readouterr().err and len(stream.getvalue().splitlines()) == 1


def test_errors_are_counted_by_class_and_once_each(written: Written):
    counted: list[str] = []
    count_errors(lambda name: counted.append(f"other {name}"))
    count_errors(counted.append)
    log = logging.getLogger("rag.jobs")
    log.warning("An answer failed: %s", LLMRejected(MARK))
    log.warning("nothing failed")
    log.error("A job failed", exc_info=ValueError(MARK))
    assert counted == ["LLMRejected", "ValueError"]


def test_a_refused_document_is_told_by_its_id_and_counted(written: Written, database: Database):
    counted: list[str] = []
    count_errors(counted.append)
    library = Library(database, "ann", no_model)
    record, _ = library.add(f"{MARK}.md", b" ")
    jobs = Jobs(LANES)
    Ingest(library, jobs).start(record.id)
    while jobs.standing():
        time.sleep(0.02)
    (line,) = written()
    assert (line["document"], line["error"], counted) == (record.id, "DocumentRefused", ["DocumentRefused"])
    assert MARK not in json.dumps(line)


def no_model() -> Embedder:
    raise ModelUnavailable("There is none here.")


SOURCES = [
    ROOT / "app.py",
    *(path for room in ("rag", "storage", "ui") for path in (ROOT / room).rglob("*.py")),
]


def logged(path: Path) -> Iterator[ast.Call]:
    """The calls of a source's loggers."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Attribute) and called.attr in LOGS and ast.unparse(called.value) == "log":
            yield node


def test_what_our_sources_log_is_a_constant_text():
    """Then a line's event cannot hold what somebody wrote, and can be searched for."""
    found = [(path, call) for path in SOURCES for call in logged(path)]
    assert len(found) > 10
    assert [(path, call.lineno) for path, call in found if not isinstance(call.args[0], ast.Constant)] == []
