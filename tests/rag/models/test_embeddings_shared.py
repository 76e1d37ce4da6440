"""Embedding models that are open: once each, and no longer than someone holds them."""

import gc
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from rag.errors import ModelUnavailable
from rag.models.embeddings import Embedder, SharedEmbedders
from tests.rag.word_vectors import WordVectors

CACHE = Path("/nowhere")


class Opening:
    """Opens models slowly, and counts."""

    def __init__(self) -> None:
        self.opened: list[str] = []

    def __call__(self, spec: str, **_: Any) -> Embedder:
        self.opened.append(spec)
        time.sleep(0.05)
        if spec == "none":
            raise ModelUnavailable("There is none such.")
        return WordVectors(spec)


def test_all_who_ask_at_once_get_the_same_model_opened_once():
    opening, models, got = Opening(), list[Embedder](), list[threading.Thread]()
    opened = SharedEmbedders(open_model=opening)
    for _ in range(8):
        got.append(threading.Thread(target=lambda: models.append(opened("words", cache=CACHE))))
        got[-1].start()
    for thread in got:
        thread.join()
    assert opening.opened == ["words"] and len({id(model) for model in models}) == 1


def test_models_that_differ_in_anything_are_different():
    opened = SharedEmbedders(open_model=Opening())
    one = opened("words", cache=CACHE)
    assert one is not opened("other", cache=CACHE)
    assert one is not opened("words", cache=CACHE, base_url="http://127.0.0.1/v1")
    assert one is not opened("words", cache=CACHE, api_key="another")


def test_a_model_that_nobody_holds_is_let_go():
    opening = Opening()
    opened = SharedEmbedders(open_model=opening)
    held = opened("words", cache=CACHE)
    opened("words", cache=CACHE)
    del held
    gc.collect()
    opened("words", cache=CACHE)
    assert opening.opened == ["words", "words"]


def test_one_that_cannot_be_opened_is_tried_again():
    opened = SharedEmbedders(open_model=Opening())
    for _ in range(2):
        with pytest.raises(ModelUnavailable):
            opened("none", cache=CACHE)
