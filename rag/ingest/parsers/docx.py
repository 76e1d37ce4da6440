"""DOCX by mammoth; the numbers, equations and charts that it leaves out are first written as text."""

import io
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from rag.ingest.parsers import ooxml
from rag.ingest.parsers.figures import word_figures
from rag.ingest.parsers.html import to_markdown
from rag.ingest.parsers.ooxml import attribute, children, descendants, number_attribute
from rag.ingest.parsers.plain_text import markdown_document
from rag.text.document import OPEN_XML, LoadedDocument
from rag.text.normalize import canonical

_DOCUMENT = "word/document.xml"
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_STYLES = "p[style-name='Title'] => h1:fresh"  # mammoth knows only the numbered ones as headings
_LEVELS = 9  # of a list
_GANADA = "가나다라마바사아자차카타파하"
_CHOSUNG = "ㄱㄴㄷㄹㅁㅂㅅㅇㅈㅊㅋㅌㅍㅎ"
_AIUEO = "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワヲン"
_HAN = "一二三四五六七八九"
_ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl")),
    *((10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)


def read_docx(path: Path) -> LoadedDocument:
    """Read a Word document; of its pictures only their descriptions are kept."""
    import mammoth  # type: ignore[import-untyped]

    ooxml.inspect(path)
    pictures = mammoth.images.img_element(lambda _: {"src": ""})
    with _with_text(path) as file, zipfile.ZipFile(path) as container:
        result = mammoth.convert_to_html(
            file, style_map=_STYLES, convert_image=pictures, include_embedded_style_map=False
        )
        blocks = [to_markdown(result.value)[0], *ooxml.comments(container, _DOCUMENT)]
    text = canonical("\n\n".join(filter(None, blocks)))
    return markdown_document(text, OPEN_XML + "wordprocessingml.document")


def _with_text(path: Path) -> BinaryIO:
    file = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            new.writestr(name, b"" if name.startswith("word/media/") else _converted(old, name))
    file.seek(0)
    return file


def _converted(container: zipfile.ZipFile, name: str) -> bytes:
    """Return a part of a Word file; notes may hold equations, too."""
    from lxml import etree  # type: ignore[import-untyped]

    content = container.read(name)
    has_equations = name.startswith("word/") and name.endswith(".xml") and b"<m:oMath" in content
    if name != _DOCUMENT and not has_equations:
        return content
    root = ooxml.parse_strictly(content)
    if name == _DOCUMENT:
        _write_figures(root)
    _write_equations(root)
    if name == _DOCUMENT:
        _write_numbers(root, container)
        _write_charts(root, container)
    return bytes(etree.tostring(root))


def _element(name: str, *inside: Any) -> Any:
    from lxml import etree

    element = etree.Element(_WORD + name)
    element.extend(inside)
    return element


def _run(text: str) -> Any:
    """Return a text run that keeps its spaces."""
    words = _element("t")
    words.text = text
    words.set("{http://www.w3.org/XML/1998/namespace}space", "preserve")
    return _element("r", words)


# Automatic numbers: `1.2`, `제3조`, `(b)` before a paragraph.


class _Level(NamedTuple):
    """Numbering of one level of a list; ``text`` has `%1` in the place of the first level's number."""

    start: int
    form: str
    text: str


class Numbering:
    """Counts the numbered paragraphs of a document in their order, by its numbering and its styles (lxml)."""

    def __init__(self, numbering: Any, styles: Any):
        self._levels = {
            attribute(kept, "abstractNumId"): _levels(kept) for kept in children(numbering, "abstractNum")
        }
        self._lists = {attribute(num, "numId"): num for num in children(numbering, "num")}
        self._styles = {attribute(style, "styleId"): style for style in children(styles, "style")}
        self._counts: dict[str, list[int]] = {}
        self._begun: set[str] = set()

    def count(self, paragraph: Any) -> str:
        """Count a paragraph; return its number as Word shows it, or nothing where Markdown numbers it."""
        properties = paragraph.find("{*}pPr")
        style = _value(properties, "pStyle")
        list_id, depth = self._list_and_depth(properties, style)
        num = self._lists.get(list_id)
        levels = self._levels.get(_value(num, "abstractNumId"), {})
        if num is None or depth not in levels or levels[depth].form == "bullet":
            return ""
        counts = self._next_counts(num, levels, depth)
        is_plain = levels[depth].form == "decimal" and levels[depth].text in (
            f"%{depth + 1}.",
            f"%{depth + 1})",
        )
        return "" if is_plain and not self._is_heading(style) else _number(levels, depth, counts)

    def _list_and_depth(self, properties: Any, style: str) -> tuple[str, int]:
        """Return the list and the depth of a paragraph, by its own properties or by its style."""
        list_id, depth = _value(properties, "numPr/{*}numId"), _value(properties, "numPr/{*}ilvl")
        for _ in range(20):  # styles rest on styles; a circle of them ends too
            if (list_id and depth) or style not in self._styles:
                break
            parent = self._styles[style]
            list_id = list_id or _value(parent, "pPr/{*}numPr/{*}numId")
            depth = depth or _value(parent, "pPr/{*}numPr/{*}ilvl")
            style = _value(parent, "basedOn")
        return list_id, int(depth) if depth.isdecimal() else 0

    def _next_counts(self, num: Any, levels: dict[int, _Level], depth: int) -> list[int]:
        """Count on at a depth: deeper levels begin again, levels above that never counted begin."""
        list_id, own_id = _value(num, "abstractNumId"), attribute(num, "numId")
        starts = [levels[place].start if place in levels else 1 for place in range(_LEVELS)]
        counts = self._counts.setdefault(list_id, [start - 1 for start in starts])
        if own_id not in self._begun:
            self._begun.add(own_id)
            for change in children(num, "lvlOverride"):
                start, place = _value(change, "startOverride"), number_attribute(change, "ilvl", _LEVELS)
                if start.isdecimal() and place < len(counts):
                    counts[place] = int(start) - 1
        counts[:depth] = [max(count, start) for count, start in zip(counts[:depth], starts, strict=False)]
        counts[depth] += 1
        counts[depth + 1 :] = [start - 1 for start in starts[depth + 1 :]]
        return counts

    def _is_heading(self, style: str) -> bool:
        return _value(self._styles.get(style), "name").lower().startswith(("heading", "title"))


def _levels(kept: Any) -> dict[int, _Level]:
    levels = {}
    for level in children(kept, "lvl"):
        start = _value(level, "start")
        number = int(start) if start.isdecimal() else 1
        levels[int(attribute(level, "ilvl"))] = _Level(
            number, _value(level, "numFmt"), _value(level, "lvlText")
        )
    return levels


def _number(levels: Mapping[int, _Level], depth: int, counts: Sequence[int]) -> str:
    text = levels[depth].text
    for place, number in enumerate(counts[: depth + 1]):
        form = levels[place].form if place in levels else "decimal"
        text = text.replace(f"%{place + 1}", format_number(number, form))
    return text.strip()


def _value(element: Any, path: str) -> str:
    child = None if element is None else element.find("{*}" + path)
    return "" if child is None else attribute(child, "val")


def format_number(number: int, form: str) -> str:
    """Return a number in Word's format of that name; an unknown one is decimal.

    >>> [format_number(3, form) for form in ("decimal", "lowerLetter", "upperRoman", "ganada", "none")]
    ['3', 'c', 'III', '다', '']
    """
    return _FORMS.get(form, str)(number)


def _letters(number: int) -> str:
    """Return a for 1 and aa for 27, as Word does."""
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


def _cycle(letters: str) -> Callable[[int], str]:
    return lambda number: letters[(number - 1) % len(letters)]


_FORMS: dict[str, Callable[[int], str]] = {
    "none": lambda _: "",
    "decimalZero": lambda number: f"{number:02}",
    "decimalEnclosedCircle": lambda number: chr(0x2460 + number - 1) if 0 < number <= 20 else str(number),
    "lowerLetter": _letters,
    "upperLetter": lambda number: _letters(number).upper(),
    "lowerRoman": _roman,
    "upperRoman": lambda number: _roman(number).upper(),
    "ganada": _cycle(_GANADA),
    "chosung": _cycle(_CHOSUNG),
    "aiueo": _cycle(_AIUEO),
    "aiueoFullWidth": _cycle(_AIUEO),
    **dict.fromkeys(("japaneseCounting", "chineseCounting", "ideographDigital", "taiwaneseCounting"), _han),
}


def _write_numbers(root: Any, container: zipfile.ZipFile) -> None:
    parts = [
        next(iter(ooxml.related_parts(container, _DOCUMENT, kind).values()), "")
        for kind in ("/numbering", "/styles")
    ]
    if not all(parts):
        return
    numbering = Numbering(*(ooxml.parse_part(container, part) for part in parts))
    for paragraph in list(root.iter(_WORD + "p")):
        number = numbering.count(paragraph)
        if number and any(text.text for text in paragraph.iter(_WORD + "t")):
            properties = paragraph.find(_WORD + "pPr")
            listed = properties.find(_WORD + "numPr")
            if listed is not None:
                properties.remove(listed)  # or it would be numbered twice
            paragraph.insert(paragraph.index(properties) + 1, _run(f"{number} "))


# Equations as one line of text: `x = (-b ± √(b^2-4ac))/(2a)`.


def _write_equations(root: Any) -> None:
    for equation in list(root.iter(_MATH + "oMathPara", _MATH + "oMath")):
        if any(parent.tag in (equation.tag, _MATH + "oMathPara") for parent in equation.iterancestors()):
            continue  # written with the one around it
        run = _run(equation_text(equation))
        run.tail = equation.tail
        equation.getparent().replace(equation, run)


def equation_text(element: Any) -> str:
    """Return an equation on one line; elements that are not named here are written in their order."""
    tag = element.tag.removeprefix(_MATH)
    if tag == "t":
        return element.text or ""
    inside = list(children(element))
    parts = {child.tag.removeprefix(_MATH): equation_text(child) for child in inside}
    if tag == "nary":
        sign = next(element.iter(_MATH + "chr"), None)
        # Office leaves out the sign of an integral.
        return _nary(parts, "∫" if sign is None else sign.get(_MATH + "val", ""))
    template = _EQUATIONS.get(tag)
    return template(parts) if template else "".join(map(equation_text, inside))


def _nary(parts: Mapping[str, str], sign: str) -> str:
    """Return a sum, product or integral with its limits: `∑_(k=0)^n a_k`."""
    low, high = parts.get("sub", ""), parts.get("sup", "")
    limits = (f"_{_group(low)}" if low else "") + (f"^{_group(high)}" if high else "")
    return f"{sign}{limits} {parts.get('e', '')}"


def _group(part: str) -> str:
    return part if len(part) < 2 or part.isalnum() else f"({part})"


_EQUATIONS: dict[str, Callable[[Mapping[str, str]], str]] = {
    "f": lambda parts: f"{_group(parts['num'])}/{_group(parts['den'])}",
    "sSup": lambda parts: f"{parts['e']}^{_group(parts['sup'])}",
    "sSub": lambda parts: f"{parts['e']}_{_group(parts['sub'])}",
    "sSubSup": lambda parts: f"{parts['e']}_{_group(parts['sub'])}^{_group(parts['sup'])}",
    "rad": lambda parts: f"{parts.get('deg', '')}√{_group(parts['e'])}",
    "d": lambda parts: f"({parts['e']})",
}


def _write_figures(root: Any) -> None:
    """Write a line in the place of each picture that has a caption or a description."""
    for drawing, _, line in list(word_figures(root)):
        for parent in drawing.iterancestors():
            if parent.tag == _WORD + "r":
                parent.addnext(_run(line))
                parent.remove(drawing)
                break
            drawing = parent


def _write_charts(root: Any, container: zipfile.ZipFile) -> None:
    """Write each chart behind its paragraph: its title, and its numbers as a table."""
    parts = ooxml.related_parts(container, _DOCUMENT, "/chart")
    for drawing in list(root.iter(_WORD + "drawing")):
        place = next(drawing.iterancestors(_WORD + "p"), None)
        for reference in descendants(drawing, "chart"):
            part = parts.pop(attribute(reference, "id"), None)  # an older form of a drawing may repeat it
            if part is not None and place is not None:
                for element in reversed(list(_chart(ooxml.parse_part(container, part)))):
                    place.addnext(element)


def _chart(chart: Any) -> Iterator[Any]:
    if title := ooxml.chart_title(chart):
        yield _element("p", _run(title))
    if rows := ooxml.chart_rows(chart):
        cells = ([_element("tc", _element("p", _run(cell))) for cell in row] for row in rows)
        yield _element("tbl", *(_element("tr", *row) for row in cells))
