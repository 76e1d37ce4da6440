"""Equations of Word documents as one line of text, `x = (-b ± √(b^2-4ac))/(2a)`."""

from collections.abc import Callable, Mapping
from typing import Any

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
