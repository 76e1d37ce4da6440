"""Comments in Word files: at the words they are about, in files of any making."""

import io
from pathlib import Path

import docx
import pytest

from rag.chat.check_export import CHECK_MEDIA_TYPES, to_docx
from rag.chat.check_text import CheckedStatement, CheckedText
from rag.errors import DocumentRefused
from rag.ingest.parsers.docx_comments import Annotation, comment_on


@pytest.fixture
def draft(tmp_path: Path) -> Path:
    document = docx.Document()
    document.add_paragraph("It rained. It rained.")
    document.add_paragraph("The sun shone.", style="List Number")
    path = tmp_path / "draft.docx"
    document.save(str(path))
    return path


def test_equal_sentences_get_a_comment_each_in_their_order(draft: Path):
    made = comment_on(draft, "draft.docx", [Annotation("It rained.", "one"), Annotation("It rained.", "two")])
    back = docx.Document(io.BytesIO(made))
    paragraph = back.paragraphs[0]
    marks = [child.tag.rpartition("}")[2] for child in paragraph._p]
    assert [one.text for one in back.comments] == ["one", "two"]
    assert [run.text for run in paragraph.runs if run.text.strip()] == ["It rained.", "It rained."]
    assert marks.index("commentRangeEnd") < len(marks) - 1 - marks[::-1].index("commentRangeStart")


def test_the_label_of_an_item_need_not_be_in_its_words(draft: Path):
    back = docx.Document(io.BytesIO(comment_on(draft, "draft.docx", [Annotation("a) The sun shone.", "x")])))
    assert "commentRangeStart" in back.paragraphs[1]._p.xml and [one.text for one in back.comments] == ["x"]


def test_words_that_are_not_there_are_told_at_the_first_words(draft: Path):
    back = docx.Document(io.BytesIO(comment_on(draft, "draft.docx", [Annotation("It snowed.", "x")])))
    assert [one.text for one in back.comments] == ["“It snowed.”: x"]


def test_a_file_that_takes_no_comments_becomes_a_new_one_that_says_so(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(DocumentRefused, match=r"^a\.docx "):
        comment_on(tmp_path / "file", "a.docx", [])
    one = CheckedStatement(1, "It rained.", 0, 10, "not found")
    checked = CheckedText("a.docx", "It rained.", ((0, 10),), (one,), media_type=CHECK_MEDIA_TYPES["docx"])
    made = to_docx(checked, b"PK\x03\x04 nothing")
    back = docx.Document(io.BytesIO(made.content))
    assert made.note.startswith("The file could not be commented in place")
    assert [paragraph.text for paragraph in back.paragraphs] == [made.note, "It rained."]
    assert [one.text for one in back.comments] == ["Not found in your documents"]
