"""Weights as whole numbers with scales."""

import numpy as np

from rag.models.packaged.onnx_bert import Blocks, side_by_side, to_blocks, to_channels


def test_a_block_is_code_minus_middle_times_scale() -> None:
    codes = np.full((1, 32), 11, np.uint8)
    assert Blocks(codes, np.array([[0.5]], np.float32), 4).dense().tolist() == [[1.5] * 32]


def test_a_channel_has_one_scale_a_row() -> None:
    channels = to_channels(np.array([[-4, 1], [0, 0]], np.float32))
    assert channels.codes.tolist() == [[-63, 16], [0, 0]]
    assert np.allclose(channels.dense(), [[-4, 1.0159], [0, 0]], atol=1e-4)


def test_rounding_to_blocks_loses_at_most_half_a_step() -> None:
    matrix = np.random.default_rng(3).normal(size=(5, 64)).astype(np.float32)
    blocks = to_blocks(matrix)
    step = np.repeat(blocks.scales, 32, axis=1)
    assert (np.abs(blocks.dense() - matrix) <= step * 0.5001).all()


def test_matrices_side_by_side_are_multiplied_as_one() -> None:
    first, second = np.ones((2, 4), np.float32), np.full((1, 4), -3, np.float32)
    joined = side_by_side([to_channels(first), to_channels(second)])
    assert not isinstance(joined, np.ndarray)
    assert joined.dense().tolist() == [[1.0] * 4, [1.0] * 4, [-3.0] * 4]
    assert np.array_equal(side_by_side([first, to_channels(second)]), joined.dense())
