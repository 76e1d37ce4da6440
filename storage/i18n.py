"""Messages that are translated when they are shown: English text that keeps its template and values.

What is stored, logged or sent as JSON is the English text. `rag.i18n` translates it for the reader.
"""

from collections.abc import Callable, Mapping


class Translatable(str):
    """Message in English that still knows its template, its plural and the values in it."""

    template: str
    plural: str  # empty where the message does not count anything
    values: Mapping[str, object]

    def __new__(cls, template: str, plural: str, values: Mapping[str, object]) -> "Translatable":
        """Format the English text; the plural is chosen by the value `count`."""
        values = {
            name: str(value) if isinstance(value, Exception) else value for name, value in values.items()
        }
        chosen = plural if plural and values["count"] != 1 else template
        message = super().__new__(cls, formatted(chosen, values, str))
        message.template, message.plural, message.values = template, plural, values
        return message

    def __str__(self) -> str:
        """Return the message itself, so that `str(error)` can still be translated."""
        return self

    def __reduce__(self) -> tuple[type, tuple[str, str, Mapping[str, object]]]:
        """Pickle the parts, which a parser's process sends to its parent."""
        return Translatable, (self.template, self.plural, self.values)


def N_(template: str, **values: object) -> Translatable:  # noqa: N802 (the name that gettext's tools know)
    """Return a message that is translated when it is shown: `N_("{name} is empty.", name=name)`."""
    return Translatable(template, "", values)


def N_plural(singular: str, plural: str, count: int, **values: object) -> Translatable:  # noqa: N802
    """Return a message about `count` things: `N_plural("{count} file", "{count} files", 3)`."""
    return Translatable(singular, plural, {"count": count, **values})


def formatted(template: str, values: Mapping[str, object], show: Callable[[str], str]) -> str:
    """Fill a template; `count` is written with thousands separators, and `show` changes messages in it."""
    if not values:
        return template
    return template.format_map(
        {
            name: f"{value:,}" if name == "count" else show(value) if isinstance(value, str) else value
            for name, value in values.items()
        }
    )
