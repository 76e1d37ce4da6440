"""Answers to questions over a grid by a language model's plan, which code runs over the cells.

The model only says what to filter, group and calculate. Every statement is calculated from cells or quotes
them, as without a model, and where the plan is none, or no cell fits it, the rules answer.
"""

import time
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeVar

from rag.errors import Cancelled, LimitReached, LLMError
from rag.grid.ask import GridAnswer, GridStatement, ask_grid, cells_of, told
from rag.grid.cells import Amount, CellValue, Day, Items, Words
from rag.grid.columns import Column
from rag.grid.figures import Operation, counts, figures
from rag.grid.grids import DocumentCell, DocumentRow
from rag.grid.plan import MOST_LISTED, PLAN_TOKENS, GridPlan, PlanFilter, Sign, parse_plan, plan_messages
from rag.grid.value_text import value_key, value_order, value_text
from rag.i18n import N_plural, translated
from rag.models.protocol import LanguageModel

Ordered = TypeVar("Ordered", Decimal, str)
PLAN_SECONDS = 20.0
"""Longest time for a plan; after it the rules answer."""
_OF_DATES: dict[str, Operation] = {"highest": "latest", "lowest": "earliest"}


def ask_planned(
    question: str,
    columns: Sequence[Column],
    rows: Sequence[DocumentRow],
    llm: LanguageModel | None,
    seconds: float = PLAN_SECONDS,
) -> GridAnswer:
    """Answer a question from the cells by a model's plan, else by rules; raises QuestionRefused.

    A small model is not asked: its plans are wrong more often than the rules.
    """
    ruled = ask_grid(question, columns, rows)
    if llm is None or llm.settings.brief:
        return ruled
    plan = _plan(question, columns, llm, seconds)
    answer = None if plan is None else run_plan(plan, rows)
    return answer if answer is not None and answer.statements else ruled


def _plan(question: str, columns: Sequence[Column], llm: LanguageModel, seconds: float) -> GridPlan | None:
    until = time.monotonic() + seconds
    try:
        reply = llm.complete(
            plan_messages(question, columns),
            max_tokens=PLAN_TOKENS,
            cancelled=lambda: time.monotonic() > until,
        )
    except (LLMError, LimitReached, Cancelled):
        return None  # the rules need no model
    return parse_plan(reply, question, columns)


def run_plan(plan: GridPlan, rows: Sequence[DocumentRow]) -> GridAnswer:
    """Return the answer of a plan over rows; `understood` says what was filtered, grouped and calculated."""
    kept = [row for row in rows if all(_keeps(one, row) for one in plan.where)]
    if plan.calculation == "list":
        statements = list(_listed(plan, kept))
    elif plan.column is None:
        statements = list(_counted(plan, kept, len(rows)))
    else:
        statements = list(_calculated(plan, plan.column, kept))
    return GridAnswer(tuple(statements), _understood(plan))


def _understood(plan: GridPlan) -> str:
    named = [plan.column] if plan.column else list(plan.show)
    parts = [
        *(column.name for column in named),
        *(f"{one.column.name} {one.sign} {value_text(one.value)}" for one in plan.where),
        *([plan.group.name] if plan.group else []),
    ]
    return "; ".join(dict.fromkeys(parts)) or "–"


# Filters
def _keeps(condition: PlanFilter, row: DocumentRow) -> bool:
    """Return True for a row whose cell has a value that counts and meets a condition."""
    cell = row.cell(condition.column.id)
    if cell.value is None or not counts(cell):
        return False
    match cell.value, condition.value:
        case Amount(amount, unit), Amount(bound, other):
            return (not other or unit == other) and _meets(amount, condition.sign, bound)
        case Day(label, _), Day(bound_label, _):
            precise = len(label) >= len(bound_label)
            return precise and _meets(label[: len(bound_label)], condition.sign, bound_label)
        case ((Words() | Items()), Words(wanted)):
            return _says(cell.value, wanted) is (condition.sign == "=")
    return (cell.value == condition.value) is (condition.sign == "=")


def _meets(value: Ordered, sign: Sign, bound: Ordered) -> bool:
    match sign:
        case "=":
            return value == bound
        case "!=":
            return value != bound
        case ">":
            return value > bound
        case ">=":
            return value >= bound
        case "<":
            return value < bound
        case "<=":
            return value <= bound


def _says(value: CellValue, wanted: str) -> bool:
    texts = value.items if isinstance(value, Items) else (value_text(value),)
    return any(value_key(Words(text)) == value_key(Words(wanted)) for text in texts)


# Statements
def _listed(plan: GridPlan, kept: Sequence[DocumentRow]) -> Iterator[GridStatement]:
    """Tell the cells of the rows, sorted; of a row without a value to sort by, last."""
    asked = (plan.column, *(one.column for one in plan.where))
    columns = plan.show or tuple(dict.fromkeys(column for column in asked if column is not None))
    for row in _sorted(plan, kept)[: plan.limit]:
        for column in columns:
            if (cell := row.cell(column.id)).value is not None and counts(cell):
                yield told(row, cell)


def _sorted(plan: GridPlan, rows: Sequence[DocumentRow]) -> list[DocumentRow]:
    if plan.sort is None:
        return list(rows)
    column_id = plan.sort.id
    without = [row for row in rows if row.cell(column_id).value is None]
    valued = [row for row in rows if row.cell(column_id).value is not None]
    valued.sort(key=lambda row: value_order(row.cell(column_id).value), reverse=plan.descending)
    return [*valued, *without]


def _counted(plan: GridPlan, kept: Sequence[DocumentRow], total: int) -> Iterator[GridStatement]:
    """Count the rows, or those of each group; they rest on the cells that conditions and group read."""
    for group in _groups(plan, kept)[: plan.limit]:
        names = ", ".join(row.document.name for row in group.rows[:MOST_LISTED])
        text = N_plural(
            "{found} of {count} document: {names}",
            "{found} of {count} documents: {names}",
            total,
            found=len(group.rows),
            names=names or "–",
        )
        read = (row.cell(one.column.id) for row in group.rows for one in plan.where)
        cells = tuple(dict.fromkeys((*group.cells, *read)))
        yield GridStatement(group.said + translated(text), cells, calculated=True)


def _calculated(plan: GridPlan, column: Column, kept: Sequence[DocumentRow]) -> Iterator[GridStatement]:
    """Calculate a column over the rows, or over each group; a highest one is followed by its cells."""
    by_date = column.kind == "date"
    wanted = _OF_DATES.get(plan.calculation, plan.calculation) if by_date else plan.calculation
    found = [
        (figure, group)
        for group in _groups(plan, kept)
        for figure in figures(group.rows, column)
        if figure.operation == wanted and (figure.counted is None or plan.group is None)
    ]
    if plan.group is not None and plan.sort is not None:
        found.sort(key=lambda one: value_order(one[0].value), reverse=plan.descending)
    for figure, group in found[: plan.limit]:
        cells = tuple(dict.fromkeys((*cells_of(group.rows, figure.cells), *group.cells)))
        yield GridStatement(group.said + figure.sentence, cells, calculated=True)
        if wanted not in ("sum", "mean", "count"):
            by_key = {cell.key: (row, cell) for row in group.rows for cell in row.cells}
            yield from (told(*by_key[key]) for key in figure.cells[:MOST_LISTED])


@dataclass
class _Group:
    """Rows with the same value, the cells that have it, and what is said of them first."""

    said: str
    rows: list[DocumentRow]
    cells: tuple[DocumentCell, ...] = ()


def _groups(plan: GridPlan, kept: Sequence[DocumentRow]) -> list[_Group]:
    if plan.group is None:
        return [_Group("", list(kept))]
    found: dict[Hashable, _Group] = {}
    cells = [(row, row.cell(plan.group.id)) for row in kept]
    for row, cell in sorted(cells, key=lambda one: value_order(one[1].value)):
        if cell.value is not None and counts(cell):
            said = f"{plan.group.name}: {value_text(cell.value)} – "
            group = found.setdefault(value_key(cell.value), _Group(said, []))
            group.rows.append(row)
            group.cells += (cell,)
    return list(found.values())
