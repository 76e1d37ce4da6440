"""LangChain's loaders over the app's own parsers: TextLoader and DirectoryLoader, with load and lazy_load."""

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document

from rag.errors import DocumentRefused
from rag.ingest.parsers import load
from rag.ingest.paths import iter_files, path_text

log = logging.getLogger(__name__)


class TextLoader(BaseLoader):
    """Loader of one file of any kind that the app reads, as one document with its text.

    Metadata have the "source". The encoding is found by the content, unless `encoding` names it. Files are
    parsed in a child process with limits. Raises DocumentRefused.
    """

    def __init__(self, file_path: str | Path, encoding: str | None = None, autodetect_encoding: bool = False):
        self.file_path = file_path
        self.encoding = encoding
        self.autodetect_encoding = autodetect_encoding  # always so without an encoding

    def lazy_load(self) -> Iterator[Document]:
        """Yield the file's document."""
        path = Path(self.file_path)
        yield Document(_text(path, self.encoding), metadata={"source": str(self.file_path)})


class DirectoryLoader(BaseLoader):
    """Loader of the files below a folder, each as one document; hidden files are left out.

    Links that lead out of the folder are not followed. `glob` and `exclude` are patterns of paths below the
    folder. A file that cannot be read fails the load, or is left out with `silent_errors`, and logged.
    """

    def __init__(
        self,
        path: str | Path,
        glob: str | Sequence[str] = "**/[!.]*",
        silent_errors: bool = False,
        recursive: bool = False,
        *,
        exclude: str | Sequence[str] = (),
    ):
        self.path = Path(path)
        self.glob = [glob] if isinstance(glob, str) else list(glob)
        self.exclude = [exclude] if isinstance(exclude, str) else list(exclude)
        self.silent_errors = silent_errors
        self.recursive = recursive

    def lazy_load(self) -> Iterator[Document]:
        """Yield the documents, in the order of their paths."""
        wanted = self._wanted()
        for found in iter_files([self.path]):
            if found.outside or found.path not in wanted:
                continue
            try:
                yield from TextLoader(found.path).lazy_load()
            except DocumentRefused as error:
                if not self.silent_errors:
                    raise
                log.warning("%s %s", found.name, error)

    def _wanted(self) -> set[Path]:
        """Return the paths that match a pattern of `glob` and none of `exclude`."""
        search = self.path.rglob if self.recursive else self.path.glob
        matched = {path for pattern in self.glob for path in search(pattern)}
        return {path for path in matched if not any(path.match(pattern) for pattern in self.exclude)}


def _text(path: Path, encoding: str | None) -> str:
    if encoding is None:
        return load(path, path_text(Path(path.name))).text
    try:
        return path.read_text(encoding=encoding)
    except (UnicodeDecodeError, LookupError) as error:
        raise DocumentRefused(f"is not written in {encoding} ({error}). Leave the encoding out.") from error
