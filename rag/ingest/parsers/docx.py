"""DOCX by mammoth: headings, lists and tables become Markdown; comments stand at the end."""

import zipfile
from pathlib import Path

from rag.ingest.parsers import archive
from rag.ingest.parsers.comments import comments
from rag.ingest.parsers.html import to_markdown
from rag.ingest.parsers.word import DOCUMENT, readable
from rag.text.document import OPEN_XML, LoadedDocument, clean
from rag.text.markdown import headings, title

_STYLES = "p[style-name='Title'] => h1:fresh"  # mammoth knows only the numbered ones as headings


def read_docx(path: Path) -> LoadedDocument:
    """Read a Word document; of its pictures only their descriptions are kept."""
    import mammoth  # type: ignore[import-untyped]

    archive.inspect(path)
    pictures = mammoth.images.img_element(lambda _: {"src": ""})
    with readable(path) as file, zipfile.ZipFile(path) as container:
        result = mammoth.convert_to_html(
            file, style_map=_STYLES, convert_image=pictures, include_embedded_style_map=False
        )
        said = [to_markdown(result.value)[0], *comments(container, DOCUMENT)]
    text = clean("\n\n".join(filter(None, said)))
    return LoadedDocument(text, (), title(text), OPEN_XML + "wordprocessingml.document", headings(text))
