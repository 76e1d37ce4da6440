"""Specification of a grid as JSON: name, columns or a template, and the documents that are its rows.

{"name": "Leases", "columns": [{"name": "Rent", "kind": "money"}], "scope": {"collections": ["Leases"]}}
{"name": "Filings", "template": "filing", "language": "en"}
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import InvalidOperation
from secrets import token_hex
from typing import Any

from rag.errors import GridRefused
from rag.grid.cells import Amount, CellValue, Day, Items, Words, YesNo, value_from_json
from rag.grid.columns import Column, Kind, find_template
from rag.i18n import N_
from storage.choices import Filter
from storage.collections import CollectionRecord, Collections, TagRecord, Tags
from storage.documents import Documents
from storage.errors import NotFound
from storage.grids import GridScope
from storage.records import DocumentRecord

FIELDS = frozenset({"name", "columns", "template", "language", "scope"})
SCOPE_FIELDS = frozenset({"collections", "documents", "tags", "types", "since", "until"})
_TYPES: Mapping[Kind, type[CellValue]] = {
    "text": Words,
    "date": Day,
    "money": Amount,
    "number": Amount,
    "yes_no": YesNo,
    "choice": Words,
    "list": Items,
}
_Named = CollectionRecord | DocumentRecord | TagRecord


@dataclass(frozen=True)
class NamedScope:
    """Documents of a grid by ids or names of collections, documents and tags, and by filters."""

    collections: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    filters: tuple[Filter, ...] = ()

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "NamedScope":
        """Return a scope by its fields, which may come from anyone; raises GridRefused."""
        _refuse_unknown(fields, SCOPE_FIELDS)
        named = {name: _strings(fields, name) for name in ("collections", "documents", "tags", "types")}
        types: list[Filter] = [("type", _ending(one)) for one in named.pop("types")]
        days: list[Filter] = [
            (kind, _day(kind, fields[kind])) for kind in ("since", "until") if fields.get(kind)
        ]
        return cls(**named, filters=(*types, *days))

    def resolved(self, collections: Collections, documents: Documents, tags: Tags) -> GridScope:
        """Return the scope by ids; raises NotFound for a name or an id that nothing has."""
        return GridScope(
            [_found(collections.list(), one, "collection") for one in self.collections],
            [_found(_current(documents), one, "document") for one in self.documents],
            [_found(tags.list(), one, "tag") for one in self.tags],
            self.filters,
        )


@dataclass(frozen=True)
class GridSpec:
    """Name, columns and rows of a grid that is to be made."""

    name: str
    columns: tuple[Column, ...]
    scope: NamedScope = NamedScope()

    @classmethod
    def from_json(cls, fields: Any) -> "GridSpec":
        """Return a specification by its fields, which may come from anyone; raises GridRefused."""
        if not isinstance(fields, Mapping):
            raise GridRefused(N_("A grid is described by a JSON object with a name and columns."))
        _refuse_unknown(fields, FIELDS)
        columns = columns_from_json(fields.get("columns") or [])
        if fields.get("template"):
            language = str(fields.get("language") or "en")
            columns = (*find_template(str(fields["template"])).columns(language), *columns)
        if not columns:
            raise GridRefused(N_("A grid needs a column. Give columns or a template."))
        scope = fields.get("scope") or {}
        if not isinstance(scope, Mapping):
            raise GridRefused(N_("The field “{name}” cannot be used.", name="scope"))
        return cls(str(fields.get("name") or ""), columns, NamedScope.from_json(scope))


def columns_from_json(listed: Any) -> tuple[Column, ...]:
    """Return columns by their fields; those without an id get one. Raises GridRefused."""
    if not isinstance(listed, Sequence) or not all(isinstance(one, Mapping) for one in listed):
        raise GridRefused(N_("The field “{name}” cannot be used.", name="columns"))
    columns = map(Column.from_json, listed)
    return tuple(column if column.id else replace(column, id=token_hex(4)) for column in columns)


def kept_columns(wanted: Sequence[Column], there: Sequence[Column]) -> list[Column]:
    """Return the wanted columns with the ids of those of the same name that are there, to keep their cells.

    >>> kept_columns([Column("new", "Fee", kind="money")], [Column("c1", "Fee")])[0].id
    'c1'
    """
    ids = {column.name: column.id for column in reversed(there)}
    return [replace(column, id=ids.get(column.name, column.id)) for column in wanted]


def typed_value(fields: Mapping[str, Any] | None, column: Column) -> CellValue | None:
    """Return a value given by hand, of the kind of its column; raises GridRefused for any other.

    >>> typed_value({"yes": True}, Column("c", "Pets", kind="yes_no"))
    YesNo(yes=True)
    """
    try:
        value = value_from_json(fields)
    except (ValueError, TypeError, KeyError, InvalidOperation):
        value = None
    if fields is None:
        return None
    fits = isinstance(value, _TYPES[column.kind])
    if isinstance(value, Amount):
        fits = fits and value.amount.is_finite()
    if column.kind == "choice":
        fits = fits and isinstance(value, Words) and value.text in column.options
    if value is None or not fits:
        raise GridRefused(
            N_(
                "This is no value of “{column}”, whose values are of the kind {kind}.",
                column=column.name,
                kind=column.kind,
            )
        )
    return value


def _refuse_unknown(fields: Mapping[str, Any], known: frozenset[str]) -> None:
    if unknown := sorted(set(fields) - known):
        raise GridRefused(
            N_(
                "A grid has no field “{name}”. There are: {names}.",
                name=unknown[0],
                names=", ".join(sorted(known)),
            )
        )


def _strings(fields: Mapping[str, Any], name: str) -> tuple[str, ...]:
    listed = fields.get(name) or []
    if not isinstance(listed, list | tuple) or not all(isinstance(one, str) for one in listed):
        raise GridRefused(N_("The field “{name}” cannot be used.", name=name))
    return tuple(listed)


def _ending(type_: str) -> str:
    return "." + type_.lower().lstrip(".")


def _day(name: str, said: Any) -> str:
    try:
        return date.fromisoformat(str(said)).isoformat()
    except ValueError as error:
        raise GridRefused(N_("The field “{name}” cannot be used.", name=name)) from error


def _current(documents: Documents) -> list[DocumentRecord]:
    return [record for record in documents.list() if record.replaces is None]


def _found(there: Iterable[_Named], wanted: str, noun: str) -> str:
    """Return the id of what has this id or, else, this name."""
    by_name: dict[str, str] = {}
    for one in there:
        if one.id == wanted:
            return wanted
        by_name.setdefault(one.name, one.id)
    if wanted in by_name:
        return by_name[wanted]
    raise NotFound(N_("There is no {noun} {id}.", noun=noun, id=repr(wanted)))
