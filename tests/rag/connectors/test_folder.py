"""A folder as a source: what is in it by its rules, whatever its files are called and however they behave."""

import os
import socket
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError

from rag.connectors.base import Checkpoint, Item, Listed, Unreadable
from rag.connectors.folder import FolderSettings, FolderSource, matcher
from rag.errors import ItemFailed, SourceError
from rag.i18n import in_language, translated

Make = Callable[..., FolderSource]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "papers"
    made.mkdir()
    return made


@pytest.fixture
def source(folder: Path) -> Make:
    return lambda **given: FolderSource(FolderSettings(path=str(folder), **given))


def put(path: Path, text: str = "text") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def listed(source: FolderSource, cursor: str | None = None) -> list[Listed]:
    return list(source.list(cursor))


def names(source: FolderSource) -> list[str]:
    return [one.name for one in source.list() if isinstance(one, Item)]


def item(source: FolderSource, name: str) -> Item:
    return next(one for one in source.list() if isinstance(one, Item) and one.name == name)


def content(source: FolderSource, name: str) -> bytes:
    return b"".join(source.fetch(item(source, name)))


def test_files_are_listed_by_their_paths_below_the_folder_and_read(folder: Path, source: Make):
    put(folder / "b.txt", "둘")
    put(folder / "a" / "b" / "c.txt", "three")
    assert names(source()) == ["a/b/c.txt", "b.txt"]
    assert content(source(), "b.txt") == "둘".encode()
    assert content(source(), "a/b/c.txt") == b"three"
    assert listed(source())[-1] == Checkpoint('["", "a/b"]', whole=True)


def test_the_test_says_what_was_reached(folder: Path, source: Make):
    put(folder / "a.txt")
    assert source().test() == f"{folder} has 1 file."
    put(folder / "b.txt")
    assert source().test() == f"{folder} has 2 files."
    with in_language("ko"):
        assert translated(source().test()) == f"{folder}: 파일이 2개 있습니다."


def test_a_file_has_another_version_when_it_changes(folder: Path, source: Make):
    path = put(folder / "a.txt", "before")
    first = item(source(), "a.txt")
    assert item(source(), "a.txt") == first
    path.write_text("after!")  # as long as before
    assert item(source(), "a.txt").version != first.version
    second = item(source(), "a.txt")
    put(folder / "new", "after!")
    os.utime(folder / "new", ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    (folder / "new").replace(path)
    assert item(source(), "a.txt").version != second.version


@pytest.mark.parametrize(
    ("glob", "meant"),
    [
        (["*.pdf"], ["a.PDF", "x/b.pdf", "x/y/c.pdf"]),
        (["**/*.pdf"], ["a.PDF", "x/b.pdf", "x/y/c.pdf"]),
        (["x/*"], ["x/b.pdf"]),
        (["x/**"], ["x/b.pdf", "x/y/c.pdf"]),
        (["x/"], ["x/b.pdf", "x/y/c.pdf"]),
        (["./x/*/?.pdf"], ["x/y/c.pdf"]),
        (["**/y/**/*.pdf"], ["x/y/c.pdf"]),
        (["[최종].txt", "*.PDF"], ["[최종].txt", "a.PDF", "x/b.pdf", "x/y/c.pdf"]),
        (["각*.md"], ["각주.md"]),
        ([], ["[최종].txt", "a.PDF", "x/b.pdf", "x/y/c.pdf", "각주.md"]),
    ],
)
def test_patterns_choose_files(folder: Path, source: Make, glob: list[str], meant: list[str]):
    decomposed = unicodedata.normalize("NFD", "각주.md")
    for name in ("a.PDF", "x/b.pdf", "x/y/c.pdf", "[최종].txt", decomposed):
        put(folder / name)
    assert sorted(names(source(glob=glob))) == sorted(meant)


def test_a_pattern_of_many_stars_takes_no_time():
    assert not matcher(["*a" * 50 + "b", "**/" * 50 + "b"])("a" * 200 + "/" + "a/" * 100 + "c")


def test_hidden_files_are_passed_over_unless_they_are_asked_for(folder: Path, source: Make):
    for name in (".env", ".git/config", "~$a.docx", "Thumbs.db", "a.docx"):
        put(folder / name)
    assert names(source()) == ["a.docx"]
    assert len(names(source(hidden=True))) == 5


def test_links_are_followed_only_where_asked_and_only_inside(folder: Path, source: Make, tmp_path: Path):
    put(tmp_path / "outside" / "secret.txt", "secret")
    put(folder / "real" / "a.txt")
    (folder / "file").symlink_to(folder / "real" / "a.txt")
    (folder / "inside").symlink_to("real")
    (folder / "out").symlink_to(tmp_path / "outside")
    (folder / "out.txt").symlink_to(tmp_path / "outside" / "secret.txt")
    (folder / "circle").symlink_to(".")
    (folder / "nowhere").symlink_to("missing")
    assert names(source()) == ["real/a.txt"]
    linked = source(links=True)
    assert names(linked) == ["file", "inside/a.txt", "real/a.txt"]
    assert content(linked, "inside/a.txt") == b"text"


@pytest.mark.parametrize("links", [False, True])
@pytest.mark.parametrize("swapped", ["a", "a/b.txt"])
def test_a_link_put_there_after_the_listing_leads_nowhere(
    folder: Path, source: Make, tmp_path: Path, links: bool, swapped: str
):
    put(folder / "a" / "b.txt")
    secret = put(tmp_path / "outside" / "b.txt", "secret")
    known = item(source(links=links), "a/b.txt")
    (folder / swapped).rename(tmp_path / "away")
    (folder / swapped).symlink_to(secret if swapped.endswith("txt") else secret.parent)
    with pytest.raises(ItemFailed, match=r"a/b\.txt cannot be read"):
        list(source(links=links).fetch(known))


@pytest.mark.parametrize(
    "id_", ["../outside.txt", "/etc/passwd", "a/../../outside.txt", "", ".", "%2e%2e/outside.txt"]
)
def test_an_id_that_leads_out_is_not_read(folder: Path, source: Make, tmp_path: Path, id_: str):
    put(tmp_path / "outside.txt", "secret")
    put(folder / "a" / "b.txt")
    for links in (False, True):
        with pytest.raises(ItemFailed):
            list(source(links=links).fetch(Item(id_, "a", "1")))


def test_pipes_and_sockets_are_no_files(folder: Path, source: Make):
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "socket"))
        assert names(source()) == []
        with pytest.raises(ItemFailed, match="is not a file"):
            list(source().fetch(Item("pipe", "pipe", "1")))


def test_names_that_are_no_text_are_shown_and_read(folder: Path, source: Make):
    (folder / os.fsdecode(b"\xb0\xa1 100%.txt")).write_text("odd")
    put(folder / "줄\n바꿈.txt", "line")
    found = [one for one in source().list() if isinstance(one, Item)]
    assert [one.name for one in found] == ["줄\n바꿈.txt", "?? 100%.txt"]
    assert [one.id for one in found] == ["줄\n바꿈.txt", "%B0%A1 100%25.txt"]
    assert [b"".join(source().fetch(one)) for one in found] == [b"line", b"odd"]


def test_a_file_that_is_gone_or_changes_meanwhile_fails_alone(folder: Path, source: Make):
    put(folder / "a.txt")
    gone, changed = item(source(), "a.txt"), item(source(), "a.txt")
    (folder / "a.txt").write_text("more text")
    with pytest.raises(ItemFailed, match=r"a\.txt changed while it was read"):
        list(source().fetch(changed))
    (folder / "a.txt").unlink()
    with pytest.raises(ItemFailed, match="no longer there"):
        list(source().fetch(gone))


needs_a_user = pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything; run as another user")


@needs_a_user
def test_a_file_without_the_right_to_read_fails_alone(folder: Path, source: Make):
    put(folder / "a.txt").chmod(0)
    with pytest.raises(ItemFailed, match="no right to read"):
        content(source(), "a.txt")


def too_long(folder: Path) -> None:
    """Make folders in each other until their path is longer than a system call takes."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("d" * 250, dir_fd=here)
        below = os.open("d" * 250, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


def test_a_folder_that_cannot_be_looked_into_removes_nothing_that_was_in_it(folder: Path, source: Make):
    put(folder / "a.txt")
    too_long(folder)
    *_, unreadable, mark = listed(source())
    assert isinstance(unreadable, Unreadable)
    assert "cannot be" in unreadable.reason
    assert mark == Checkpoint('[""]', whole=True)  # nothing was ever taken from there
    had_some = f'["{unreadable.id}/below"]'
    *_, mark = listed(source(), had_some)
    assert mark == Checkpoint(f'["", "{unreadable.id}/below"]', whole=False)


def test_folders_without_end_are_left(folder: Path, source: Make):
    put(folder.joinpath(*["d"] * 100) / "a.txt")
    put(folder.joinpath(*["e"] * 101) / "a.txt")
    found = listed(source())
    assert [type(one) for one in found] == [Item, Unreadable, Checkpoint]
    assert "folders deep" in found[1].reason


def test_data_of_footnotes_own_is_passed_over(folder: Path, source: Make):
    for name in ("data/footnote.lock", "data/settings.json", "a.txt"):
        put(folder / name)
    assert names(source()) == ["a.txt"]


@pytest.mark.parametrize("path", ["/proc", "/proc/self", "/sys", "/dev"])
def test_the_systems_own_folders_hold_nothing(path: str):
    assert names(FolderSource(FolderSettings(path=path))) == []


def test_a_folder_that_is_not_there_is_said(folder: Path):
    for path in (folder / "missing", put(folder / "file.txt")):
        with pytest.raises(SourceError, match="There is no folder"):
            FolderSource(FolderSettings(path=str(path))).test()
        with pytest.raises(SourceError, match="There is no folder"):
            list(FolderSource(FolderSettings(path=str(path))).list())


def test_only_folders_in_the_roots_may_be_read(folder: Path, tmp_path: Path):
    put(folder / "a" / "b.txt")
    (folder / "out").symlink_to(tmp_path)
    FolderSource(FolderSettings(path=str(folder)), roots=[str(folder)])
    FolderSource(FolderSettings(path=str(folder / "a")), roots=["/nowhere", str(folder)])
    for path in (tmp_path, folder / "out", folder / "a" / ".." / "..", f"{folder}-other"):
        with pytest.raises(SourceError, match="may not be read here"):
            FolderSource(FolderSettings(path=str(path)), roots=[str(folder)])


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"path": "papers"}, "write the whole path"),
        ({"path": ""}, "write the whole path"),
        ({"path": "/a\0b"}, "write the whole path"),
        ({"path": "/a", "glob": ["../*"]}, "leads out of the folder"),
        ({"path": "/a", "glob": ["/etc/*"]}, "leads out of the folder"),
        ({"path": "/a", "owner": "x"}, "Extra inputs"),
    ],
)
def test_settings_that_make_no_sense_are_refused_in_words(given: dict[str, object], told: str):
    with pytest.raises(ValidationError, match=told):
        FolderSettings(**given)


def test_every_setting_has_a_title_and_a_word_of_explanation():
    for name, field in FolderSettings.model_fields.items():
        assert field.title, name
        assert field.description, name


def test_a_listing_can_be_cancelled(folder: Path, source: Make):
    put(folder / "a.txt")
    assert list(source().list(cancelled=lambda: True)) == []
