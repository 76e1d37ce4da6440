"""How documents are split, as a value: size, overlap and minimum."""

from dataclasses import dataclass

from rag.errors import SettingsError

# About 200 tokens of multilingual-e5: 4.3 Latin letters a token, 1.6 of Hangul, Kana and Han.
SIZE = 900
OVERLAP = 100


@dataclass(frozen=True)
class Splitting:
    """How documents are split, in letters of Latin script; one of Hangul, Kana or Han counts 2.7.

    A piece is at most `size` long; where a stretch takes several, each but the first repeats about `overlap`
    of the one before it; sections shorter than `minimum` are joined with those around them on their page.
    Raises SettingsError where the three cannot be had together.
    """

    size: int = SIZE
    overlap: int = OVERLAP
    minimum: int = 0

    def __post_init__(self) -> None:
        if self.size < 1:
            raise SettingsError(f"Pieces of {self.size} letters hold nothing. Choose a size above 0.")
        if not 0 <= self.overlap < self.size:
            raise SettingsError(
                f"Pieces of {self.size} letters cannot repeat {self.overlap}. "
                "Choose an overlap of 0 or more that is smaller than the size."
            )
        if not 0 <= self.minimum <= self.size:
            raise SettingsError(
                f"Pieces of at most {self.size} letters cannot have at least {self.minimum}. "
                "Choose a minimum of 0 or more that is no larger than the size."
            )
