"""What the server costs at start, and what it does not load before it is needed."""

import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import RUN, Server, serving
from tests.e2e.visitor import Visitor, again, press
from tests.faults.tab import Tab
from tests.rag.fake_llm import FakeLLM

Visit = Callable[..., Visitor]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The application as `make run` starts it; the other tests fork it."""
    with serving(tmp_path_factory.mktemp("started"), command=RUN) as running:
        yield running


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_torch_is_not_loaded(server: Server):
    with closing(Tab.open(server.url, page="library")) as tab:
        tab.drop(("note.txt", b"Receipts are due within thirty days."))
        tab.until(lambda: "note.txt" in tab.text and "Ready" in tab.text, look=True)
    assert "libtorch" not in Path(f"/proc/{server.process.pid}/maps").read_text()


def test_settings_open_by_keyboard_and_save(server: Server, visit: Visit):
    visitor = visit(server.url + "/settings")
    page = visitor.page
    address = page.get_by_label("Base URL")
    press(page.get_by_role("tab", name="On a server"), then=address)
    with FakeLLM() as fake:

        def list_models(patience: float) -> None:
            address.fill(fake.url, timeout=patience)
            page.get_by_role("button", name="List models").press("Enter", timeout=patience)

        model = page.get_by_role("combobox", name="Model")
        again(list_models, lambda patience: expect(model).to_have_value("fake", timeout=patience))
        written = page.get_by_text("Answers are written by fake.")
        press(page.get_by_role("button", name="Test and save"), then=written)
    page.reload()
    expect(written).to_be_visible()
    assert visitor.strangers() == []
