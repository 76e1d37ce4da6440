# ruff: noqa: E501 - patterns
"""Shapes of texts that a column asks for: an email address, a telephone number, a link, a number."""

import re
from dataclasses import dataclass
from functools import lru_cache

from rag.grid.columns import Column


@dataclass(frozen=True)
class Shape:
    """Shape of a value: the words that ask for it, and its pattern.

    One that is `telling` says by itself what it is: an email address does, a number of an order does not.
    """

    asked: re.Pattern[str]
    pattern: re.Pattern[str]
    telling: bool = True

    def find(self, text: str) -> list[re.Match[str]]:
        """Return the values of this shape in a text."""
        return list(self.pattern.finditer(text))


EMAIL = Shape(
    re.compile(r"\be-?mail|이메일|전자우편|メール", re.IGNORECASE),
    re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
)
PHONE = Shape(
    re.compile(r"\b(?:tele)?phone\b|\bfax\b|\bmobile\b|전화|연락처|휴대폰|電話|携帯", re.IGNORECASE),
    re.compile(r"(?<![\w+-])\+\d{1,3}(?:[\s-]?\(?\d{1,4}\)?){2,5}(?![\w-])|(?<![\w+-])(?:\+\d{1,3}[\s-]?)?(?:\(\d{2,5}\)\s?|\d{2,4}[\s-])(?:\d{2,4}[\s-]){1,3}\d{2,4}(?![\w-])"
               r"|(?<![\w+-])(?:\+\d{1,3}[\s-]?)?\(?\d{2,4}\)?[\s-]\d{3,4}(?:-\d{4})?(?![\w-])"),
)  # fmt: skip
LINK = Shape(
    re.compile(r"\burl\b|\bweb ?site\b|\blink\b|홈페이지|웹사이트|ウェブサイト", re.IGNORECASE),
    re.compile(r"(?:https?://|www\.)[^\s<>()\[\]]+[^\s<>()\[\].,;]"),
)
CODE = Shape(
    re.compile(r"\b(?:numbers?|no|nr|ids?|codes?|ref|reference)\b\.?|#|번호|코드|番号|コード", re.IGNORECASE),
    re.compile(r"(?<![\w#/-])#?(?=[\w./-]*\d)[A-Za-z0-9][\w./-]*[A-Za-z0-9](?![\w-])"),
    telling=False,
)
SHAPES = (EMAIL, PHONE, LINK, CODE)


@lru_cache(maxsize=256)
def shape_of(column: Column) -> Shape | None:
    """Return the shape of the texts that a column asks for; None where any words may be its value.

    >>> shape_of(Column("p", "Telephone number")) is PHONE, shape_of(Column("n", "Name"))
    (True, None)
    """
    if column.kind != "text":
        return None
    return next((shape for shape in SHAPES if shape.asked.search(column.name)), None)


_NAME = re.compile(
    r"(?:[A-ZÀ-Þ][\w’'.-]*|(?:de|van|von|der|den|da|di|la|le|al|bin)\b)(?:[ \t]+(?:[A-ZÀ-Þ][\w’'.-]*|(?:de|van|von|der|den|da|di|la|le|al|bin)\b)){1,4}"
)


def is_name(text: str) -> bool:
    """Return True for words that may be the name of a person.

    >>> is_name("Timothy D. Cook"), is_name("Senior Vice President, Sales"), is_name("in 3 days")
    (True, False, False)
    """
    return _NAME.fullmatch(text.strip()) is not None
