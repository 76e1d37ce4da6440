"""Sources opened by what was kept of them, with the means that their owner has."""

import pytest

from rag.connectors.registry import checked, open_source
from rag.errors import SourceError
from rag.factory import make_means
from rag.i18n import in_language, translated
from rag.settings import LOCAL_OWNER, Settings


def opened(owner, path, **settings):
    return open_source("folder", {"path": str(path)}, make_means(Settings(**settings), owner))


def test_the_one_user_of_a_computer_may_read_any_folder_of_it(tmp_path):
    assert "0 files" in opened(LOCAL_OWNER, tmp_path).test()


def test_who_signs_in_may_read_the_folders_that_are_named_for_them_and_no_others(tmp_path):
    (tmp_path / "shared").mkdir()
    with pytest.raises(SourceError, match="FOOTNOTE_ALLOWED_FOLDERS"):
        opened("ann", tmp_path)
    roots = (str(tmp_path / "shared"),)
    assert "0 files" in opened("ann", tmp_path / "shared", allowed_folders=roots).test()
    for owner in ("ann", LOCAL_OWNER):
        with pytest.raises(SourceError, match="may not be read here"):
            opened(owner, tmp_path, allowed_folders=roots)


def test_files_as_large_as_uploads_may_come_from_sources():
    assert make_means(Settings(max_upload_mb=200), "ann").max_bytes == 200 << 20


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        ("gopher", {}, "no source of the kind 'gopher'"),
        ("folder", {"path": "papers"}, "Folder: write the whole path"),
        ("folder", {}, "Folder: Field required"),
        ("web", {"urls": []}, "Addresses: write at least one address"),
        ("web", {"urls": ["ftp://a"]}, "Addresses: ftp://a does not begin with .*, so it is not fetched\\.$"),
    ],
)
def test_settings_that_are_wrong_are_refused_by_the_name_they_have_on_the_page(kind, given, said):
    with pytest.raises(SourceError, match=said):
        checked(kind, given)


def test_settings_that_are_wrong_are_refused_in_the_language_of_the_page():
    with pytest.raises(SourceError) as refused:
        checked("folder", {"path": ""})
    with in_language("ja"):
        assert translated(str(refused.value)).startswith("フォルダー: / で始まる")
