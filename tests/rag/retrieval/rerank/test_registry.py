from pathlib import Path

import pytest

from rag.factory import make_reranker
from rag.models import hub
from rag.retrieval.rerank import registry
from rag.retrieval.rerank.cross_encoder import CrossEncoderReranker
from rag.retrieval.rerank.registry import automatic_reranker
from rag.retrieval.rerank.remote import RemoteReranker
from rag.settings import Settings


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder of GPUs with one in it, and a torch that would use it."""
    (tmp_path / "0000:01:00.0").mkdir()
    monkeypatch.setattr(hub, "GPUS", tmp_path)
    monkeypatch.setattr(hub, "version", lambda _: "2.13.0+cu130")
    return tmp_path


def test_a_server_or_a_gpu_turns_reranking_on(gpu: Path):
    assert isinstance(make_reranker(Settings(rerank_base_url="http://127.0.0.1:9/v1"), None), RemoteReranker)
    assert isinstance(make_reranker(Settings(rerank_model="/models/mine"), None), CrossEncoderReranker)
    off = Settings(reranker="none", rerank_base_url="http://127.0.0.1:9/v1")
    assert make_reranker(off, None) is None


def test_without_them_it_is_off(monkeypatch: pytest.MonkeyPatch, gpu: Path):
    monkeypatch.setattr(registry, "in_hub_cache", lambda _: False)
    assert automatic_reranker(None, "") == "none", "2.3 GB are not downloaded unasked"
    monkeypatch.setattr(registry, "in_hub_cache", lambda _: True)
    assert automatic_reranker(None, "") == "cross-encoder"
    monkeypatch.setattr(hub, "version", lambda _: "2.13.0+cpu")
    assert automatic_reranker(None, "mine") == "none", "this torch does not use it"
    monkeypatch.setattr(hub, "version", lambda _: "2.13.0")
    next(gpu.iterdir()).rmdir()
    assert automatic_reranker(None, "mine") == "none"


def test_torch_is_not_looked_for_without_a_gpu(monkeypatch: pytest.MonkeyPatch, gpu: Path):
    looked: list[str] = []
    monkeypatch.setattr(hub, "version", lambda name: looked.append(name) or "2.13.0")
    assert hub.has_gpu() and looked == ["torch"]
    next(gpu.iterdir()).rmdir()
    assert not hub.has_gpu() and looked == ["torch"]
