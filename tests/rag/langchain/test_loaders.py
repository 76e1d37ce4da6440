from pathlib import Path

import pytest
from langchain_community.document_loaders import DirectoryLoader as TheirDirectory
from langchain_community.document_loaders import TextLoader as TheirText

from rag.errors import DocumentRefused
from rag.langchain import DirectoryLoader, TextLoader
from tests.rag.ingest.parsers.makers import SENTENCES


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "more" / "deep").mkdir(parents=True)
    for name, text in {
        "a.txt": SENTENCES["en"],
        "more/b.txt": SENTENCES["ko"],
        "more/deep/c.md": SENTENCES["ja"],
        ".hidden.txt": "hidden",
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("name", ["a.txt", "more/b.txt", "more/deep/c.md"])
def test_a_text_is_loaded_as_langchain_loads_it(folder: Path, name: str):
    theirs = TheirText(folder / name, encoding="utf-8").load()
    for loader in (TextLoader(folder / name), TextLoader(folder / name, encoding="utf-8")):
        assert loader.load() == list(loader.lazy_load()) == theirs


def test_an_encoding_is_found_or_named(tmp_path: Path):
    path = tmp_path / "ko.txt"
    path.write_bytes((SENTENCES["ko"] * 3).encode("cp949"))
    assert TextLoader(path).load()[0].page_content == SENTENCES["ko"] * 3
    assert TextLoader(path, encoding="cp949").load()[0].page_content == SENTENCES["ko"] * 3
    with pytest.raises(DocumentRefused, match="utf-8"):
        TextLoader(path, encoding="utf-8").load()


@pytest.mark.parametrize(
    "options",
    [{}, {"glob": "**/*.txt"}, {"glob": ["*.txt"]}, {"exclude": ["*.md"]}, {"glob": "more/*.txt"}],
    ids=str,
)
def test_a_folder_is_loaded_as_langchain_loads_it(folder: Path, options: dict):
    theirs = TheirDirectory(str(folder), loader_cls=TheirText, **options).load()
    found = DirectoryLoader(folder, **options).load()
    assert sorted(found, key=str) == sorted(theirs, key=str) != []


def test_what_cannot_be_read_fails_or_is_left_out(folder: Path):
    (folder / "program.exe").write_bytes(b"MZ\0\0" * 100)
    with pytest.raises(DocumentRefused):
        DirectoryLoader(folder).load()
    assert len(DirectoryLoader(folder, silent_errors=True).load()) == 3


def test_links_that_lead_out_are_not_followed(folder: Path, tmp_path_factory: pytest.TempPathFactory):
    secret = tmp_path_factory.mktemp("other") / "secret.txt"
    secret.write_text("secret")
    (folder / "link.txt").symlink_to(secret)
    assert "secret" not in [each.page_content for each in DirectoryLoader(folder).load()]
