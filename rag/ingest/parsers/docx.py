"""DOCX by mammoth: headings, lists and tables become Markdown; comments stand at the end."""

import io
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from rag.ingest.parsers import ooxml as archive
from rag.ingest.parsers.html import to_markdown
from rag.ingest.parsers.ooxml import attribute, comments, local, named, parsed, related, rows
from rag.ingest.parsers.ooxml import title as charts_title
from rag.text.document import OPEN_XML, LoadedDocument, clean
from rag.text.markdown import headings, title

# The numbers that Word counts by itself and writes nowhere: `1.2`, `제3조`, `(b)` before a paragraph.
_GANADA = "가나다라마바사아자차카타파하"
_CHOSUNG = "ㄱㄴㄷㄹㅁㅂㅅㅇㅈㅊㅋㅌㅍㅎ"
_AIUEO = "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワヲン"
_HAN = "一二三四五六七八九"
_ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl")),
    *((10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)


@dataclass(frozen=True)
class _Level:
    """How a level of a list counts; ``text`` has `%1` where the first level's number stands."""

    start: int
    form: str
    text: str


class Numbering:
    """Counts the numbered paragraphs of a document in their order, by its numbering and its styles (lxml)."""

    def __init__(self, numbering: Any, styles: Any):
        lists = [part for part in numbering if local(part) == "abstractNum"]
        self._levels = {attribute(kept, "abstractNumId"): _levels(kept) for kept in lists}
        self._lists = {attribute(num, "numId"): num for num in numbering if local(num) == "num"}
        self._styles = {attribute(style, "styleId"): style for style in styles if local(style) == "style"}
        self._counts: dict[str, list[int]] = {}
        self._begun: set[str] = set()

    def count(self, paragraph: Any) -> str:
        """Count a paragraph and return what stands before it; nothing where it is not numbered, or plainly.

        A heading's number is told even if it is plain: headings are no list.
        """
        properties = _child(paragraph, "pPr")
        style = _value(_child(properties, "pStyle"))
        list_id, depth = self._place(properties, style)
        num = self._lists.get(list_id)
        levels = self._levels.get(_value(_child(num, "abstractNumId")), {})
        if num is None or depth not in levels or levels[depth].form == "bullet":
            return ""
        counts = self._counted(num, levels, depth)
        is_plain = levels[depth].form == "decimal" and levels[depth].text in _plain(depth)
        return "" if is_plain and not self._is_heading(style) else _written(levels, depth, counts)

    def _place(self, properties: Any, style: str) -> tuple[str, int]:
        """Return the list and the depth of a paragraph, by itself or by its style."""
        own = _child(properties, "numPr")
        list_id, depth = _value(_child(own, "numId")), _value(_child(own, "ilvl"))
        for _ in range(20):  # styles rest on styles; a circle of them ends too
            if (list_id and depth) or style not in self._styles:
                break
            given = _child(_child(self._styles[style], "pPr"), "numPr")
            list_id = list_id or _value(_child(given, "numId"))
            depth = depth or _value(_child(given, "ilvl"))
            style = _value(_child(self._styles[style], "basedOn"))
        return list_id, int(depth) if depth.isdecimal() else 0

    def _counted(self, num: Any, levels: dict[int, _Level], depth: int) -> list[int]:
        """Count on at a depth: what is deeper begins again, what is above and never counted begins."""
        kept, own = _value(_child(num, "abstractNumId")), attribute(num, "numId")
        starts = [levels[place].start if place in levels else 1 for place in range(9)]
        counts = self._counts.setdefault(kept, [start - 1 for start in starts])
        if own not in self._begun:
            self._begun.add(own)
            for change in (part for part in num if local(part) == "lvlOverride"):
                start, place = _value(_child(change, "startOverride")), attribute(change, "ilvl")
                if start.isdecimal() and place.isdecimal() and int(place) < len(counts):
                    counts[int(place)] = int(start) - 1
        counts[:depth] = [max(count, start) for count, start in zip(counts[:depth], starts, strict=False)]
        counts[depth] += 1
        counts[depth + 1 :] = [start - 1 for start in starts[depth + 1 :]]
        return counts

    def _is_heading(self, style: str) -> bool:
        name = _value(_child(self._styles.get(style), "name")).lower()
        return name.startswith(("heading", "title"))


def _levels(kept: Any) -> dict[int, _Level]:
    found = {}
    for level in (part for part in kept if local(part) == "lvl"):
        start, form = _value(_child(level, "start")), _value(_child(level, "numFmt"))
        text = _value(_child(level, "lvlText"))
        found[int(attribute(level, "ilvl"))] = _Level(int(start) if start.isdecimal() else 1, form, text)
    return found


def _plain(depth: int) -> tuple[str, ...]:
    """Return how a list numbers its items that is one as any other, and stays one."""
    return f"%{depth + 1}.", f"%{depth + 1})"


def _written(levels: Mapping[int, _Level], depth: int, counts: Sequence[int]) -> str:
    text = levels[depth].text
    for place, number in enumerate(counts[: depth + 1]):
        form = levels[place].form if place in levels else "decimal"
        text = text.replace(f"%{place + 1}", formed(number, form))
    return text.strip()


def _child(element: Any, name: str) -> Any:
    if element is None:
        return None
    return next((part for part in element if isinstance(part.tag, str) and local(part) == name), None)


def _value(element: Any) -> str:
    return "" if element is None else attribute(element, "val")


def formed(number: int, form: str) -> str:
    """Write a number as Word's format of that name does; an unknown one is decimal.

    >>> [formed(3, form) for form in ("decimal", "lowerLetter", "upperRoman", "ganada", "none")]
    ['3', 'c', 'III', '다', '']
    """
    return _FORMS.get(form, str)(number)


def _letters(number: int) -> str:
    """Write 1 as a, 27 as aa, as Word does."""
    return chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1) if number > 0 else ""


def _roman(number: int) -> str:
    written = ""
    for value, letters in _ROMAN:
        written += letters * (number // value)
        number %= value
    return written


def _han(number: int) -> str:
    tens, ones = divmod(number, 10)
    if not 0 < number < 100:
        return str(number)
    return ("" if tens < 1 else "十" if tens == 1 else _HAN[tens - 1] + "十") + (
        _HAN[ones - 1] if ones else ""
    )


def _of(letters: str) -> Callable[[int], str]:
    return lambda number: letters[(number - 1) % len(letters)]


_FORMS: dict[str, Callable[[int], str]] = {
    "none": lambda _: "",
    "decimalZero": lambda number: f"{number:02}",
    "decimalEnclosedCircle": lambda number: chr(0x2460 + number - 1) if 0 < number <= 20 else str(number),
    "lowerLetter": _letters,
    "upperLetter": lambda number: _letters(number).upper(),
    "lowerRoman": _roman,
    "upperRoman": lambda number: _roman(number).upper(),
    "ganada": _of(_GANADA),
    "chosung": _of(_CHOSUNG),
    "aiueo": _of(_AIUEO),
    "aiueoFullWidth": _of(_AIUEO),
    **dict.fromkeys(("japaneseCounting", "chineseCounting", "ideographDigital", "taiwaneseCounting"), _han),
}


# Equations of Word documents as one line of text, `x = (-b ± √(b^2-4ac))/(2a)`.
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


def write_equations(root: Any) -> None:
    """Put a line of text in the place of each equation below an element (lxml)."""
    from lxml import etree  # type: ignore[import-untyped]

    for equation in list(root.iter(_MATH + "oMathPara", _MATH + "oMath")):
        if any(
            parent.tag == equation.tag or parent.tag == _MATH + "oMathPara"
            for parent in equation.iterancestors()
        ):
            continue  # written with the one around it
        run = etree.Element(_WORD + "r")
        etree.SubElement(run, _WORD + "t").text = linear(equation)
        run.tail = equation.tail
        equation.getparent().replace(equation, run)


def linear(element: Any) -> str:
    """Write an equation on one line; what it is made of but is not named here is written in its order."""
    tag = element.tag.removeprefix(_MATH) if isinstance(element.tag, str) else ""
    if tag == "t":
        return element.text or ""
    children = [child for child in element if isinstance(child.tag, str)]
    parts = {child.tag.removeprefix(_MATH): linear(child) for child in children}
    if tag == "nary":
        sign = next(element.iter(_MATH + "chr"), None)
        return _nary(
            parts, "∫" if sign is None else sign.get(_MATH + "val", "")
        )  # ∫ is what Office leaves out
    written = _WRITTEN.get(tag)
    return written(parts) if written else "".join(map(linear, children))


def _nary(parts: Mapping[str, str], sign: str) -> str:
    """Write a sum, product or integral with its limits: `∑_(k=0)^n a_k`."""
    low, high = parts.get("sub", ""), parts.get("sup", "")
    limits = (f"_{_group(low)}" if low else "") + (f"^{_group(high)}" if high else "")
    return f"{sign}{limits} {parts.get('e', '')}"


def _group(part: str) -> str:
    return part if len(part) < 2 or part.isalnum() else f"({part})"


_WRITTEN: dict[str, Callable[[Mapping[str, str]], str]] = {
    "f": lambda parts: f"{_group(parts['num'])}/{_group(parts['den'])}",
    "sSup": lambda parts: f"{parts['e']}^{_group(parts['sup'])}",
    "sSub": lambda parts: f"{parts['e']}_{_group(parts['sub'])}",
    "sSubSup": lambda parts: f"{parts['e']}_{_group(parts['sub'])}^{_group(parts['sup'])}",
    "rad": lambda parts: f"{parts.get('deg', '')}√{_group(parts['e'])}",
    "d": lambda parts: f"({parts['e']})",
}


# A Word file in which what mammoth leaves out stands as text that it reads: equations, charts, numbers.
DOCUMENT = "word/document.xml"


def readable(path: Path) -> BinaryIO:
    """Return a Word file for mammoth."""
    file = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            new.writestr(name, _document(old) if name == DOCUMENT else _other(old, name))
    file.seek(0)
    return file


def _other(container: zipfile.ZipFile, name: str) -> bytes:
    """Return a part; notes may hold equations, and pictures are not read."""
    if name.startswith("word/media/"):
        return b""
    content = container.read(name)
    if not (name.startswith("word/") and name.endswith(".xml") and b"<m:oMath" in content):
        return content
    root = _strict(content)
    write_equations(root)
    return _bytes(root)


def _document(container: zipfile.ZipFile) -> bytes:
    root = _strict(container.read(DOCUMENT))
    write_equations(root)
    _write_numbers(root, container)
    _write_charts(root, container)
    return _bytes(root)


def _strict(content: bytes) -> Any:
    """Parse what the text itself stands in: damaged, it is no document."""
    from lxml import etree

    return etree.fromstring(content, etree.XMLParser(resolve_entities=False, huge_tree=True))


def _bytes(root: Any) -> bytes:
    from lxml import etree

    return bytes(etree.tostring(root))


def _write_numbers(root: Any, container: zipfile.ZipFile) -> None:
    """Write the numbers that Word only shows at the beginning of their paragraphs."""
    lists = related(container, DOCUMENT, "/numbering").values()
    styles = related(container, DOCUMENT, "/styles").values()
    if not lists or not styles:
        return
    numbering = Numbering(parsed(container, next(iter(lists))), parsed(container, next(iter(styles))))
    for paragraph in list(root.iter(_WORD + "p")):
        number = numbering.count(paragraph)
        if number and any(text.text for text in paragraph.iter(_WORD + "t")):
            properties = paragraph.find(_WORD + "pPr")
            listed = properties.find(_WORD + "numPr")
            if listed is not None:
                properties.remove(listed)  # or it would be numbered twice
            paragraph.insert(paragraph.index(properties) + 1, _run(f"{number} "))


def _write_charts(root: Any, container: zipfile.ZipFile) -> None:
    """Write each chart behind its paragraph: its title, and its numbers as a table."""
    kept = related(container, DOCUMENT, "/chart")
    for drawing in list(root.iter(_WORD + "drawing")):
        place = next(drawing.iterancestors(_WORD + "p"), None)
        for reference in named(drawing, "chart"):
            part = kept.pop(attribute(reference, "id"), None)  # an older form of a drawing may repeat it
            if part is not None and place is not None:
                for element in reversed(list(_chart(parsed(container, part)))):
                    place.addnext(element)


def _chart(chart: Any) -> Iterator[Any]:
    from lxml import etree

    if charts_title(chart):
        yield _paragraph(charts_title(chart))
    lines = rows(chart)
    if lines:
        table = etree.Element(_WORD + "tbl")
        for line in lines:
            row = etree.SubElement(table, _WORD + "tr")
            for cell in line:
                etree.SubElement(row, _WORD + "tc").append(_paragraph(cell))
        yield table


def _paragraph(text: str) -> Any:
    from lxml import etree

    paragraph = etree.Element(_WORD + "p")
    paragraph.append(_run(text))
    return paragraph


def _run(text: str) -> Any:
    from lxml import etree

    run = etree.Element(_WORD + "r")
    said = etree.SubElement(run, _WORD + "t")
    said.text = text
    said.set("{http://www.w3.org/XML/1998/namespace}space", "preserve")
    return run


_STYLES = "p[style-name='Title'] => h1:fresh"  # mammoth knows only the numbered ones as headings


def read_docx(path: Path) -> LoadedDocument:
    """Read a Word document; of its pictures only their descriptions are kept."""
    import mammoth  # type: ignore[import-untyped]

    archive.inspect(path)
    pictures = mammoth.images.img_element(lambda _: {"src": ""})
    with readable(path) as file, zipfile.ZipFile(path) as container:
        result = mammoth.convert_to_html(
            file, style_map=_STYLES, convert_image=pictures, include_embedded_style_map=False
        )
        said = [to_markdown(result.value)[0], *comments(container, DOCUMENT)]
    text = clean("\n\n".join(filter(None, said)))
    return LoadedDocument(text, (), title(text), OPEN_XML + "wordprocessingml.document", headings(text))
