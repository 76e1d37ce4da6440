"""Corrections as cases of an evaluation."""

from rag.chat.export import FeedbackCase
from rag.grid.export import cell_cases
from storage.database import Database
from storage.documents import Documents
from storage.grids import FoundCell, GridStore

COLUMNS = [{"id": "fee", "name": "Fee", "kind": "money"}]
QUOTE = {"start": 0, "end": 17, "text": "The fee is EUR 5.", "page": None}


def euros(amount: int) -> dict[str, str]:
    return {"amount": str(amount), "unit": "EUR"}


def test_a_correction_judges_what_was_found(database: Database):
    documents, grids = Documents(database, "ann"), GridStore(database, "ann")
    wrong, right, untouched, unread = (documents.add(f"{n}.md", n * 64, 1)[0].id for n in "abcd")
    grid = grids.create("Fees", COLUMNS)
    found = FoundCell("verified", euros(5), [QUOTE], 1, 1, calculated=False, note="", basis="b")
    for document in (wrong, right, untouched):
        grids.keep(grid.id, (document, "fee"), found)
    for document, amount in ((wrong, 7), (right, 5), (unread, 1)):
        grids.correct(grid.id, (document, "fee"), euros(amount))
    cases = sorted(cell_cases(grids), key=lambda case: case.supported)
    assert cases == [
        FeedbackCase("Fee: 5 EUR", ("The fee is EUR 5.",), supported=False),
        FeedbackCase("Fee: 5 EUR", ("The fee is EUR 5.",), supported=True),
    ]
    assert list(cell_cases(GridStore(database, "bob"))) == []
