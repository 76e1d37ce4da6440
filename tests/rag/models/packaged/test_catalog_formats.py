"""Files of packaged models, made as their makers write them."""

import struct

from rag.models.packaged.catalog import sentencepiece_tokenizer

PIECES = {
    "<unk>": 0.0,
    "<s>": 0.0,
    "</s>": 0.0,
    "▁the": -1.0,
    "▁harbour": -2.0,
    "▁": -5.0,
    "s": -3.0,
    "har": -4.0,
}
NOTHING_REPLACED = struct.pack("<I", 1024) + bytes(1024)  # an empty trie of 256 nodes


def test_a_sentencepiece_model_splits_into_its_best_pieces():
    from transformers.utils.sentencepiece_model_pb2_new import ModelProto  # takes a second to import

    model = ModelProto()
    model.normalizer_spec.precompiled_charsmap = NOTHING_REPLACED
    for text, score in PIECES.items():
        model.pieces.add(piece=text, score=score)
    encoded = sentencepiece_tokenizer(model.SerializeToString()).encode("the  harbours z")
    assert encoded.tokens == ["<s>", "▁the", "▁harbour", "s", "▁", "z", "</s>"]
    assert encoded.ids == [1, 3, 4, 6, 5, 0, 2]
