"""DOCX by mammoth: headings, lists and tables become Markdown; equations become LaTeX."""

import zipfile
from pathlib import Path
from typing import BinaryIO, cast

from rag.loaders import archive
from rag.loaders.document import OPEN_XML, LoadedDocument
from rag.loaders.markdown import headings, title
from rag.loaders.markup import to_markdown


def read_docx(path: Path) -> LoadedDocument:
    """Read a Word document; of its pictures only their descriptions are kept."""
    import mammoth  # type: ignore[import-untyped]

    archive.inspect(path)
    with path.open("rb") as file:
        source = _with_equations(file) if _has_equations(path) else file
        pictures = mammoth.images.img_element(lambda _: {"src": ""})
        result = mammoth.convert_to_html(source, convert_image=pictures, include_embedded_style_map=False)
    text, _ = to_markdown(result.value)
    return LoadedDocument(text, (), title(text), OPEN_XML + "wordprocessingml.document", headings(text))


def _has_equations(path: Path) -> bool:
    with zipfile.ZipFile(path) as container:
        return any(
            b"<m:oMath" in container.read(name)
            for name in container.namelist()
            if name.startswith("word/") and name.endswith(".xml")
        )


def _with_equations(file: BinaryIO) -> BinaryIO:
    from markitdown.converter_utils.docx.pre_process import pre_process_docx  # a second to import

    return cast(BinaryIO, pre_process_docx(file))
