"""Removal of characters that are not seen but act."""

import re

# Controls but tab and newline, bidirectional overrides and isolates, byte-order marks, tag characters.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    r"""Return text without characters that are not seen but act: controls, direction overrides, tags.

    >>> clean("a\x00b\u202ec\r\n")
    'abc\n'
    """
    return _LONE_SURROGATE.sub("\ufffd", _INVISIBLE.sub("", text))
