"""Decision whether several processes may use one ledger, and what has to be the same for all."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from rag.settings import Settings
from rag.sharing import folder_id, sharing_of

SERVER = "postgresql://footnote@localhost/footnote"


def settings(folder: Path, **values: Any) -> Settings:
    given = {"database_url": SERVER, "objects": f"file://{folder}/originals", "vector_store": "lance-objects"}
    return Settings(**{"data": folder / "data", **given, **values})


@pytest.mark.parametrize(
    ("values", "missing"),
    [
        ({"database_url": None}, "DATABASE_URL is not set"),
        ({"objects": ""}, "FOOTNOTE_OBJECTS is not set"),
        ({"vector_store": "chroma"}, "FOOTNOTE_VECTOR_STORE is chroma"),
        ({"vector_store": "lance"}, "FOOTNOTE_VECTOR_STORE is lance"),
        ({"vector_store": "langchain_postgres:PGVector"}, "langchain_postgres:PGVector"),
    ],
)
def test_one_process_has_a_ledger_alone_where_something_is_not_shared(tmp_path: Path, values, missing):
    sharing = sharing_of(settings(tmp_path, **values))
    assert not sharing.together and missing in sharing.missing


def test_several_processes_may_use_a_ledger_where_everything_is_shared(tmp_path: Path):
    in_a_folder = sharing_of(settings(tmp_path))
    assert in_a_folder.together and sharing_of(settings(tmp_path, objects="s3://bucket/x")).together
    assert sharing_of(settings(tmp_path, data=tmp_path / "other")).common == in_a_folder.common


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"embedding_model": "static-multilingual"}, "FOOTNOTE_EMBEDDING_MODEL"),
        ({"objects": "s3://bucket/x"}, "FOOTNOTE_OBJECTS"),
    ],
)
def test_a_setting_that_decides_what_is_stored_is_among_the_common_ones(tmp_path: Path, values, name):
    one, other = sharing_of(settings(tmp_path)).common, sharing_of(settings(tmp_path, **values)).common
    assert one[name] != other[name]


def test_a_folder_is_known_by_what_is_in_it_whatever_its_address(tmp_path: Path):
    one, other = sharing_of(settings(tmp_path)), sharing_of(settings(tmp_path / "other"))
    assert one.common["FOOTNOTE_OBJECTS"] != other.common["FOOTNOTE_OBJECTS"]
    (tmp_path / "mounted").symlink_to(tmp_path / "originals")
    mounted = sharing_of(settings(tmp_path, objects=f"file://{tmp_path}/mounted"))
    assert mounted.common == one.common


def test_a_folder_gets_one_id_from_all_who_ask_at_once(tmp_path: Path):
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(folder_id, [tmp_path / "new"] * 40))) == 1
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["folder-id"]
