import pytest

from rag.connectors.base import Credentials
from rag.errors import SourceError


def test_the_environment_wins_over_the_file(tmp_path):
    file = tmp_path / "secrets.toml"
    file.write_text('[sources]\nwiki = "from the file"\ndrive = "only there"\n')
    credentials = Credentials({"FOOTNOTE_SECRET_WIKI": "from the environment"}, file)
    assert credentials.get("wiki").get_secret_value() == "from the environment"
    assert credentials.get("drive").get_secret_value() == "only there"


def test_a_secret_is_never_shown_by_printing_it(tmp_path):
    secret = Credentials({"FOOTNOTE_SECRET_WIKI": "hunter2"}, tmp_path / "none").get("wiki")
    assert "hunter2" not in f"{secret!r} {secret}"


def test_who_signs_in_has_secrets_of_their_own_and_no_others(tmp_path):
    file = tmp_path / "secrets.toml"
    file.write_text('[sources]\nwiki = "the server\'s"\n[sources_of."ann@x"]\nwiki = "ann\'s"\n')
    environment = {"FOOTNOTE_SECRET_WIKI": "the server's", "FOOTNOTE_SECRET_DRIVE": "the server's"}
    assert Credentials(environment, file, "ann@x").get("wiki").get_secret_value() == "ann's"
    for person, name in (("ann@x", "drive"), ("bob@x", "wiki"), ("ann@x", "sources")):
        with pytest.raises(SourceError, match="You have no secret"):
            Credentials(environment, file, person).get(name)


@pytest.mark.parametrize("name", ["", "a b", "../etc", "위키", "a" * 65, "wiki\n"])
def test_a_name_that_cannot_be_one_is_refused(tmp_path, name):
    with pytest.raises(SourceError, match="cannot be the name of a secret"):
        Credentials({}, tmp_path / "none").get(name)


def test_a_missing_secret_says_where_to_put_it(tmp_path):
    with pytest.raises(SourceError, match="FOOTNOTE_SECRET_WIKI"):
        Credentials({}, tmp_path / "none").get("wiki")


@pytest.mark.parametrize("text", ["[sources", "\xff", 'sources = "x"', "[sources]\nwiki = 5"])
def test_a_broken_file_gives_no_secret_and_shows_nothing_of_itself(tmp_path, text):
    file = tmp_path / "secrets.toml"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(SourceError) as refused:
        Credentials({}, file).get("wiki")
    assert text not in str(refused.value)
