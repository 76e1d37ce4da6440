"""What is embedded is written together, or after a second, and lost only where it was stopped."""

from collections.abc import Iterator

import numpy as np
import pytest

from rag.errors import Cancelled, EmbeddingError
from rag.index.chroma import AT_ONCE, PATIENCE, ChromaVectorStore, WriteBuffer
from tests.rag.index.by_angle import ByAngle

BATCH = 8


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def index() -> Iterator[ChromaVectorStore]:
    index = ChromaVectorStore(ByAngle())
    yield index
    index.close()


def give(gathered: WriteBuffer, first: int) -> None:
    numbers = range(first, first + BATCH)
    vectors = np.array([[1, number] for number in numbers], np.float32)
    gathered.add([str(number) for number in numbers], vectors, [{"document_id": "d"}] * BATCH)


def test_batches_are_written_together(index: ChromaVectorStore):
    with WriteBuffer(index, Clock()) as gathered:
        for first in range(0, AT_ONCE - BATCH, BATCH):
            give(gathered, first)
        assert index.count() == 0
        give(gathered, AT_ONCE - BATCH)
        assert index.count() == AT_ONCE
        give(gathered, AT_ONCE)
    assert index.ids() == {str(number) for number in range(AT_ONCE + BATCH)}
    assert index.vectors_of(["39"])["39"] == pytest.approx(np.array([1, 39]))


def test_what_takes_long_to_embed_is_written_as_it_comes(index: ChromaVectorStore):
    clock = Clock()
    with WriteBuffer(index, clock) as gathered:
        give(gathered, 0)
        assert index.count() == 0
        clock.now += PATIENCE
        give(gathered, BATCH)
        assert index.count() == 2 * BATCH
        give(gathered, 2 * BATCH)
        assert index.count() == 2 * BATCH


@pytest.mark.parametrize(("error", "kept"), [(EmbeddingError("It is down."), BATCH), (Cancelled("Stop."), 0)])
def test_what_a_failing_model_embedded_is_kept_and_what_is_stopped_is_embedded_again(
    index: ChromaVectorStore, error: Exception, kept: int
):
    with pytest.raises(type(error)), WriteBuffer(index, Clock()) as gathered:
        give(gathered, 0)
        raise error
    assert index.count() == kept
