import socket
from pathlib import Path

import pytest

from api import operations as readiness
from api.operations import CheckResult
from rag.errors import IndexMismatch


def test_a_thing_that_fails_is_not_usable_and_told_by_its_errors_name():
    def fails() -> CheckResult:
        raise IndexMismatch("The index of /home/ann was made by another model.")

    looked = readiness.run_checks({"index": fails, "disk": lambda: CheckResult(True, "well")})
    assert looked == {"index": CheckResult(False, "IndexMismatch"), "disk": CheckResult(True, "well")}


def test_a_server_that_lets_us_in_is_usable_and_nothing_is_sent_to_it():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        assert readiness.check_server(f"http://ann:secret@127.0.0.1:{port}/v1").usable
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.recv(1) == b""
    gone = readiness.check_server(f"http://127.0.0.1:{port}/v1")
    assert not gone.usable and str(port) not in gone.state


@pytest.mark.parametrize("url", ["http://127.0.0.1:99999/", "http://[::1/", "http://", "nonsense"])
def test_an_address_that_is_none_is_not_usable(url: str):
    assert not readiness.check_server(url).usable


def test_a_disk_is_usable_while_there_is_room(tmp_path: Path):
    assert readiness.check_disk(tmp_path).usable == (readiness.free_bytes(tmp_path) >= readiness.MIN_FREE)
    assert readiness.check_disk(tmp_path / "gone") == CheckResult(False, "cannot be looked at")
