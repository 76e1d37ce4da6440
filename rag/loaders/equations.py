"""Equations of Word documents as one line of text, `x = (-b ± √(b^2-4ac))/(2a)`."""

import io
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


def with_equations(path: Path) -> BinaryIO:
    """Return a Word file whose equations are text; mammoth would leave them out."""
    changed = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            is_body = name.startswith("word/") and name.endswith(".xml")
            new.writestr(name, _rewritten(content) if is_body and b"<m:oMath" in content else content)
    changed.seek(0)
    return changed


def _rewritten(content: bytes) -> bytes:
    from lxml import etree  # type: ignore[import-untyped]

    root = etree.fromstring(content, etree.XMLParser(resolve_entities=False, huge_tree=True))
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
    return bytes(etree.tostring(root))


def linear(element: Any) -> str:
    """Write an equation on one line; what it is made of but is not named here is written in its order."""
    tag = element.tag.removeprefix(_MATH) if isinstance(element.tag, str) else ""
    if tag == "t":
        return element.text or ""
    children = [child for child in element if isinstance(child.tag, str)]
    parts = {child.tag.removeprefix(_MATH): linear(child) for child in children}
    written = _WRITTEN.get(tag)
    return written(parts) if written else "".join(map(linear, children))


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
