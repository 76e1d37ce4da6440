"""Hostile files through the front door: each ends as text or as a sentence, and the next one is read."""

import re
from pathlib import Path

import pytest

from rag.errors import DocumentRefused
from rag.ingest.parsers import load, load_steps, run_to_end
from tests.hostile.hostile_files import FILES

REFUSED = {
    "xlsx bomb": "unpacks to more than 300 MB",
    "odt bomb": "unpacks to more than 300 MB",
    "docx that lies about its size": "cannot be unpacked",
    "odt of a billion laughs": "declares XML entities",
    "ods that reads a file": "declares XML entities",
    "odt whose styles laugh": "declares XML entities",
    "docx of deep controls": "nested too deeply",
    "pptx of deep groups": "nested too deeply",
    "odt of deep lists": "no sound XML|nested too deeply",
    "odt of deep spans": "no sound XML|nested too deeply",
    "png of sixty thousand squared": "larger than 100 megapixels",
    "png of two billion": "larger than 100 megapixels",
    "bmp of two billion": "larger than 100 megapixels",
    "tiff in a circle": "is an image, and nothing here reads",
    "webp of its head": "cannot be opened as an image",
    "pdf whose pages are each other": "holds no text|damaged",
    "pdf with a bomb for a page": "holds no text",
    "pdf locked in a way nobody knows": "cannot be opened as a PDF. Save it again",
    "hwp bomb": "unpacks to more than 300 MB",
    "hwp of deep tables": "nested too deeply",
    "ole in a circle": "damaged",
    "hwpx of a billion laughs": "declares XML entities",
    "hwpx of deep tables": "nested too deeply",
    "rtf of deep groups": "nested too deeply",
    "zip of a thousand copies of itself": "holds nothing that can be read",
    "gzip": "is a gzip archive",
    "tar that climbs out": "is not text",
    "program": "is a program",
    "old Word": "its OLE container cannot be opened",
    "odt cut": "cannot be opened",
    "epub cut": "cannot be opened",
    "pptx without slides' text": "is damaged",
}
NOT_WORDS = ["mail of broken base64"]  # what it holds is no text that anybody wrote


@pytest.mark.parametrize("case", FILES)
def test_a_hostile_file_ends_as_text_or_as_a_sentence(tmp_path: Path, case: str) -> None:
    name, make = FILES[case]
    make(tmp_path / "0a1b")
    try:
        text = run_to_end(load_steps(tmp_path / "0a1b", name, tesseract="no-such-program")).text
    except DocumentRefused as refused:
        assert re.search(REFUSED[case], str(refused))
        assert str(refused).startswith(f"{name} ")
        assert str(refused).endswith(".")
    else:
        assert case not in REFUSED
        assert "harbour" in text or case in NOT_WORDS
        assert "root:" not in text  # of /etc/passwd
        assert not re.search("[\x00\ud800-\udfff]", text)
    assert [file.name for file in tmp_path.iterdir()] == ["0a1b"]


def test_after_all_of_them_a_good_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "good").write_text("The harbour opened in 1887.")
    assert load(tmp_path / "good", "good.txt").text == "The harbour opened in 1887."
