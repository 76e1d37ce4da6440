import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from rag import backups
from rag.workspace import Workspace
from storage.backup import restore_into
from storage.encryption import PassphraseNeeded
from tests.ui.conftest import words
from ui.server import services

Page = Callable[..., AppTest]
KEY = "sk-marked-0123456789"


def test_a_key_is_never_shown_again(page: Page, here: Workspace):
    services.services().change({"llm_api_key": KEY, "llm_model": "qwen"})
    at = page("settings")
    assert at.text_input(key="llm_api_key").value == ""
    assert KEY not in words(at) + "".join(str(i.value) + str(i.placeholder) for i in at.text_input)


def test_another_way_to_search_is_used_from_now_on(page: Page, here: Workspace):
    at = page("settings")
    at.selectbox(key="retriever").set_value("bm25")
    at.slider[0].set_value(3)
    next(button for button in at.button if button.key == "save-finding").click().run()
    settings = services.services().settings
    assert (settings.retriever, settings.k) == ("bm25", 3)


def test_the_options_of_searching_by_meaning_are_kept(page: Page, here: Workspace):
    at = page("settings")
    at.selectbox(key="retriever").set_value("similarity_score_threshold")
    at.number_input(key="score_threshold").set_value(0.3)
    at.number_input(key="mmr_fetch_k").set_value(30)
    at.number_input(key="mmr_lambda_mult").set_value(0.9)
    next(button for button in at.button if button.key == "save-finding").click().run()
    settings = services.services().settings
    assert settings.retriever == "similarity_score_threshold"
    assert (settings.score_threshold, settings.mmr_fetch_k, settings.mmr_lambda_mult) == (0.3, 30, 0.9)


def test_a_reranker_is_off_until_it_is_chosen_and_says_what_it_costs(page: Page, here: Workspace):
    at = page("settings")
    assert at.selectbox(key="reranker").value == "auto"
    assert "20 short requests" in at.selectbox(key="reranker").help
    assert "3 long requests" in at.selectbox(key="reranker").help
    at.selectbox(key="reranker").set_value("remote")
    at.text_input(key="rerank_base_url").set_value("http://127.0.0.1:9/v1")
    at.text_input(key="rerank_model").set_value("m")
    at.text_input(key="rerank_api_key").set_value(KEY)
    at.checkbox(key="lost_in_the_middle_order").check()
    next(button for button in at.button if button.key == "save-reranking").click().run()
    settings = services.services().settings
    assert (settings.reranker, settings.rerank_model, settings.lost_in_the_middle_order) == (
        "remote",
        "m",
        True,
    )
    assert settings.rerank_base_url == "http://127.0.0.1:9/v1"
    assert settings.rerank_api_key.get_secret_value() == KEY
    assert page("settings").text_input(key="rerank_api_key").value == ""


def test_an_address_of_a_reranker_that_is_none_is_named(page: Page, here: Workspace):
    at = page("settings")
    at.text_input(key="rerank_base_url").set_value("ftp://example.org")
    next(button for button in at.button if button.key == "save-reranking").click().run()
    assert "RERANK_BASE_URL" in at.error[0].value.replace("\\", "")
    assert services.services().settings.rerank_base_url is None


def test_it_is_said_that_summaries_by_a_model_send_whole_texts_to_its_server(page: Page, here: Workspace):
    def told(at: AppTest) -> tuple[bool, str]:
        captions = next(radio for radio in at.radio if radio.key == "raptor").proto.captions
        return "this server is sent the whole text of every document" in words(at), captions[3]

    said, of_the_choice = told(page("settings"))
    assert not said and "A connected server is then sent the whole text of every document." in of_the_choice
    services.services().change({"llm_model": "qwen"})
    said, of_the_choice = told(page("settings"))
    assert not said and "Sends the whole text of every document to the server of qwen" in of_the_choice
    services.services().change({"raptor": "model"})
    assert told(page("settings"))[0]


def test_the_command_of_a_backup_names_the_folder_of_the_data(page: Page, tmp_path: Path):
    assert f"footnote --data {tmp_path / 'data'} backup FILE" in words(page("settings"))


def press(at: AppTest, passphrase: str, again: str | None = None) -> AppTest:
    """Type a passphrase twice, and ask for a backup."""
    at.text_input(key="backup-passphrase").set_value(passphrase)
    at.text_input(key="backup-passphrase-again").set_value(passphrase if again is None else again)
    next(button for button in at.button if button.key == "back-up").click().run()
    return at


def back_up(page: Page, passphrase: str = "", again: str | None = None) -> AppTest:
    """Ask for a backup, and return the page as it is once that is written."""
    at = press(page("settings"), passphrase, again)
    job = services.services().backups_on_request.job
    assert job is None or job.wait(60)
    return page("settings") if again is None else at


def test_a_backup_is_made_on_request_can_be_restored_and_is_deleted_again(
    page: Page, here: Workspace, tmp_path: Path
):
    here.add("castle.md", [b"The castle stands on a hill."], None)
    at = back_up(page, "correct horse")
    backups = services.services().backups_on_request
    ((_, path),) = backups.list()
    assert path.parent == tmp_path / "data" / "backups" and f"{path}`, 0." in words(at)
    address = next(link.proto.url for link in at.get("link_button") if link.proto.label == "Download")
    assert services.services().downloads.taken(address.removeprefix("backups/")) == path
    with pytest.raises(PassphraseNeeded):
        restore_into(tmp_path / "locked", path)
    assert restore_into(tmp_path / "new", path, passphrase="correct horse").originals == 1
    next(button for button in at.button if button.key == f"delete-{path.name}").click().run()
    next(button for button in at.button if button.key == f"really-delete-{path.name}").click().run()
    assert not path.exists() and str(path) not in words(page("settings"))
    assert [entry.kind for entry in here.audit_log.list()][:3] == [
        "backup_removed",
        "backup_downloaded",
        "backup_written",
    ]


def test_of_two_people_who_ask_for_a_backup_the_second_is_told_that_one_is_being_made(
    page: Page, here: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    goes_on = threading.Event()
    monkeypatch.setattr(backups, "shareable", lambda _: goes_on.wait(100) and {})
    first, second = page("settings"), page("settings")
    assert not press(first, "correct horse").error
    job = services.services().backups_on_request.job
    assert "A backup is being made already." in press(second, "battery staple").error[0].value
    assert job is not None and job is services.services().backups_on_request.job and not job.done
    assert [button.key for button in second.button if button.key in ("stop-backup", "back-up")] == [
        "stop-backup"
    ]
    goes_on.set()
    assert job.wait(60)
    ((_, path),) = services.services().backups_on_request.list()
    assert restore_into(tmp_path / "new", path, passphrase="correct horse").originals == 0
    assert not page("settings").error


def test_the_page_says_that_of_keys_only_the_secrets_of_webhooks_are_in_a_backup(page: Page, here: Workspace):
    services.services().change({"llm_api_key": KEY})
    _, secret = here.webhooks.create("https://example.org/events")
    assert "left out, except the secrets that sign the events of webhooks." in words(back_up(page))
    ((_, path),) = services.services().backups_on_request.list()
    kept = path.read_bytes()
    assert secret.encode() in kept and KEY.encode() not in kept


def test_a_backup_that_cannot_be_made_says_why(page: Page, here: Workspace, tmp_path: Path):
    assert "two passphrases differ" in back_up(page, "correct horse", "correct house").error[0].value
    assert not services.services().backups_on_request.list()
    assert "The passphrase has 5 characters." in back_up(page, "horse").error[0].value
    (tmp_path / "data" / "backups").rmdir()
    (tmp_path / "data" / "backups").write_text("in the way")
    assert "could not be written" in back_up(page).error[0].value
    assert [entry.kind for entry in here.audit_log.list()][:2] == ["backup_failed"] * 2
