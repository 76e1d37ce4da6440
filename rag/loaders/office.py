"""DOCX by mammoth: headings, lists and tables become Markdown; equations become a line of text."""

import zipfile
from pathlib import Path

from rag.loaders import archive
from rag.loaders.document import OPEN_XML, LoadedDocument
from rag.loaders.equations import with_equations
from rag.loaders.markdown import headings, title
from rag.loaders.markup import to_markdown


def read_docx(path: Path) -> LoadedDocument:
    """Read a Word document; of its pictures only their descriptions are kept."""
    import mammoth  # type: ignore[import-untyped]

    archive.inspect(path)
    pictures = mammoth.images.img_element(lambda _: {"src": ""})
    with with_equations(path) if _has_equations(path) else path.open("rb") as file:
        result = mammoth.convert_to_html(file, convert_image=pictures, include_embedded_style_map=False)
    text, _ = to_markdown(result.value)
    return LoadedDocument(text, (), title(text), OPEN_XML + "wordprocessingml.document", headings(text))


def _has_equations(path: Path) -> bool:
    with zipfile.ZipFile(path) as container:
        return b"<m:oMath" in container.read("word/document.xml")
