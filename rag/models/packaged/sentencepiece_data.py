"""A SentencePiece Unigram model (the protobuf file sp.model) as a tokenizer of `tokenizers`.

Only what a Unigram model needs is read: field 1, repeated, a piece (1: text, 2: float score), and the
normaliser's compiled character map, field 2 of field 3.
https://github.com/google/sentencepiece/blob/master/src/sentencepiece_model.proto
"""

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer

PIECE, NORMALIZER, TEXT, SCORE, CHARACTER_MAP = 1, 3, 1, 2, 2
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield number and content of each field: bytes 0a 02 68 69 -> (1, b"hi")."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        kind = tag & 7
        if kind == _VARINT:
            _, end = _varint(message, at)
        elif kind == _BYTES:
            size, at = _varint(message, at)
            end = at + size
        else:
            end = at + {_FIXED64: 8, _FIXED32: 4}[kind]
        yield tag >> 3, message[at:end]
        at = end


def tokenizer(model: bytes, *, bos: str = "<s>", eos: str = "</s>") -> "Tokenizer":
    """Return the tokenizer of an sp.model, with `bos` and `eos` around each text."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

    pieces = [_piece(content) for number, content in fields(model) if number == PIECE]
    names = [text for text, _ in pieces]
    (normalizer,) = (dict(fields(content)) for number, content in fields(model) if number == NORMALIZER)
    made = Tokenizer(models.Unigram(pieces, unk_id=names.index("<unk>"), byte_fallback=False))
    made.normalizer = normalizers.Sequence(
        [
            normalizers.Precompiled(normalizer[CHARACTER_MAP]),
            normalizers.Strip(),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )
    made.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    made.post_processor = processors.TemplateProcessing(
        single=f"{bos} $A {eos}", special_tokens=[(name, names.index(name)) for name in (bos, eos)]
    )
    return made


def _piece(content: bytes) -> tuple[str, float]:
    parts = dict(fields(content))
    (score,) = struct.unpack("<f", parts.get(SCORE, bytes(4)))
    return parts[TEXT].decode(), score


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """Return the number that starts at `at`, seven bits a byte, lowest first, and where it ends."""
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
