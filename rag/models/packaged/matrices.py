"""Weights as matrices of whole numbers with scales: a fourth of the bytes, and quicker to multiply."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Bits = Literal[4, 8]

BLOCK = 32
"""Columns that share a scale in Blocks: what the 4-bit data comes in."""
CHANNEL_MAX = 63
"""Of a weight that is multiplied: 255 * 63 twice stays below 2**15, so that no sum of two products is
cut off on processors without VNNI instructions, as some would be with 127 (docs/developer/embeddings.md)."""


@dataclass(frozen=True)
class Blocks:
    """A matrix [rows, columns] as integers: weight = (code - middle) * scale of its block.

    `codes` uint8 [rows, columns] below 2**bits; `scales` float32 [rows, columns / 32]; the middle is
    2**(bits - 1). For 4 bits a code of 11 in a block of scale 0.5 is (11 - 8) * 0.5 = 1.5.
    """

    codes: NDArray[np.uint8]
    scales: Floats
    bits: Bits

    def dense(self) -> Floats:
        """Return the float32 matrix [rows, columns]."""
        centred = self.codes.astype(np.float32) - np.float32(1 << (self.bits - 1))
        blocks = centred.reshape(*self.scales.shape, BLOCK) * self.scales[..., None]
        return blocks.reshape(self.codes.shape)


@dataclass(frozen=True)
class Channels:
    """A matrix [rows, columns] as integers with one scale a row: weight = code * scale of its row."""

    codes: NDArray[np.int8]
    scales: Floats

    def dense(self) -> Floats:
        """Return the float32 matrix [rows, columns]."""
        return self.codes * self.scales[:, None]


Matrix = Floats | Blocks | Channels


def to_blocks(matrix: Floats) -> Blocks:
    """Round a matrix [rows, columns] to 8-bit blocks, the largest of each block to the end of the range."""
    blocks = matrix.reshape(matrix.shape[0], -1, BLOCK)
    codes, scales = _rounded(blocks, 127)
    return Blocks((codes + 128).astype(np.uint8).reshape(matrix.shape), scales, 8)


def to_channels(matrix: Floats) -> Channels:
    """Round a matrix [rows, columns] row by row: [[-4, 1]] -> codes [[-63, 16]], scale 4 / 63."""
    codes, scales = _rounded(matrix, CHANNEL_MAX)
    return Channels(codes.astype(np.int8), scales)


def dense(matrix: Matrix) -> Floats:
    """Return any matrix in float32 [rows, columns]."""
    return matrix if isinstance(matrix, np.ndarray) else matrix.dense()


def _rounded(vectors: Floats, largest: int) -> tuple[Floats, Floats]:
    """Return whole numbers up to `largest` [..., n] and the scales [...] that give the vectors back."""
    scales = np.abs(vectors).max(axis=-1) / np.float32(largest)
    return np.rint(vectors / np.where(scales > 0, scales, 1)[..., None]), scales


def side_by_side(matrices: Sequence[Matrix]) -> Matrix:
    """Return matrices of equal width as one, the rows of each below those of the one before."""
    channels = [matrix for matrix in matrices if isinstance(matrix, Channels)]
    if len(channels) < len(matrices):
        return np.concatenate([dense(matrix) for matrix in matrices])
    codes, scales = ([getattr(each, part) for each in channels] for part in ("codes", "scales"))
    return Channels(np.concatenate(codes), np.concatenate(scales))


def packed(matrix: Blocks) -> NDArray[np.uint8]:
    """Return the codes, at 4 bits two to a byte: [1, 2, 3, 4] -> [0x21, 0x43]."""
    if matrix.bits == 8:
        return matrix.codes
    return matrix.codes[:, 0::2] | (matrix.codes[:, 1::2] << np.uint8(4))
