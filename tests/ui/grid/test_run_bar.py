"""What is said before a run, while it lasts, and after it ended early."""

from collections.abc import Callable, Iterator

import pytest
from streamlit.testing.v1 import AppTest

from rag.grid.cells import CellResult
from rag.grid.grids import Grid
from rag.grid.run import STOPPED, GridProgress
from rag.workspace import Workspace
from tests.rag.fake_llm import FakeLLM
from tests.ui.conftest import words
from tests.ui.grid.test_page import BEGIN, LEASE, RENT, buttons, put, shown
from ui.grid.run_bar import progress_words, share_of

Page = Callable[..., AppTest]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeLLM]:
    with FakeLLM() as server:
        monkeypatch.setenv("FOOTNOTE_LLM_BASE_URL", server.url)
        monkeypatch.setenv("FOOTNOTE_LLM_MODEL", "fake")
        yield server


def make(here: Workspace) -> tuple[Grid, str]:
    document = put(here, "lease.md", LEASE.format(day=1, rent="1,200"))
    return here.grids.create("Leases", [BEGIN, RENT]), document


def test_with_a_model_its_requests_are_said_before_a_run(model: FakeLLM, page: Page, here: Workspace):
    grid, _document = make(here)
    assert "About 2 requests to the model." in words(page("grid", grid=grid.id))


def test_progress_names_the_cell_that_was_read(here: Workspace):
    grid, document = make(here)
    rows = here.grids.rows(grid.id)
    event = GridProgress(1, 2, document, "rent", "verified")
    assert (share_of(event), share_of(None)) == (0.5, 0.0)
    assert progress_words(event, grid, rows).replace("\\", "") == "1 of 2 cells. Read: lease.md, Rent"
    assert "busy" in progress_words(GridProgress(1, 2, waiting=30), grid, rows)
    assert progress_words(None, grid, rows) == "Waiting to start"


def test_a_failed_cell_says_why_and_is_due_again(page: Page, here: Workspace):
    grid, document = make(here)
    for column in ("begin", "rent"):
        result = CellResult("failed", note="The model's server gave no answer.")
        here.grids.keep(grid.id, (document, column), result, "", (0.0, 0))
    here.grids.store.end_run(grid.id, "The model's server gave no answer.")
    at = page("grid", grid=grid.id, cell=f"{document}:rent")
    assert "Fill 2 cells" in buttons(at) and "Read again" in buttons(at)
    assert "The last run ended early: The model's server gave no answer." in words(at)
    assert "utdated" not in words(at)
    assert "! Failed. The model's server gave no answer." in words(at)
    assert shown(at)["groups"][0]["rows"][0]["cells"][1]["sign"] == "!"


def test_a_document_on_its_way_is_said(page: Page, here: Workspace):
    grid, _document = make(here)
    here.library.add("next.md", b"# Lease\n\nThe monthly rent is EUR 5.\n")
    at = page("grid", grid=grid.id)
    assert "1 document is still being read into the library." in words(at)
    assert "Fill 2 cells" in buttons(at)


def test_a_document_that_could_not_be_read_is_not_waited_for(page: Page, here: Workspace):
    grid, _document = make(here)
    record, _ = here.library.add("photo.png", b"not a picture")
    here.library.documents.set_state(record.id, "refused", "photo.png is damaged.")
    at = page("grid", grid=grid.id)
    assert "1 document could not be read. The library says why." in words(at)
    assert "still being read" not in words(at)
    row = next(row for row in shown(at)["groups"][0]["rows"] if row["note"] == "Could not be read")
    assert {cell["sign"] for cell in row["cells"]} == {""}
    assert "2 cells not read yet" in words(at)  # those of the other document


def test_a_run_that_a_person_stopped_is_no_early_end(page: Page, here: Workspace):
    grid, _document = make(here)
    here.grids.store.end_run(grid.id, str(STOPPED))
    assert "ended early" not in words(page("grid", grid=grid.id))
