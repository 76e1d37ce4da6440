from pathlib import Path

from tests.rag.cli.test_admin import CASTLE, footnote


def folder(data: Path) -> Path:
    (found,) = (path for path in data.glob("indexes/*/vectors-*") if not path.name.endswith("-tree"))
    return found


def test_reindex_says_what_it_takes_and_which_model_answers_afterwards(capsys, tmp_path):
    data = tmp_path / "data"
    (tmp_path / "castle.md").write_text(CASTLE)
    footnote(capsys, data, "ingest", tmp_path / "castle.md")
    before = folder(data)
    status, out, err = footnote(capsys, data, "reindex")
    assert status == 0
    assert "Until it is done, 1 MB more are needed on the disk." in out
    assert "Embedded with multilingual-e5-small, before with multilingual-e5-small." in out
    assert "embedding 1 passages" in err
    assert folder(data) != before


def test_the_word_index_is_made_anew_alone(capsys, tmp_path):
    data = tmp_path / "data"
    (tmp_path / "castle.md").write_text(CASTLE)
    footnote(capsys, data, "ingest", tmp_path / "castle.md")
    before = folder(data)
    [words] = data.glob("indexes/*/words")
    for harm in (b"", None):  # a damaged one, and one that is sound
        segments = list(words.glob("*.idx"))
        for path in segments if harm is not None else ():
            path.write_bytes(harm)
        status, out, _ = footnote(capsys, data, "reindex", "--words")
        assert status == 0 and "The words of 1 passages are indexed anew." in out
        assert folder(data) == before
        assert list(words.glob("*.idx")) and not any(path.exists() for path in segments)
