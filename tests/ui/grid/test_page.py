"""The grid page: make a grid, read it, look at its cells, correct them, and take it away."""

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from rag.grid.cells import Amount
from rag.grid.columns import Column
from rag.models.llm import LLM
from rag.models.protocol import LLMSettings
from rag.workspace import Workspace
from storage.grids import GridScope
from tests.rag.fake_llm import FakeLLM
from tests.ui.conftest import words
from tests.ui.inert import is_inert
from ui.server import services

Page = Callable[..., AppTest]
LEASE = (
    "# Lease\n\nThis lease begins on {day} May 2024. The monthly rent is EUR {rent}. No pets are allowed.\n"
)
HERE = "from ui.server.services import workspace\nhere = workspace()"
BEGIN = Column("begin", "Beginning of the lease", kind="date")
RENT = Column("rent", "Rent", "How much is the monthly rent?", "money")


def put(here: Workspace, name: str, text: str) -> str:
    record, _ = here.library.add(name, text.encode())
    list(here.library.index(record.id))
    return record.id


@pytest.fixture
def leases(here: Workspace) -> list[str]:
    numbers = (("1,200", 1), ("900", 2), ("1,500", 3))
    return [put(here, f"lease-{day}.md", LEASE.format(day=day, rent=rent)) for rent, day in numbers]


@pytest.fixture
def read(here: Workspace, leases: list[str]) -> str:
    """A grid whose cells are read."""
    grid = here.grids.create("Leases", [BEGIN, RENT])
    assert here.grid_runs.start(grid.id).wait(60)
    return grid.id


@pytest.fixture
def dialog(here: Workspace) -> Page:
    """Opens a dialog in each run, as Streamlit does on a page until it is closed."""
    del here

    def opened(call: str) -> AppTest:
        at = AppTest.from_string(f"from ui.grid.dialogs import *\n{HERE}\n{call}")
        at.default_timeout = 100
        return at.run()

    return opened


def press(at: AppTest, name: str) -> AppTest:
    """Press a button, the last of its name: that of a panel, after those of the page."""
    return [one for one in at.button if one.label.replace("\\", "") == name][-1].click().run()


def buttons(at: AppTest) -> list[str]:
    return [one.label for one in at.button]


def shown(at: AppTest) -> dict[str, Any]:
    """What the table's component is given."""
    found = [one.proto for one in at.get("bidi_component") if "grid-table" in one.proto.id]
    return json.loads(found[-1].json)


def cells(at: AppTest) -> list[list[str]]:
    return [[c["text"] for c in row["cells"]] for group in shown(at)["groups"] for row in group["rows"]]


def rows(at: AppTest) -> list[str]:
    return [row["name"] for group in shown(at)["groups"] for row in group["rows"]]


def test_without_documents_the_page_leads_to_the_library(page: Page):
    at = page("grid")
    assert "Add documents first" in words(at) and not at.exception


def test_without_grids_there_is_one_sentence_and_one_button(page: Page, leases: list[str]):
    at = page("grid")
    assert "Ask the same questions of many documents" in words(at)
    assert buttons(at) == ["New grid"]


def test_a_grid_is_made_of_a_template(dialog: Page, here: Workspace, leases: list[str]):
    at = dialog("new_grid(here, [])")
    at.text_input(key="grid-new-name").set_value("My leases")
    at.selectbox(key="grid-new-template").set_value("contract")
    at = press(at, "Make the grid")
    (grid,) = here.grids.list()
    assert grid.name == "My leases" and [column.id for column in grid.columns][:2] == ["parties", "start"]
    assert not at.exception


def test_rows_are_chosen_by_type_and_date_and_later_documents_join(dialog: Page, here: Workspace):
    grid = here.grids.create("Notes", [BEGIN])
    at = dialog(f"change_rows(here, here.grids.get({grid.id!r}))")
    assert not at.multiselect(key=f"grid-filter-{grid.id}-types").options
    lease = here.library.add("lease.md", b"# Lease\n\nIt began.")[0].id
    note = here.library.add("note.txt", b"It ended.")[0].id
    for id_ in (lease, note):
        list(here.library.read(id_))
    at = at.run()
    at.multiselect(key=f"grid-filter-{grid.id}-types").set_value([".md"])
    press(at, "Save")
    assert [row.document.id for row in here.grids.rows(grid.id)] == [lease]
    later = here.library.add("later.md", b"# Lease\n\nIt began later.")[0].id
    list(here.library.read(later))
    assert {row.document.id for row in here.grids.rows(grid.id)} == {lease, later}


def test_documents_that_could_not_be_read_do_not_count_as_rows(
    dialog: Page, here: Workspace, leases: list[str]
):
    broken = here.library.add("broken.pdf", b"%PDF-1.7 nothing")[0].id
    list(here.library.read(broken))
    at = dialog("new_grid(here, [])")
    assert f"all documents ({len(leases)} now)" in " ".join(caption.value for caption in at.caption)


def test_the_size_of_a_run_is_said_before_it(page: Page, here: Workspace, leases: list[str]):
    grid = here.grids.create("Leases", [BEGIN, RENT])
    at = page("grid", grid=grid.id)
    assert "Fill 6 cells" in buttons(at)
    assert "No model: values are found by rules." in words(at) and "minute" not in words(at)
    at = press(at, "Fill 6 cells")
    job = here.grid_runs.job(grid.id)
    assert job is None or job.wait(60)
    at.run()
    assert cells(at)[0] == ["1 May 2024", "€1,200"]
    assert "All cells are read." in words(at) and not at.exception


def test_cells_have_sign_and_words_and_are_sorted_and_filtered(page: Page, read: str):
    at = page("grid", grid=read)
    first = shown(at)["groups"][0]["rows"][0]["cells"][1]
    assert (first["sign"], first["words"]) == ("✓", "Rent: €1,200. Verified")
    at.session_state[f"grid-sort-{read}"] = ("rent", True)
    assert [row[1] for row in cells(at.run())] == ["€1,500", "€1,200", "€900"]
    at.selectbox(key=f"grid-inside-{read}").set_value("rent")
    at.text_input(key=f"grid-words-{read}").set_value("> 1,000").run()
    assert rows(at) == ["lease-3.md", "lease-1.md"]
    at.text_input(key=f"grid-words-{read}").set_value("> much").run()
    assert "not a number" in words(at) and len(rows(at)) == 3


def test_the_legend_says_what_the_cells_say(page: Page, here: Workspace, leases: list[str]):
    grid = here.grids.create("Leases", [RENT, Column("law", "Governing law")])
    at = page("grid", grid=grid.id)
    assert {c["sign"] for row in shown(at)["groups"][0]["rows"] for c in row["cells"]} == {""}
    assert "3 documents · 6 cells not read yet" in words(at)
    assert here.grid_runs.start(grid.id).wait(60)
    at = page("grid", grid=grid.id)
    assert cells(at)[0][1] == "Not found by search alone"
    assert "✓ Verified: 3 · – Not found by search alone: 3" in words(at)


def test_a_quoted_sentence_is_doubtful_only_as_an_answer(page: Page, here: Workspace):
    text = "# Guarantee\n\nNordvik guarantees the appliance for 24 months from the date of purchase.\n"
    document = put(here, "manual.md", text)
    asked = Column("guarantee", "Guarantee or refund", "How long is the guarantee or the right to cancel?")
    grid = here.grids.create("Policies", [asked])
    assert here.grid_runs.start(grid.id).wait(60)
    said = words(page("grid", grid=grid.id, cell=f"{document}:guarantee"))
    assert "? Not confirmed. The document has these words. Check whether they answer the column." in said


def test_a_sentence_of_a_cell_ends_as_its_language_does(page: Page, here: Workspace):
    document = put(here, "a.md", "# Garden\n\nTulips flower in April.\n")
    grid = here.grids.create("Gardens", [Column("law", "Governing law")])
    assert here.grid_runs.start(grid.id).wait(60)
    script = (
        "from rag.i18n import in_language\nfrom ui.grid.page import show\nwith in_language('ja'):\n    show()"
    )
    at = AppTest.from_string(script)
    at.default_timeout = 100
    at.query_params["grid"], at.query_params["cell"] = grid.id, f"{document}:law"
    said = words(at.run())
    assert "件の箇所を検索）。" in said and "）." not in said


def test_columns_are_hidden_and_rows_grouped(page: Page, read: str):
    at = page("grid", grid=read)
    at.multiselect(key=f"grid-hidden-{read}").set_value(["begin"])
    at.selectbox(key=f"grid-group-{read}").set_value("rent").run()
    assert [group["name"] for group in shown(at)["groups"]] == [
        "€900 · 1 document",
        "€1,200 · 1 document",
        "€1,500 · 1 document",
    ]
    assert [column["id"] for column in shown(at)["columns"]] == ["", "rent"]


def test_a_cell_opens_its_quote(page: Page, read: str, leases: list[str]):
    at = page("grid", grid=read, cell=f"{leases[0]}:rent")
    said = words(at)
    assert "✓ Verified. The quote below says it." in said and "Read its only passage." in said
    assert "**Cited words**" in said and "The monthly rent is EUR 1,200" in said
    at = press(at, "Next cell")
    assert "".join(at.query_params["cell"]) == f"{leases[1]}:begin" and "2 May 2024" in words(at)
    at = press(at, "Previous cell")
    assert "".join(at.query_params["cell"]) == f"{leases[0]}:rent" and not at.exception


def test_a_cell_is_corrected_locked_and_taken_back(page: Page, here: Workspace, read: str, leases: list[str]):
    at = page("grid", grid=read, cell=f"{leases[0]}:rent")
    at.text_input(key=f"grid-value-{leases[0]}-rent").set_value("much")
    press(at, "Save")
    assert here.grids.row(read, leases[0]).cell("rent").corrected is None
    at.text_input(key=f"grid-value-{leases[0]}-rent").set_value("1,250 EUR")
    at = press(at, "Save")
    cell = here.grids.row(read, leases[0]).cell("rent")
    assert cell.corrected == Amount(Decimal(1250), "EUR") and cell.locked
    assert "Found before: **€1,200**" in words(at) and "✎ Corrected by hand" in words(at)
    assert "Read again" not in buttons(at)
    at = press(at, "Take the correction back")
    assert here.grids.row(read, leases[0]).cell("rent").value == Amount(Decimal(1200), "EUR")
    at = press(at, "Lock")
    assert here.grids.row(read, leases[0]).cell("rent").locked
    at = press(at, "Unlock")
    at = press(at, "Read again")
    assert not here.grids.row(read, leases[0]).cell("rent").locked and not at.exception


def test_an_absent_cell_says_so_once_and_not_after_a_correction(page: Page, here: Workspace):
    document = put(here, "a.md", "# Garden\n\nTulips flower in April.\n")
    grid = here.grids.create("Gardens", [Column("total", "Total", kind="money")])
    assert here.grid_runs.start(grid.id).wait(60)
    at = page("grid", grid=grid.id, cell=f"{document}:total")
    told = words(at)
    said = "Not found by search alone (1 of 1 passages searched). A connected model reads the whole text."
    assert f"– {said}" in told and told.count("A connected model") == 1
    at.text_input(key=f"grid-value-{document}-total").set_value("120,355.50")
    told = words(press(at, "Save"))
    assert "**120,355.50**" in told and "Found before: **nothing**" in told
    assert "✎ Corrected by hand. You gave this value. It stays, whatever is found later." in told
    assert "A connected model" not in told and "Read its only passage" not in told


def test_a_column_is_added_changed_and_deleted(page: Page, dialog: Page, here: Workspace, read: str):
    edit = "grid = here.grids.get('{}'); edit_column(here, grid, grid.columns[{}])"
    at = dialog(f"add_column(here, here.grids.get('{read}'))")
    at.text_input(key=f"grid-{read}-2-name").set_value("Pets")
    at.selectbox(key=f"grid-{read}-2-kind").set_value("yes_no")
    press(at, "Save")
    pets = here.grids.get(read).columns[-1]
    assert (pets.name, pets.kind) == ("Pets", "yes_no")
    at = dialog(edit.format(read, 1))
    at.text_input(key=f"grid-{read}-rent-question").set_value("What is paid each month?")
    press(at, "Save")
    assert here.grids.get(read).column("rent").question == "What is paid each month?"
    at = page("grid", grid=read)
    assert "3 cells are outdated" in words(at) and "Fill 6 cells" in buttons(at)
    at = dialog(edit.format(read, 2))
    press(at, "Delete permanently")
    assert [column.id for column in here.grids.get(read).columns] == ["begin", "rent"]


def test_totals_comparison_and_disagreement(page: Page, here: Workspace, read: str, leases: list[str]):
    put(here, "lease-4.md", LEASE.format(day=1, rent="900"))
    here.grids.change(read, columns=[BEGIN, RENT, Column("pets", "Pets allowed", kind="yes_no")])
    assert here.grid_runs.start(read).wait(60)
    at = page("grid", grid=read)
    said = words(at)
    assert "| Sum | €4,500 |" in said and "Select two documents" in said
    at.session_state["grid-selected"] = {leases[0], leases[1]}
    said = words(at.run())
    assert "**-€300** (calculated)" in said.replace("⁠", "")
    assert "2 columns have values of two or more documents to compare. In 2 of them" in said
    assert not at.exception


def test_nothing_is_said_of_disagreements_where_nothing_can_be_compared(
    page: Page, here: Workspace, read: str, leases: list[str]
):
    assert "to compare." in words(page("grid", grid=read))
    here.grids.change(read, scope=GridScope(documents=tuple(leases[:1])))
    at = page("grid", grid=read)
    assert "to compare." not in words(at)
    assert not at.exception


def test_a_question_is_answered_from_the_cells(page: Page, read: str):
    at = page("grid", grid=read)
    at.text_input(key="grid-question").set_value("Which document has the highest rent?").run()
    assert "Highest of Rent" in words(at) and "Calculated" in words(at)
    at = press(at, "✓ Rent: €1,500 · lease-3.md")
    assert "EUR 1,500" in words(at) and not at.exception
    at.text_input(key="grid-question").set_value("Why?").run()
    assert "names no column" in words(at)


def test_a_model_plans_once_for_a_question(page: Page, read: str, monkeypatch: pytest.MonkeyPatch):
    with FakeLLM() as fake, LLM(LLMSettings(base_url=fake.url, model="fake", context_tokens=8192)) as llm:
        monkeypatch.setattr(services.services(), "llm", llm)
        fake.say('{"calculate": "mean", "column": 2}')
        at = page("grid", grid=read)
        at.text_input(key="grid-question").set_value("What is paid in a usual month?").run()
        assert "Mean of Rent" in words(at)
        at = press(at, "✓ Rent: €1,500 · lease-3.md")
        assert "Mean of Rent" in words(at) and not at.exception
        assert len(fake.requests) == 1


def test_text_of_documents_and_columns_is_never_html(page: Page, here: Workspace):
    bad = "<img src=x onerror=alert(1)> **b** [x](http://evil.test)"
    document = put(here, f"{bad[:28]}.md", f"# A\n\nThe monthly rent is EUR 5 {bad}.\n")
    grid = here.grids.create(bad, [Column("c", bad), Column("rent", "Rent", kind="money")])
    assert here.grid_runs.start(grid.id).wait(60)
    at = page("grid", grid=grid.id, cell=f"{document}:rent")
    assert not any(one.allow_html for one in at.markdown)
    for one in [*at.markdown, *at.caption, *at.title]:
        is_inert(one.value)


def test_a_strangers_grid_is_not_found(page: Page, here: Workspace, leases: list[str]):
    stranger = Workspace(here.library.documents._database, "bob", here._jobs, here._current)
    theirs = stranger.grids.create("Secret", [RENT], GridScope())
    at = page("grid", grid=theirs.id)
    assert "Secret" not in words(at) and "New grid" in buttons(at)
    stranger.library.close()
