"""Column of a grid: a question or typed field that is read from every document."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from rag.errors import GridRefused
from rag.i18n import N_

Kind = Literal["text", "date", "money", "number", "yes_no", "choice", "list"]
KINDS: tuple[Kind, ...] = get_args(Kind)
MAX_NAME, MAX_QUESTION, MAX_INSTRUCTIONS = 120, 1000, 2000  # characters
MAX_OPTIONS = 50


@dataclass(frozen=True)
class Column:
    """A column: its name, the question it asks of each document, and the kind of its values.

    `options` are those of a choice; `unit` is what numbers and money are counted in, where that is wished
    ("USD", "days"). `instructions` reach the model, never the check.
    """

    id: str
    name: str
    question: str = ""
    kind: Kind = "text"
    options: tuple[str, ...] = ()
    unit: str = ""
    instructions: str = ""

    @property
    def asked(self) -> str:
        """The question, or the name where none was written."""
        return self.question or self.name

    def to_json(self) -> dict[str, Any]:
        """Return the column as it is stored and exported."""
        return {**asdict(self), "options": list(self.options)}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "Column":
        """Return a column by its fields, which may come from anyone; raises GridRefused."""
        options = fields.get("options", ())
        if not isinstance(options, list | tuple):
            raise GridRefused(N_("The options of “{column}” are no list.", column=fields.get("name")))
        column = cls(
            id=str(fields.get("id", "")).strip(),
            name=str(fields.get("name", "")).strip(),
            question=str(fields.get("question", "")).strip(),
            kind=fields.get("kind", "text"),
            options=tuple(str(option).strip() for option in options),
            unit=str(fields.get("unit", "")).strip(),
            instructions=str(fields.get("instructions", "")).strip(),
        )
        column.check()
        return column

    def check(self) -> None:
        """Raise GridRefused for a column that cannot be read."""
        if not self.name:
            raise GridRefused(N_("Give the column a name."))
        if len(self.name) > MAX_NAME:
            raise GridRefused(N_("A column needs a name of at most {count} characters.", count=MAX_NAME))
        if self.kind not in KINDS:
            raise GridRefused(
                N_(
                    "“{column}” has no known kind. Choose one of: {kinds}.",
                    column=self.name,
                    kinds=", ".join(KINDS),
                )
            )
        if len(self.question) > MAX_QUESTION or len(self.instructions) > MAX_INSTRUCTIONS:
            raise GridRefused(N_("Question or instructions of “{column}” are too long.", column=self.name))
        if self.kind == "choice" and not 2 <= len(set(self.options)) <= MAX_OPTIONS:
            raise GridRefused(
                N_("“{column}” needs 2 to {count} different options.", column=self.name, count=MAX_OPTIONS)
            )
