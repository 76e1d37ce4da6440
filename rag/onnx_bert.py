"""A BERT encoder's weights -> one ONNX graph from token ids to unit vectors, built without torch.

The graph holds the fused operators of onnxruntime (domain com.microsoft) from the start. Its large
matrices are kept in blocks of small integers, each block with one scale, or in float32; the mean over
tokens and the L2 norm are part of the graph.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import onnx

Floats = NDArray[np.float32]
Bits = Literal[4, 8]

BLOCK = 32
"""Columns that share a scale: what the 4-bit data comes in, and the finest onnxruntime computes with."""
INTEGER_ARITHMETIC = 4
"""MatMulNBits `accuracy_level`: rows of input are rounded to 8 bits, as the weights are."""
FUSED = "com.microsoft"


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


Matrix = Floats | Blocks


@dataclass(frozen=True)
class BertShape:
    """What the weights' own shapes do not tell."""

    layers: int
    heads: int
    epsilon: float


def to_blocks(matrix: Floats, bits: Bits) -> Blocks:
    """Round a matrix [rows, columns] to blocks, the largest of each block to the end of the range."""
    middle = 1 << (bits - 1)
    blocks = matrix.reshape(matrix.shape[0], -1, BLOCK)
    scales = np.abs(blocks).max(axis=-1) / (middle - 1)
    divisors = np.where(scales > 0, scales, 1)[..., None]
    codes = np.rint(blocks / divisors) + middle
    return Blocks(codes.astype(np.uint8).reshape(matrix.shape), scales.astype(np.float32), bits)


def save_model(path: Path, weights: Mapping[str, Matrix], shape: BertShape) -> None:
    """Write the graph of `weights`, named as in the Hugging Face BertModel, to `path`.

    Inputs `input_ids` and `attention_mask`, both int64 [batch, tokens]; output `embedding`, float32
    [batch, hidden], of length 1. Raises KeyError when a weight is absent.
    """
    import onnx

    onnx.save_model(_Graph(weights, shape).model(), str(path))


class _Graph:
    """Nodes and initializers, one method for each part of the encoder."""

    def __init__(self, weights: Mapping[str, Matrix], shape: BertShape):
        self._weights = weights
        self._shape = shape
        self._nodes: list[onnx.NodeProto] = []
        self._initializers: list[onnx.TensorProto] = []

    def model(self) -> "onnx.ModelProto":
        from onnx import TensorProto, helper

        ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "tokens"])
        mask = helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch", "tokens"])
        self._node("Cast", ["attention_mask"], "mask", to=TensorProto.INT32)
        hidden = self._embeddings()
        for layer in range(self._shape.layers):
            hidden = self._layer(f"encoder.layer.{layer}", hidden)
        self._pool(hidden)
        size = self._vector("embeddings.LayerNorm.bias").size
        output = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", size])
        graph = helper.make_graph(self._nodes, "bert", [ids, mask], [output], self._initializers)
        versions = [helper.make_opsetid("", 17), helper.make_opsetid(FUSED, 1)]
        return helper.make_model(graph, opset_imports=versions, ir_version=10, producer_name="footnote")

    def _embeddings(self) -> str:
        """Words plus positions plus the first token type, normalised."""
        words = self._rows("embeddings.word_embeddings.weight", "input_ids")
        kind = self._vector("embeddings.token_type_embeddings.weight")[0]
        self._constant("positions", self._vector("embeddings.position_embeddings.weight") + kind)
        self._constant("zero", np.array([0], np.int64))
        self._node("Shape", ["input_ids"], "length", start=1, end=2)
        self._node("Slice", ["positions", "zero", "length", "zero"], "placed")
        return self._norm("embeddings.LayerNorm", words, "placed")

    def _layer(self, name: str, hidden: str) -> str:
        attended = self._attention(f"{name}.attention", hidden)
        hidden = self._norm(f"{name}.attention.output.LayerNorm", attended, hidden)
        inner = self._linear(f"{name}.intermediate.dense", hidden)
        inner = self._node("Gelu", [inner], f"{name}.gelu", domain=FUSED)
        return self._norm(f"{name}.output.LayerNorm", self._linear(f"{name}.output.dense", inner), hidden)

    def _attention(self, name: str, hidden: str) -> str:
        parts = [self._linear(f"{name}.self.{part}", hidden) for part in ("query", "key", "value")]
        heads = self._shape.heads
        mixed = self._node(
            "MultiHeadAttention", [*parts, "", "mask"], f"{name}.mixed", domain=FUSED, num_heads=heads
        )
        return self._linear(f"{name}.output.dense", mixed)

    def _pool(self, hidden: str) -> None:
        """Sum over the real tokens, at length 1: the same direction as their mean."""
        from onnx import TensorProto

        self._node("Cast", ["attention_mask"], "weights", to=TensorProto.FLOAT)
        self._constant("one", np.array([1], np.int64))
        self._node("Unsqueeze", ["weights", "one"], "row")
        self._node("MatMul", ["row", hidden], "sums")
        self._node("Squeeze", ["sums", "one"], "sum")
        self._node("LpNormalization", ["sum"], "embedding", axis=-1, p=2)

    def _norm(self, name: str, hidden: str, skip: str) -> str:
        scale = self._constant(f"{name}.weight", self._vector(f"{name}.weight"))
        bias = self._constant(f"{name}.bias", self._vector(f"{name}.bias"))
        inputs = [hidden, skip, scale, bias]
        epsilon = self._shape.epsilon
        return self._node("SkipLayerNormalization", inputs, f"{name}.out", domain=FUSED, epsilon=epsilon)

    def _rows(self, name: str, ids: str) -> str:
        """Look up rows of a matrix."""
        matrix = self._weights[name]
        if not isinstance(matrix, Blocks):
            return self._node("Gather", [self._constant(name, matrix), ids], f"{name}.rows")
        codes = self._constant(f"{name}.codes", _packed(matrix))
        scales = self._constant(f"{name}.scales", matrix.scales)
        return self._node(
            "GatherBlockQuantized",
            [codes, ids, scales],
            f"{name}.rows",
            domain=FUSED,
            bits=matrix.bits,
            block_size=BLOCK,
            gather_axis=0,
            quantize_axis=1,
        )

    def _linear(self, name: str, hidden: str) -> str:
        """Return hidden @ weight.T + bias."""
        matrix = self._weights[f"{name}.weight"]
        bias = self._constant(f"{name}.bias", self._vector(f"{name}.bias"))
        if isinstance(matrix, Blocks):
            return self._linear_in_blocks(name, hidden, matrix, bias)
        weight = self._constant(f"{name}.weight", np.ascontiguousarray(matrix.T))
        product = self._node("MatMul", [hidden, weight], f"{name}.product")
        return self._node("Add", [product, bias], f"{name}.out")

    def _linear_in_blocks(self, name: str, hidden: str, matrix: Blocks, bias: str) -> str:
        rows, columns = matrix.codes.shape
        packed = _packed(matrix).reshape(rows, columns // BLOCK, -1)
        codes = self._constant(f"{name}.codes", packed)
        scales = self._constant(f"{name}.scales", matrix.scales)
        return self._node(
            "MatMulNBits",
            [hidden, codes, scales, "", "", bias],
            f"{name}.out",
            domain=FUSED,
            K=columns,
            N=rows,
            bits=matrix.bits,
            block_size=BLOCK,
            accuracy_level=INTEGER_ARITHMETIC,
        )

    def _vector(self, name: str) -> Floats:
        weight = self._weights[name]
        return weight.dense() if isinstance(weight, Blocks) else weight

    def _constant(self, name: str, array: NDArray[Any]) -> str:
        from onnx import numpy_helper

        self._initializers.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def _node(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        from onnx import helper

        self._nodes.append(helper.make_node(operator, inputs, [output], name=output, **attributes))
        return output


def _packed(matrix: Blocks) -> NDArray[np.uint8]:
    """Return the codes, at 4 bits two to a byte: [1, 2, 3, 4] -> [0x21, 0x43]."""
    if matrix.bits == 8:
        return matrix.codes
    return matrix.codes[:, 0::2] | (matrix.codes[:, 1::2] << np.uint8(4))
