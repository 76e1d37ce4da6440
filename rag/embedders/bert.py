"""A BERT graph in onnxruntime: the default embedder, without torch."""

from collections.abc import Sequence

import numpy as np

from rag.embedders.catalog import Model
from rag.embeddings import Embedder, Floats, Role

TOKENS_AT_ONCE = 2048
"""Of a run: attention over eight texts of 512 tokens would hold 150 MB, and keep it."""


class OnnxEmbedder(Embedder):
    """The graph of `onnx_bert` in a folder of the catalog; one session shared by all threads."""

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
        # Idle threads that spin take the processor from everyone else: beside other work a query takes
        # 9 ms without and 30 ms with it.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(
            str(model.directory / "model.onnx"), options, providers=["CPUExecutionProvider"]
        )
        self.dimension = int(self._session.get_outputs()[0].shape[1])

    def _vectors(self, texts: Sequence[str], role: Role) -> Floats:
        encoded = self._tokenizer.encode_batch_fast([self._prefixes[role] + text for text in texts])
        rows = [row.ids for row in encoded]
        size = max(1, TOKENS_AT_ONCE // max(map(len, rows)))
        return np.concatenate([self._run(rows[at : at + size]) for at in range(0, len(rows), size)])

    def _run(self, rows: Sequence[Sequence[int]]) -> Floats:
        ids = np.zeros((len(rows), max(map(len, rows))), np.int64)
        mask = np.zeros_like(ids)
        for number, row in enumerate(rows):
            ids[number, : len(row)] = row
            mask[number, : len(row)] = 1
        (vectors,) = self._session.run(["embedding"], {"input_ids": ids, "attention_mask": mask})
        return np.asarray(vectors, np.float32)
