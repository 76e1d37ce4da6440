import pytest

from storage.accounts import owners_with_work
from storage.audit_log import AuditLog
from storage.collections import Collections, Tags
from storage.documents import Documents
from storage.errors import NameRefused, NotFound
from storage.grids import MOST_GRIDS, FoundCell, GridScope, GridStore

COLUMNS = [{"id": "c1", "name": "Notice"}, {"id": "c2", "name": "Fee"}]


def found(text: str, basis: str = "b1") -> FoundCell:
    quote = {"start": 0, "end": 4, "text": text, "page": None}
    return FoundCell("verified", {"text": text}, (quote,), 2, 9, calculated=False, note="", basis=basis)


@pytest.fixture
def documents(database):
    return Documents(database, "ann")


@pytest.fixture
def grids(database):
    return GridStore(database, "ann")


@pytest.fixture
def two(documents):
    return [documents.add(f"{name}.md", name * 64, 1)[0].id for name in "ab"]


def test_a_cell_is_kept_once_and_replaced_by_what_is_read_later(grids, two):
    grid = grids.create("Contracts", COLUMNS)
    assert grids.keep(grid.id, (two[0], "c1"), found("one month"))
    assert grids.keep(grid.id, (two[0], "c1"), found("two months", "b2"))
    (cell,) = grids.cells(grid.id)
    assert cell.found == found("two months", "b2")
    assert (cell.document_id, cell.column_id, cell.corrected, cell.locked) == (two[0], "c1", None, False)
    assert grids.cell(grid.id, (two[0], "c1")) == cell


def test_a_cell_keeps_that_it_was_only_searched(grids, two):
    grid = grids.create("Contracts", COLUMNS)
    for searched in (True, False):
        absent = FoundCell("absent", None, (), 9, 9, False, "", "b", only_searched=searched)
        grids.keep(grid.id, (two[0], "c1"), absent)
        assert grids.cell(grid.id, (two[0], "c1")).found == absent


def test_a_correction_stands_beside_what_was_found_and_no_run_writes_over_it(grids, two):
    grid, key = grids.create("Contracts", COLUMNS), (two[0], "c1")
    grids.keep(grid.id, key, found("one month"))
    corrected = grids.correct(grid.id, key, {"text": "three months"})
    assert (corrected.corrected, corrected.found, corrected.locked) == (
        {"text": "three months"},
        found("one month"),
        True,
    )
    assert not grids.keep(grid.id, key, found("two months"))
    assert grids.cell(grid.id, key).found == found("one month")
    grids.correct(grid.id, key, None)
    assert grids.keep(grid.id, key, found("two months"))


def test_a_cell_is_corrected_or_locked_before_it_is_read(grids, two):
    grid = grids.create("Contracts", COLUMNS)
    grids.correct(grid.id, (two[0], "c2"), {"amount": "5", "unit": "EUR"})
    grids.lock(grid.id, (two[1], "c2"), locked=True)
    assert [(cell.found, cell.locked) for cell in grids.cells(grid.id)] == [(None, True)] * 2


def test_cells_go_with_their_document_their_column_and_their_grid(grids, documents, two):
    grid = grids.create("Contracts", COLUMNS)
    for document in two:
        for column in ("c1", "c2"):
            grids.keep(grid.id, (document, column), found(column))
    documents.delete(two[0])
    assert {cell.document_id for cell in grids.cells(grid.id)} == {two[1]}
    grids.change(grid.id, columns=COLUMNS[1:])
    assert [cell.column_id for cell in grids.cells(grid.id)] == ["c2"]
    with pytest.raises(NotFound, match="column"):
        grids.keep(grid.id, (two[1], "c1"), found("late"))
    with pytest.raises(NotFound, match="document"):
        grids.keep(grid.id, (two[0], "c2"), found("late"))
    grids.delete(grid.id)
    with pytest.raises(NotFound, match="grid"):
        grids.keep(grid.id, (two[1], "c2"), found("late"))
    assert grids.list() == []


def test_cells_and_choice_follow_the_version_that_replaces_a_document(grids, documents, two):
    grid = grids.create("Contracts", COLUMNS, GridScope(documents=[two[0]]))
    documents.set_state(two[0], "ready")
    grids.keep(grid.id, (two[0], "c1"), found("one month"))
    grids.correct(grid.id, (two[0], "c2"), {"text": "free"})
    newer, outcome = documents.add("a.md", "c" * 64, 1)
    assert outcome == "replaces"
    documents.promote(newer.id)
    assert grids.documents(grid.id) == {newer.id}
    assert [(cell.document_id, cell.corrected) for cell in grids.cells(grid.id)] == [
        (newer.id, None),
        (newer.id, {"text": "free"}),
    ]


def test_documents_that_come_into_a_scope_are_in_the_grid(grids, documents, database, two):
    collection = Collections(database, "ann").create("Law")
    grid = grids.create("Contracts", COLUMNS, GridScope([collection.id], tags=[]))
    assert grids.documents(grid.id) == frozenset()
    Collections(database, "ann").put([two[0]], collection.id)
    assert grids.documents(grid.id) == {two[0]}
    Tags(database, "ann").add([two[1]], "signed")
    (tag,) = Tags(database, "ann").list()
    grids.change(grid.id, scope=GridScope(tags=[tag.id], filters=[("type", ".md")]))
    assert grids.documents(grid.id) == {two[1]}
    assert [(one.kind, one.name) for one in grids.scope(grid.id)] == [("tag", "signed"), ("type", ".md")]
    grids.change(grid.id, scope=GridScope())
    assert grids.documents(grid.id) is None


def test_a_chosen_document_that_is_gone_does_not_make_everything_of_a_grid(grids, documents, two):
    grid = grids.create("Contracts", COLUMNS, GridScope(documents=[two[0]]))
    documents.delete(two[0])
    assert grids.documents(grid.id) == frozenset()
    assert [one.there for one in grids.scope(grid.id)] == [False]


def test_the_wish_to_run_is_in_the_ledger_until_the_run_ends(grids, database, two):
    first, second = (grids.create(name, COLUMNS) for name in ("A", "B"))
    grids.begin_run(first.id)
    begun = grids.get(first.id).run_begun
    grids.begin_run(second.id)
    grids.begin_run(first.id)
    assert grids.get(first.id).run_begun == begun
    assert grids.to_run() == [first.id, second.id]
    grids.end_run(first.id)
    grids.end_run(second.id, "The model is not there.")
    assert grids.to_run() == []
    assert grids.get(second.id).run_note == "The model is not there."


def test_an_owner_with_a_run_has_work_after_a_start(grids, database):
    grid = grids.create("A", COLUMNS)
    assert owners_with_work(database) == []
    grids.begin_run(grid.id)
    assert owners_with_work(database) == ["ann"]


def test_a_grid_needs_a_name_and_there_is_a_most_of_them(grids, database):
    with pytest.raises(NameRefused):
        grids.create(" \n ", COLUMNS)
    grid = grids.create("x" * 500, COLUMNS)
    assert len(grid.name) == 120
    with pytest.raises(NameRefused):
        grids.change(grid.id, name="")
    for number in range(MOST_GRIDS - 1):
        grids.create(str(number), [])
    with pytest.raises(NameRefused, match="200"):
        grids.create("one more", [])


def test_the_deletion_of_a_grid_is_in_the_audit_log(grids, database):
    grids.delete(grids.create("Secret", COLUMNS).id)
    assert [entry.kind for entry in AuditLog(database, "ann").list()] == ["grid_removed"]
