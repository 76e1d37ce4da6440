"""Extract the interface's messages and bring the catalogues of all languages in step with them.

python scripts/catalogues.py

A message that is new, or whose English changed, is left empty for its translators and shown in English.
"""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

from babel.messages import Catalog
from babel.messages.extract import extract_from_file
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))  # of several checkouts it writes the catalogues of its own

from rag.i18n import DOMAIN, ENGLISH, FOLDER, LANGUAGES  # noqa: E402

FOLDERS = ("ui", "api", "rag", "storage")
KEYWORDS = {"_": None, "N_": None, "ngettext": (1, 2), "N_plural": (1, 2)}
TEMPLATE = FOLDER / f"{DOMAIN}.pot"
COMMENT = "Translators:"
WIDTH = 110
HEADER = "# Edit the translations only: `python scripts/catalogues.py` adds and removes messages."
DATED = datetime(2026, 1, 1, tzinfo=UTC)  # fixed: a date of its own would change the files at each run


def sources() -> Iterator[Path]:
    """Yield the modules that hold messages."""
    yield ROOT / "app.py"
    for folder in FOLDERS:
        yield from sorted((ROOT / folder).rglob("*.py"))


def extracted() -> Catalog:
    """Return the messages of the sources, by the file in which they come first."""
    catalog = _empty(None)
    for path in sources():
        where = path.relative_to(ROOT).as_posix()
        for _line, message, comments, context in extract_from_file("python", path, KEYWORDS, (COMMENT,)):
            catalog.add(message, "", [(where, 1)], auto_comments=comments, context=context)
    return catalog


def _empty(locale: str | None) -> Catalog:
    return Catalog(
        locale=locale,
        project="Footnote",
        version="1",
        header_comment=HEADER,
        creation_date=DATED,
        revision_date=DATED,
        last_translator="Footnote",
        language_team="Footnote",
        copyright_holder="Footnote",
        msgid_bugs_address="the project",
        fuzzy=False,
    )


def catalogue_path(code: str) -> Path:
    """Return the path of a language's catalogue."""
    return FOLDER / code / "LC_MESSAGES" / f"{DOMAIN}.po"


def updated(code: str, template: Catalog) -> Catalog:
    """Return the catalogue of a language with the messages of the template and the translations it has."""
    path, catalog = catalogue_path(code), _empty(code)
    known = read_po(BytesIO(path.read_bytes()), locale=code) if path.exists() else catalog
    for message in template:
        if message.id:
            old = known.get(message.id, message.context)
            same = old is not None and old.id == message.id
            string = old.string if same else ("",) * catalog.num_plurals if message.pluralizable else ""
            flags = old.flags if same else message.flags
            catalog.add(message.id, string, message.locations, flags, message.auto_comments)
    return catalog


def written(catalog: Catalog) -> str:
    """Return the text of a catalogue file: files but no line numbers, in the order of the sources."""
    file = BytesIO()
    write_po(file, catalog, width=WIDTH, sort_by_file=True, include_lineno=False)
    return file.getvalue().decode()


def files(template: Catalog) -> dict[Path, str]:
    """Return the text that each catalogue file should have for the messages of the sources, by path."""
    texts = {TEMPLATE: written(template)}
    for code in LANGUAGES:
        if code != ENGLISH:
            texts[catalogue_path(code)] = written(updated(code, template))
    return texts


if __name__ == "__main__":
    for path, text in files(extracted()).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
