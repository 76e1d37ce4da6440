"""ONNX graph of a BERT encoder, from token ids to unit vectors, built without torch.

It has fused operators of onnxruntime (domain com.microsoft). With integer weights, each token's activations
are rounded to 8 bits by their own largest value, so that a text's vector does not depend on the texts beside
it in the batch; one scale for a batch has a larger error (docs/developer/embeddings.md).
"""

from collections.abc import Mapping, Sequence
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
"""Columns that share a scale in Blocks."""
CHANNEL_MAX = 63
"""Largest code of a multiplied weight: 2 * 255 * 63 stays below 2**15, so that no sum of two products
saturates on processors without VNNI instructions (docs/developer/embeddings.md)."""


@dataclass(frozen=True)
class Blocks:
    """Quantized matrix [rows, columns]: weight = (code - 2**(bits - 1)) * scale of its block.

    `codes` uint8 [rows, columns] below 2**bits; `scales` float32 [rows, columns / 32].
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
    """Quantized matrix [rows, columns] with one scale a row: weight = code * scale of its row."""

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


ROW_MAX = 127
WORDS = "embeddings.word_embeddings.weight"
FUSED = "com.microsoft"


@dataclass(frozen=True)
class BertShape:
    """Layers, heads and epsilon of a BERT model."""

    layers: int
    heads: int
    epsilon: float


def quantized(weights: Mapping[str, Matrix]) -> dict[str, Matrix]:
    """Round the encoder's matrices row by row; the word table goes into blocks where it is not yet."""
    rounded = dict(weights)
    for name, matrix in weights.items():
        if name.startswith("encoder.") and (floats := dense(matrix)).ndim == 2:
            rounded[name] = to_channels(floats)
        elif name == WORDS and isinstance(matrix, np.ndarray):
            rounded[name] = to_blocks(matrix)
    return rounded


def save_model(path: Path, weights: Mapping[str, Matrix], shape: BertShape) -> None:
    """Write the graph of `weights`, named as in the Hugging Face BertModel, to `path`.

    Inputs `input_ids` and `attention_mask`, both int64 [batch, tokens]; output `embedding`, float32
    [batch, hidden], of length 1. Raises KeyError when a weight is absent.
    """
    import onnx

    onnx.save_model(_Graph(weights, shape).model(), str(path))


@dataclass(frozen=True)
class _Operand:
    """Names of a hidden state: as floats, and as uint8 codes with a scale per token."""

    floats: str
    codes: str
    scales: str


class _Graph:
    """Nodes and initializers, one method for each part of the encoder."""

    def __init__(self, weights: Mapping[str, Matrix], shape: BertShape):
        self._weights = weights
        self._shape = shape
        self._hidden = self._floats("embeddings.LayerNorm.bias").size
        self._nodes: list[onnx.NodeProto] = []
        self._initializers: list[onnx.TensorProto] = []

    def model(self) -> "onnx.ModelProto":
        from onnx import TensorProto, helper

        self._constants()
        self._sizes()
        self._node("Cast", ["attention_mask"], "mask", to=TensorProto.INT32)
        self._node("ReduceMin", ["mask"], "least", keepdims=0)
        self._node("Cast", ["least"], "whole", to=TensorProto.BOOL)  # no text is padded
        hidden = self._embeddings()
        for layer in range(self._shape.layers):
            hidden = self._layer(f"encoder.layer.{layer}", hidden)
        self._pool(hidden)
        tokens = ["batch", "tokens"]
        ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, tokens)
        mask = helper.make_tensor_value_info("attention_mask", TensorProto.INT64, tokens)
        output = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", self._hidden])
        graph = helper.make_graph(self._nodes, "bert", [ids, mask], [output], self._initializers)
        versions = [helper.make_opsetid("", 17), helper.make_opsetid(FUSED, 1)]
        return helper.make_model(graph, opset_imports=versions, ir_version=10, producer_name="footnote")

    def _constants(self) -> None:
        self._constant("first", np.array([0], np.int64))
        self._constant("second", np.array([1], np.int64))
        self._constant("unscaled", np.array(1, np.float32))
        self._constant("step", np.array(1 / ROW_MAX, np.float32))
        self._constant("unsigned_zero", np.array(ROW_MAX + 1, np.uint8))
        self._constant("signed_zero", np.array(0, np.int8))

    def _sizes(self) -> None:
        """Lay out hidden states: a row for each token of the batch, or texts apart, also thrice as wide."""
        self._constant("flat", np.array([-1, self._hidden], np.int64))
        self._constant("width", np.array([self._hidden], np.int64))
        self._constant("thrice", np.array([3 * self._hidden], np.int64))
        self._constant("line", np.array([-1], np.int64))
        self._node("Shape", ["input_ids"], "places")
        self._node("Concat", ["places", "width"], "apart", axis=0)
        self._node("Concat", ["places", "thrice"], "joined", axis=0)
        self._node("Reshape", ["input_ids", "line"], "all")
        self._node("Shape", ["all"], "count")
        self._node("ConstantOfShape", ["count"], "zeros", value=_tensor(np.array([ROW_MAX + 1], np.uint8)))

    def _embeddings(self) -> str:
        words = self._rows(WORDS, "input_ids")
        kind = self._floats("embeddings.token_type_embeddings.weight")[0]
        self._constant("positions", self._floats("embeddings.position_embeddings.weight") + kind)
        self._node("Shape", ["input_ids"], "length", start=1, end=2)
        self._node("Slice", ["positions", "first", "length", "first"], "placed")
        return self._flat(self._norm("embeddings.LayerNorm", words, "placed"))

    def _layer(self, name: str, hidden: str) -> str:
        attended = self._attention(f"{name}.attention", hidden)
        hidden = self._norm(f"{name}.attention.output.LayerNorm", attended, hidden)
        inner = self._linear(f"{name}.intermediate.dense", self._operand(hidden))
        inner = self._node("Gelu", [inner], f"{name}.gelu", domain=FUSED)
        outer = self._linear(f"{name}.output.dense", self._operand(inner))
        return self._norm(f"{name}.output.LayerNorm", outer, hidden)

    def _attention(self, name: str, hidden: str) -> str:
        """Attend to each other: one product gives queries, keys and values, side by side."""
        parts = [f"{name}.self.{part}" for part in ("query", "key", "value")]
        joined = side_by_side([self._weights[f"{part}.weight"] for part in parts])
        bias = np.concatenate([self._floats(f"{part}.bias") for part in parts])
        product = self._product(f"{name}.self", joined, self._operand(hidden))
        product = self._node("Reshape", [product, "joined"], f"{name}.apart")
        self._nodes.append(_node("Split", [product], [f"{part}.out" for part in parts], axis=-1))
        inputs = [*(f"{part}.out" for part in parts), self._constant(f"{name}.self.bias", bias)]
        return self._linear(f"{name}.output.dense", self._operand(self._flat(self._mixed(name, inputs))))

    def _mixed(self, name: str, inputs: list[str]) -> str:
        """Mix the values; where nothing is padded by a kernel that takes no mask, and a sixth less time."""
        branches = {}
        for branch, given in (("then_branch", inputs), ("else_branch", [*inputs, "mask"])):
            branches[branch] = self._branch(f"{name}.{branch}", given)
        return self._node("If", ["whole"], f"{name}.mixed", **branches)

    def _branch(self, name: str, inputs: list[str]) -> "onnx.GraphProto":
        from onnx import TensorProto, helper

        output = helper.make_tensor_value_info(f"{name}.mixed", TensorProto.FLOAT, None)
        heads = self._shape.heads
        mixing = _node("MultiHeadAttention", inputs, [output.name], domain=FUSED, num_heads=heads)
        return helper.make_graph([mixing], name, [], [output])

    def _flat(self, hidden: str) -> str:
        """Lay the tokens of all texts in rows below each other."""
        return self._node("Reshape", [hidden, "flat"], f"{hidden}.flat")

    def _pool(self, hidden: str) -> None:
        """Sum over the real tokens, at length 1: the same direction as their mean."""
        from onnx import TensorProto

        hidden = self._node("Reshape", [hidden, "apart"], "states")
        self._node("Cast", ["attention_mask"], "weights", to=TensorProto.FLOAT)
        self._node("Unsqueeze", ["weights", "second"], "row")
        self._node("MatMul", ["row", hidden], "sums")
        self._node("Squeeze", ["sums", "second"], "sum")
        self._node("LpNormalization", ["sum"], "embedding", axis=-1, p=2)

    def _norm(self, name: str, hidden: str, skip: str) -> str:
        """Normalise hidden + skip: two standard operators, faster than the fused one."""
        scale = self._constant(f"{name}.weight", self._floats(f"{name}.weight"))
        shift = self._constant(f"{name}.bias", self._floats(f"{name}.bias"))
        total = self._node("Add", [hidden, skip], f"{name}.sum")
        epsilon = self._shape.epsilon
        return self._node(
            "LayerNormalization", [total, scale, shift], f"{name}.out", axis=-1, epsilon=epsilon
        )

    def _rows(self, name: str, ids: str) -> str:
        matrix = self._weights[name]
        if not isinstance(matrix, Blocks):
            return self._node("Gather", [self._constant(name, self._floats(name)), ids], f"{name}.rows")
        codes = self._constant(f"{name}.codes", packed(matrix))
        scales = self._constant(f"{name}.scales", matrix.scales)
        layout = {"bits": matrix.bits, "block_size": BLOCK, "gather_axis": 0, "quantize_axis": 1}
        return self._node(
            "GatherBlockQuantized", [codes, ids, scales], f"{name}.rows", domain=FUSED, **layout
        )

    def _linear(self, name: str, operand: _Operand) -> str:
        """Return hidden @ weight.T + bias."""
        bias = self._constant(f"{name}.bias", self._floats(f"{name}.bias"))
        product = self._product(name, self._weights[f"{name}.weight"], operand)
        return self._node("Add", [product, bias], f"{name}.out")

    def _product(self, name: str, matrix: Matrix, operand: _Operand) -> str:
        if not isinstance(matrix, Channels):
            weight = self._constant(f"{name}.weight", dense(matrix).T)
            return self._node("MatMul", [operand.floats, weight], f"{name}.product")
        codes = self._constant(f"{name}.codes", matrix.codes.T)
        scales = self._constant(f"{name}.scales", matrix.scales)
        inputs = [operand.codes, codes, "unscaled", scales, "unsigned_zero", "signed_zero"]
        product = self._node("MatMulIntegerToFloat", inputs, f"{name}.whole", domain=FUSED)
        return self._node("Mul", [product, operand.scales], f"{name}.product")

    def _operand(self, hidden: str) -> _Operand:
        """Round each token's row by its largest value; nothing computes it where weights are floats.

        The product of a row of zeros is multiplied by its scale, 0, whatever it was rounded to.
        """
        self._node("Abs", [hidden], f"{hidden}.sizes")
        self._node("ReduceMax", [f"{hidden}.sizes"], f"{hidden}.largest", axes=[-1], keepdims=0)
        self._node("Mul", [f"{hidden}.largest", "step"], f"{hidden}.steps")
        self._node("QuantizeLinear", [hidden, f"{hidden}.steps", "zeros"], f"{hidden}.codes", axis=0)
        self._node("Unsqueeze", [f"{hidden}.steps", "second"], f"{hidden}.scales")
        return _Operand(hidden, f"{hidden}.codes", f"{hidden}.scales")

    def _floats(self, name: str) -> Floats:
        return dense(self._weights[name])

    def _constant(self, name: str, array: NDArray[Any]) -> str:
        self._initializers.append(_tensor(array, name))
        return name

    def _node(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self._nodes.append(_node(operator, inputs, [output], **attributes))
        return output


def _node(operator: str, inputs: list[str], outputs: list[str], **attributes: Any) -> "onnx.NodeProto":
    from onnx import helper

    return helper.make_node(operator, inputs, outputs, name=outputs[0], **attributes)


def _tensor(array: NDArray[Any], name: str | None = None) -> "onnx.TensorProto":
    from onnx import numpy_helper

    return numpy_helper.from_array(np.ascontiguousarray(array), name)
