"""Resolve the judged statements into the form that `footnote eval citations` reads.

    python benchmarks/statements.py FOLDER... [--half NAME] > report.jsonl

The statements in `benchmarks/statements/` refer to passages of public data sets, whose texts are not part of
this project. FOLDER holds the unpacked sets; give several where they lie apart. A reference is one of

    {"set": "mtrag-govt", "id": "...", "start": 0, "end": 900}    a record of a set, or characters of it
    {"file": "a/b.pdf", "page": 3, "anchor": "...", "until": "..."}   lines of a page, or of a text file
    {"text": "..."}                                               a table or text typed for this purpose

`anchor` stands in the first line of the passage and `until` in its last.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

FILES = ("fit", "second", "third", "fourth-fit", "fifth-fit", "report", "fourth-report", "fifth-report")
STATEMENTS = Path(__file__).parent / "statements"
KEPT = ("claim", "supported", "kind", "lang")


class UnresolvedReference(ValueError):
    """A reference that leads to no text."""


class Sources:
    """Texts of the data sets in some folders."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """Look for sets and files in `folders`, the first one first."""
        self._folders = folders
        self._records = cache(self._read_records)
        self._page = cache(self._read_page)

    def text(self, reference: Mapping[str, Any]) -> str:
        """Return the text a reference leads to; raise UnresolvedReference where there is none.

        >>> Sources([]).text({"text": "| a | b |"})
        '| a | b |'
        """
        if "text" in reference:
            return str(reference["text"])
        if "set" in reference:
            return self._record(reference)
        page = self._page(reference["file"], reference.get("page"))
        return cut(page, reference["anchor"], reference["until"])

    def _record(self, reference: Mapping[str, Any]) -> str:
        records = self._records(reference["set"])
        if reference["id"] not in records:
            raise UnresolvedReference(f"The set {reference['set']} has no record {reference['id']}.")
        return records[reference["id"]][reference.get("start") : reference.get("end")]

    def _read_records(self, name: str) -> dict[str, str]:
        folder = self._path(name)
        files = [file for pattern in ("*corpus.jsonl", "*docs.jsonl") for file in folder.glob(pattern)]
        files = files or list(folder.glob("KorQuAD*.json"))
        return {key: text for file in files for key, text in _records_of(file)}

    def _read_page(self, name: str, number: int | None) -> str:
        path = self._path(name)
        return path.read_text(encoding="utf-8") if number is None else _pdf_page(path, number)

    def _path(self, name: str) -> Path:
        for folder in self._folders:
            if (folder / name).exists():
                return folder / name
        raise UnresolvedReference(f"{name} is in none of the folders: unpack its data set there.")


def _records_of(file: Path) -> Iterator[tuple[str, str]]:
    """Yield key and text of each record; KorQuAD's key is the article with the paragraph's number."""
    content = file.read_text(encoding="utf-8")
    if file.suffix == ".jsonl":
        records = [json.loads(line) for line in content.split("\n") if line]
        yield from ((record["_id"], record["text"]) for record in records)
        return
    for article in json.loads(content)["data"]:
        for number, paragraph in enumerate(article["paragraphs"]):
            yield f"{article['title']}/{number}", paragraph["context"]


def _pdf_page(path: Path, number: int) -> str:
    import pypdfium2

    with pypdfium2.PdfDocument(path) as pdf:
        if number > len(pdf):
            raise UnresolvedReference(f"{path.name} has no page {number}: it is another version.")
        text: str = pdf[number - 1].get_textpage().get_text_bounded()
    return text.replace("\r\n", "\n").replace("\ufffe", "-")


def cut(text: str, anchor: str, until: str) -> str:
    r"""Return the lines from the one that holds `anchor` to the next one that holds `until`.

    >>> cut("Page 3\nNet sales:\nMac 6,840\niPad 5,791\n3", "sales", "iPad")
    'Net sales:\nMac 6,840\niPad 5,791'
    """
    start = text.find(anchor)
    last = text.find(until, start)
    if min(start, last) < 0:
        raise UnresolvedReference(
            f"No lines from {anchor!r} to {until!r}: it is another version of the file."
        )
    end = text.find("\n", last + len(until))
    return text[text.rfind("\n", 0, start) + 1 : end if end >= 0 else len(text)].strip()


def statements(half: str) -> list[dict[str, Any]]:
    """Return the statements of one half, with references for passages."""
    lines = (STATEMENTS / f"{half}.jsonl").read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line]


def resolved(statement: Mapping[str, Any], sources: Sources) -> dict[str, Any]:
    """Return a statement with the texts of its passages."""
    passages = [sources.text(reference) for reference in statement["passages"]]
    return {**{key: statement[key] for key in KEPT}, "passages": passages}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the resolved statements, one JSON object a line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="holds the unpacked sets")
    parser.add_argument("--half", choices=FILES, default="report", help="which statements (default: report)")
    options = parser.parse_args(arguments)
    sources = Sources(options.folders)
    try:
        for statement in statements(options.half):
            print(json.dumps(resolved(statement, sources), ensure_ascii=False))
    except UnresolvedReference as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
