"""What the server costs at start, and what it does not load before it is needed."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Server
from tests.e2e.visitor import Visitor, again, press

Visit = Callable[..., Visitor]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_torch_is_not_loaded(server: Server, visit: Visit, tmp_path: Path):
    note = tmp_path / "note.txt"
    note.write_text("Receipts are due within thirty days.", "utf-8")
    visitor = visit(server.url + "/library")
    visitor.add(note)
    expect(visitor.row(note.name)).to_contain_text("Ready")
    assert "libtorch" not in Path(f"/proc/{server.process.pid}/maps").read_text()


def test_settings_open_by_keyboard_and_save(server: Server, visit: Visit):
    visitor = visit(server.url + "/settings")
    page = visitor.page
    box = page.get_by_label("Model (leave empty to turn off)")
    press(page.get_by_role("tab", name="On a server"), then=box)

    def name_it(patience: float) -> None:
        box.fill("some-model", timeout=patience)
        box.press("Enter", timeout=patience)

    again(name_it, page.get_by_text("Answers are written by some-model."))
    page.reload()
    expect(page.get_by_label("Model (leave empty to turn off)")).to_have_value("some-model")
    assert visitor.strangers() == []
