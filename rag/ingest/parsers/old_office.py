"""Old Office files (.doc, .xls, .ppt): LibreOffice converts them, where it is installed."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from rag.errors import DocumentRefused
from rag.i18n import N_
from rag.ingest.parsers import sandbox
from rag.ingest.parsers.ole import open_ole, stream
from rag.text.document import LOCKED, LoadedDocument, shown

PROGRAM = "soffice"
MACOS_PATH = "/Applications/LibreOffice.app/Contents/MacOS/soffice"
_WORD_LOCKED = 1 << 8  # flag in the header of WordDocument
_PASSWORD_RECORD = b"\x2f\0"  # of a workbook, after its first record
_SLIDES_LOCKED = bytes.fromhex("dfc4d1f3")  # of the stream that names the last edit
# Nothing is run and nothing is fetched: macros, links of documents, updates, Java.
_SETTINGS = {
    "/org.openoffice.Office.Common/Security/Scripting": {
        "DisableMacrosExecution": "true",
        "MacroSecurityLevel": "3",
        "DisableActiveContent": "true",
        "BlockUntrustedRefererLinks": "true",
    },
    "/org.openoffice.Office.Calc/Content/Update": {"Link": "2"},
    "/org.openoffice.Office.Writer/Content/Update": {"Link": "2"},
    "/org.openoffice.Office.Java/VirtualMachine": {"Enable": "false"},
}
_ITEM = '<item oor:path="{path}"><prop oor:name="{name}" oor:op="fuse"><value>{value}</value></prop></item>'
_PROFILE = (
    '<?xml version="1.0" encoding="UTF-8"?><oor:items xmlns:oor="http://openoffice.org/2001/registry">'
    "{items}</oor:items>"
)


def read_doc(path: Path) -> LoadedDocument:
    """Return what a Word document of before 2007 has to become."""
    with open_ole(path) as container:
        header = (stream(container, "WordDocument") or b"")[:12]
    return _convertible("application/msword", "docx", bool(header[10:] and header[11] << 8 & _WORD_LOCKED))


def read_xls(path: Path) -> LoadedDocument:
    """Return what an Excel workbook of before 2007 has to become."""
    with open_ole(path) as container:
        book = stream(container, "Workbook") or stream(container, "Book") or b""
    second = 4 + int.from_bytes(book[2:4], "little")
    return _convertible("application/vnd.ms-excel", "xlsx", book[second : second + 2] == _PASSWORD_RECORD)


def read_ppt(path: Path) -> LoadedDocument:
    """Return what a presentation of before 2007 has to become."""
    with open_ole(path) as container:
        user = stream(container, "Current User") or b""
    return _convertible("application/vnd.ms-powerpoint", "pptx", user[12:16] == _SLIDES_LOCKED)


def _convertible(media_type: str, suffix: str, is_locked: bool) -> LoadedDocument:
    if is_locked:
        raise DocumentRefused(LOCKED)
    return LoadedDocument("", media_type=media_type, convertible=suffix)


@contextmanager
def converted(
    path: Path, name: str, suffix: str, program: str, *, timeout: float, memory: int
) -> Iterator[Path]:
    """Convert an old Office file, in a profile folder of its own that ends with it."""
    command = shutil.which(program) or shutil.which(MACOS_PATH)
    if command is None:
        raise DocumentRefused(
            N_(
                "{name} is an old Office file, which LibreOffice has to convert. Install LibreOffice "
                "where Footnote runs, or save it as .{suffix}.",
                name=shown(name),
                suffix=suffix,
            )
        )
    with TemporaryDirectory(prefix="footnote-") as folder:
        source, home = Path(folder) / f"document.{suffix[:-1]}", Path(folder) / "profile"
        shutil.copyfile(path, source)
        (home / "user").mkdir(parents=True)
        (home / "user" / "registrymodifications.xcu").write_text(_profile(), "utf-8")
        arguments = ("--headless", "--norestore", "--nolockcheck", "--convert-to", suffix, "--outdir", folder)
        sandbox.run_converter(
            [command, f"-env:UserInstallation={home.as_uri()}", *arguments, str(source)],
            shown(name),
            home=Path(folder),
            timeout=timeout,
            memory=memory,
        )
        result = source.with_suffix(f".{suffix}")
        if not result.is_file():
            raise DocumentRefused(N_("{name} is damaged: LibreOffice cannot open it.", name=shown(name)))
        yield result


def _profile() -> str:
    items = (
        _ITEM.format(path=path, name=name, value=value)
        for path, values in _SETTINGS.items()
        for name, value in values.items()
    )
    return _PROFILE.format(items="".join(items))
