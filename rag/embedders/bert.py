"""A BERT graph in onnxruntime: the default embedder, without torch."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from rag.embedders.catalog import Model
from rag.embeddings import Embedder, Floats, Role

TOKENS_AT_ONCE = 2048
"""Of a run: attention over eight texts of 512 tokens would hold 150 MB, and keep it."""
CORES = os.cpu_count() or 1


class OnnxEmbedder(Embedder):
    """The graph of `onnx_bert` in a folder of the catalog; one session shared by all threads.

    A run keeps to one core, and the texts of a batch are shared out among the cores: two that work on one
    short question wait for each other longer than they work.
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
        self.dimension = int(self._session.get_outputs()[0].shape[1])

    def _vectors(self, texts: Sequence[str], role: Role) -> Floats:
        encoded = self._tokenizer.encode_batch_fast([self._prefixes[role] + text for text in texts])
        rows = [row.ids for row in encoded]
        size = max(1, min(-(-len(rows) // CORES), TOKENS_AT_ONCE // max(map(len, rows))))
        parts = [rows[at : at + size] for at in range(0, len(rows), size)]
        return self._run(rows) if len(parts) == 1 else np.concatenate(list(self._cores.map(self._run, parts)))

    def _run(self, rows: Sequence[Sequence[int]]) -> Floats:
        ids = np.zeros((len(rows), max(map(len, rows))), np.int64)
        mask = np.zeros_like(ids)
        for number, row in enumerate(rows):
            ids[number, : len(row)] = row
            mask[number, : len(row)] = 1
        (vectors,) = self._session.run(["embedding"], {"input_ids": ids, "attention_mask": mask})
        return np.asarray(vectors, np.float32)
