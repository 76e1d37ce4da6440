"""A BERT graph in onnxruntime: the default embedder, without torch."""

import os
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from rag.models.embeddings import Embedder, Floats, Role
from rag.models.packaged.catalog import Model

TOKENS_AT_ONCE = 256
"""Of a run: what it computes stays in a core's own cache. A token takes 0.12 ms in a run of 256, 0.2 ms in
one of a thousand, 0.15 ms in one of 32."""
CORES = os.cpu_count() or 1
ASKING = 2.0
"""Seconds after a question in which passages leave a core to whoever asked: finding and checking go on."""


class OnnxEmbedder(Embedder):
    """The graph of `onnx_bert` in a folder of the catalog; one session shared by all threads.

    A run keeps to one core, and the texts of a batch are shared out among the cores: two that work on one
    short question wait for each other longer than they work. While someone asks, one core is left to them.
    """

    def __init__(self, model: Model):
        import onnxruntime
        from tokenizers import Tokenizer

        self.name, self.fingerprint = model.name, model.fingerprint
        self._prefixes = {"query": model.known.query_prefix, "passage": model.known.passage_prefix}
        self._tokenizer = Tokenizer.from_file(str(model.directory / "tokenizer.json"))
        self._tokenizer.enable_truncation(model.known.max_tokens)
        self._tokenizer.no_padding()
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            str(model.directory / "model.onnx"), options, providers=["CPUExecutionProvider"]
        )
        self._cores = ThreadPoolExecutor(CORES, thread_name_prefix="embed")
        self._fewer = ThreadPoolExecutor(max(1, CORES - 1), thread_name_prefix="embed")
        self._asked = -ASKING
        self.dimension = int(self._session.get_outputs()[0].shape[1])

    def _vectors(self, texts: Sequence[str], role: Role) -> Floats:
        if role == "query":
            self._asked = time.monotonic()
        rows = [row.ids for row in self._encoded([self._prefixes[role] + text for text in texts])]
        size = max(1, min(-(-len(rows) // CORES), TOKENS_AT_ONCE // max(map(len, rows))))
        parts = [rows[at : at + size] for at in range(0, len(rows), size)]
        return self._run(rows) if len(parts) == 1 else np.concatenate(list(self._shared_out(parts)))

    def _encoded(self, texts: Sequence[str]) -> Iterable[Any]:
        """Cut texts into tokens: one text without letting go of the interpreter, which others would take."""
        if len(texts) == 1:
            return [self._tokenizer.encode(texts[0])]
        return self._tokenizer.encode_batch_fast(texts)

    def _shared_out(self, parts: Sequence[Sequence[Sequence[int]]]) -> Iterable[Floats]:
        """Embed parts on all cores, or on all but one while someone asks."""
        if time.monotonic() - self._asked > ASKING:
            return self._cores.map(self._run, parts)
        return self._fewer.map(self._run, parts) if CORES > 2 else map(self._run, parts)

    def _run(self, rows: Sequence[Sequence[int]]) -> Floats:
        ids = np.zeros((len(rows), max(map(len, rows))), np.int64)
        mask = np.zeros_like(ids)
        for number, row in enumerate(rows):
            ids[number, : len(row)] = row
            mask[number, : len(row)] = 1
        (vectors,) = self._session.run(["embedding"], {"input_ids": ids, "attention_mask": mask})
        return np.asarray(vectors, np.float32)
