"""Statements made of figures typed by hand, checked against the filings that have them.

    python benchmarks/filing_statements.py DATA_DIR TRUTH.json [--half reported] [--wrong]

DATA_DIR is a data directory in which the filings are ready, TRUTH.json is as for `benchmarks/grid.py`. Each
figure makes one true statement and up to four false ones: with the figure of another quarter or another
company, with one that is off by a fifth, and a loss for an income. Nothing is embedded.
"""

import argparse
import json
import logging
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from rag.chat.check_text import CheckedStatement, CheckedText
from rag.factory import make_library, make_text_checker
from rag.settings import LOCAL_OWNER, load
from storage.database import Database

FORMS = {
    "revenue": "The revenue of {company} was {amount} in the quarter ended {day}.",
    "operating_income": "{company} had an operating {profit} of {amount} in the quarter ended {day}.",
    "net_income": "In the three months ended {day}, {company} reported a net {profit} of {amount}.",
    "diluted_eps": "{company}'s diluted earnings per share were {amount} for the quarter ended {day}.",
    "total_assets": "As of {day}, {company} had total assets of {amount}.",
}
SIGNED = ("operating_income", "net_income")
Truth = Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]]


@dataclass(frozen=True)
class Made:
    """Statement about a filing, and how it was made: "true", or the kind of what is wrong with it."""

    file: str
    kind: str
    text: str


def statement(company: str, day: date, field: str, figure: Decimal) -> str:
    """Return a statement of a figure in words.

    >>> statement("Acme", date(2023, 7, 1), "net_income", Decimal("-2758000000"))
    'In the three months ended July 1, 2023, Acme reported a net loss of $2,758 million.'
    """
    size = abs(figure) if field in SIGNED else figure
    amount = f"${size:,.2f}" if field == "diluted_eps" else f"${size / 10**6:,.0f} million"
    profit = "loss" if figure < 0 else "income"
    return FORMS[field].format(
        company=company, day=f"{day:%B} {day.day}, {day.year}", amount=amount, profit=profit
    )


def make(truth: Truth, files: Sequence[str], rng: random.Random) -> Iterator[Made]:
    """Yield the statements about some filings; a company is the last word of a file's name."""
    for file in files:
        cells = truth[file]
        company, day = str(cells["company"][0]["text"]).split()[0].strip(",."), _day(cells)
        for field in FORMS:
            own = {_figure(one) for one in cells[field]}
            right = _figure(cells[field][0])
            wrong = {
                "another quarter": _others(truth, file, field, same_company=True),
                "another company": _others(truth, file, field, same_company=False),
                "off by a fifth": [round(right * Decimal(factor), 2) for factor in ("0.8", "1.2")],
                "loss for income": [-right] if field in SIGNED else [],
            }
            yield Made(file, "true", statement(company, day, field, right))
            for kind, figures in wrong.items():
                if possible := [figure for figure in figures if figure not in own]:
                    yield Made(file, kind, statement(company, day, field, rng.choice(possible)))


def _day(cells: Mapping[str, Sequence[Mapping[str, Any]]]) -> date:
    return date.fromisoformat(cells["period_end"][0]["first"])


def _figure(value: Mapping[str, Any]) -> Decimal:
    return Decimal(value["amount"])


def _others(truth: Truth, file: str, field: str, *, same_company: bool) -> list[Decimal]:
    company = file.split()[-1]
    return [
        _figure(cells[field][0])
        for other, cells in truth.items()
        if other != file and (other.split()[-1] == company) == same_company
    ]


def check(data: Path, made: Sequence[Made]) -> list[CheckedStatement | None]:
    """Check statements, each as a paragraph, against all filings; None for one that is not read as one."""
    database = Database.open(data)
    try:
        settings = load({})
        library = make_library(database, LOCAL_OWNER, lambda: (settings, None))
        text = "\n\n".join(one.text for one in made)
        steps = make_text_checker(settings, library).check("statements.txt", text.encode())
        checked = [one for step in steps if isinstance(step, CheckedText) for one in step.statements]
        found = {" ".join(one.text.split()): one for one in checked}
        return [found.get(one.text) for one in made]
    finally:
        database.close()


def main() -> None:
    """Print a table of kinds and states."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("truth", type=Path)
    parser.add_argument("--half", default="")
    parser.add_argument("--wrong", action="store_true", help="print what should be otherwise")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    told = json.loads(arguments.truth.read_text("utf-8"))
    files = told["halves"][arguments.half] if arguments.half else list(told["cells"])
    made = list(make(told["cells"], files, random.Random(3)))
    results = check(arguments.data, made)
    counts = Counter(
        (one.kind, "" if got is None else got.status) for one, got in zip(made, results, strict=True)
    )
    for kind in dict.fromkeys(one.kind for one in made):
        print(f"{kind:16}", *(f"{state} {n}" for (of, state), n in sorted(counts.items()) if of == kind))
    for one, got in zip(made, results, strict=True) if arguments.wrong else ():
        if got is not None and (got.status == "verified") != (one.kind == "true"):
            print(f"{one.kind}: {one.text} ({one.file}) {got.remark}")


if __name__ == "__main__":
    main()
