"""Universal Sentence Encoder multilingual v3 in numpy: small and very quick, 16 languages.

A deep averaging network with n-gram features: each token's embedding goes, beside itself, through
three branches of two residual convolutions over 2, 3 and 5 tokens; the sum over tokens, divided by the
root of their number, goes through a small residual network. Yang et al. 2019, arXiv:1907.04307; the
shapes and the order of operations are those of the weights' file.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rag.models.embeddings import Embedder, Floats, Role
from rag.models.packaged.catalog import Model

WINDOWS = {2: 0, 3: 1, 5: 2}
"""Tokens a convolution sees, and how many of them lie to the left."""
TABLES = 17
"""The word table comes in parts: token t is row t // 17 of part t % 17, each part with its own scale."""
TOKENS_AT_ONCE = 384
"""Enough rows for the matrix products, few enough to stay in a processor's cache."""


class UseEmbedder(Embedder):
    """The encoder with its weights; queries and passages are embedded alike."""

    def __init__(self, model: Model):
        from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]
        from tokenizers import Tokenizer

        self._threads = ThreadpoolController()
        self.name, self.fingerprint = model.name, model.fingerprint
        self._tokenizer = Tokenizer.from_file(str(model.directory / "tokenizer.json"))
        self._tokenizer.enable_truncation(model.known.max_tokens)
        with np.load(model.directory / "weights.npz", allow_pickle=False) as weights:
            self._w: dict[str, Floats] = {
                name: weights[name] for name in weights.files if not name.startswith("q")
            }
            parts = [weights[f"q{number}"] for number in range(1, TABLES + 1)]
        self._epsilon = np.float32(self._w["eps"])
        self._words = np.stack(parts, axis=1).reshape(-1, parts[0].shape[1])
        self.dimension = int(self._w["d3"].shape[1])

    def _vectors(self, texts: Sequence[str], role: Role) -> Floats:
        del role  # one encoder for both
        rows = [row.ids for row in self._tokenizer.encode_batch_fast(list(texts))]
        # One thread: for matrices this small a second one mostly waits, and beside other work it
        # waits so busily that the same texts take ten times as long.
        with self._threads.limit(limits=1, user_api="blas"):
            return np.concatenate([self._encode(rows[a:b]) for a, b in pairwise(_cuts(rows))])

    def _encode(self, rows: Sequence[Sequence[int]]) -> Floats:
        w = self._w
        ids = np.concatenate([np.asarray(row, np.int64) for row in rows])
        lengths = np.array([len(row) for row in rows])
        part = ids % TABLES
        words = self._words[ids] * w["scale"][part, None] + w["lo"][part, None]
        texts = np.repeat(np.arange(len(rows)), lengths)
        joined = self._normalised(self._projected(words), self._joined("ln_g"), self._joined("ln_b"))
        hidden = np.split(joined, len(WINDOWS), axis=1)
        branches = [self._branch(x, texts, size) for x, size in zip(hidden, WINDOWS, strict=True)]
        features = self._normalised(np.concatenate([words, *branches], axis=1), w["ln_g"], w["ln_b"])
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        counts = lengths[:, None].astype(np.float32)
        total = np.add.reduceat(features, starts, axis=0) @ w["cnn_W"] + counts * w["cnn_b"]
        return self._dense(np.asarray(total / np.sqrt(counts), np.float32))

    def _projected(self, words: Floats) -> Floats:
        """Return the input of each branch, side by side: they are normalised together."""
        sides = [words @ self._w[f"proj{size}"] for size in WINDOWS]
        return np.concatenate(sides, axis=1) + self._joined("proj_b")

    def _joined(self, name: str) -> Floats:
        return np.concatenate([self._w[f"{name}{size}"] for size in WINDOWS])

    def _branch(self, hidden: Floats, texts: NDArray[np.int64], size: int) -> Floats:
        """Two residual convolutions over `size` tokens."""
        for layer in ("1", "2"):
            seen = _windows(hidden, texts, size, WINDOWS[size])
            weight, bias = self._w[f"w{layer}_{size}"], self._w[f"b{layer}_{size}"]
            hidden = hidden + np.maximum(seen @ weight + bias, 0)
        return hidden

    def _dense(self, mean: Floats) -> Floats:
        w = self._w
        first = np.maximum(mean @ w["p1"] + np.maximum(mean @ w["d0"], 0) @ w["d1"], 0)
        last: Floats = np.tanh(first @ w["p3"] + np.maximum(first @ w["d2"], 0) @ w["d3"])
        return last

    def _normalised(self, rows: Floats, scale: Floats, shift: Floats) -> Floats:
        centred = rows - rows.mean(axis=-1, keepdims=True)
        variance = (centred**2).mean(axis=-1, keepdims=True)
        normalised: Floats = centred / np.sqrt(variance + self._epsilon) * scale + shift
        return normalised


def _windows(hidden: Floats, texts: NDArray[np.int64], size: int, left: int) -> Floats:
    """Return each token with its neighbours in the same text, zeros beyond: [tokens, size * width].

    For rows a, b of one text, size 2, left 0: [[a, b], [b, 0]].
    """
    places = np.arange(len(hidden))[:, None] + np.arange(-left, size - left)
    inside = (places >= 0) & (places < len(hidden))
    places = np.where(inside, places, 0)
    same = inside & (texts[places] == texts[:, None])
    seen: Floats = (hidden[places] * same[..., None]).reshape(len(hidden), -1)
    return seen


def _cuts(rows: Sequence[Sequence[int]]) -> Iterator[int]:
    """Yield the bounds of groups of about TOKENS_AT_ONCE tokens: first 0, last len(rows)."""
    yield 0
    tokens = 0
    for number, row in enumerate(rows):
        if tokens and tokens + len(row) > TOKENS_AT_ONCE:
            yield number
            tokens = 0
        tokens += len(row)
    yield len(rows)
