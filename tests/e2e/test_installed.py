"""The wheel, alone in a fresh environment: what it holds, what it brings, and that its page answers."""

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import expect

from rag.sample import sample_in
from rag.settings import default_model_cache
from tests.e2e.conftest import ROOT, free_port, serving
from tests.e2e.visitor import Visitor, click

pytestmark = pytest.mark.slow(reason="builds the wheel and installs 140 packages from the package index")
MOST = 5_000_000  # bytes of the wheel
PACKAGES = ("api", "rag", "storage", "ui")
NOT_BASE = ("torch", "transformers", "sentence_transformers", "sklearn", "scipy")


@dataclass
class Installed:
    """A fresh environment with the wheel, and a home of its own."""

    wheel: Path
    python: Path
    home: Path

    def environment(self) -> dict[str, str]:
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "STREAMLIT_"))
        }
        return {
            **kept,
            "HOME": str(self.home),
            "XDG_DATA_HOME": str(self.home / "share"),
            "FOOTNOTE_MODEL_CACHE": str(default_model_cache()),
        }

    def footnote(self, *arguments: str) -> str:
        command = [str(self.python.with_name("footnote")), *arguments]
        ran = subprocess.run(
            command, cwd=self.home, env=self.environment(), capture_output=True, text=True, check=True
        )
        return ran.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("installed")
    wheel = build(folder / "source", folder / "wheel")
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--constraint", str(ROOT / "constraints.txt")]
    subprocess.run([*install, str(wheel)], check=True, cwd=folder)
    (folder / "home").mkdir()
    return Installed(wheel, python, folder / "home")


def build(source: Path, target: Path) -> Path:
    """Build the wheel from a copy of what git tracks, so that nothing is written beside the code."""
    for name in tracked():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, source / name, follow_symlinks=False)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(target)]
    subprocess.run([*command, str(source)], check=True)
    (wheel,) = target.glob("footnote-*.whl")
    return wheel


def tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split("\0") if name and os.path.lexists(ROOT / name)]


def test_the_wheel_is_small_and_holds_every_file_of_the_packages(installed: Installed):
    assert installed.wheel.stat().st_size < MOST
    with zipfile.ZipFile(installed.wheel) as archive:
        held = {entry for entry in archive.namelist() if ".dist-info/" not in entry}
    wanted = {name for name in tracked() if name.split("/")[0] in PACKAGES}
    assert held == wanted


def test_a_base_install_has_no_torch(installed: Installed):
    look = f"from importlib.util import find_spec; print([one for one in {NOT_BASE} if find_spec(one)])"
    ran = subprocess.run([str(installed.python), "-c", look], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_the_demo_answers_and_the_data_lies_in_the_platforms_directory(installed: Installed):
    said = installed.footnote("demo", "--no-page")
    assert "[1] verified: “" in said
    assert sample_in("en").name in said
    assert (installed.home / "share" / "footnote-demo" / "footnote.db").exists()
    assert not (installed.home / "data").exists()


def test_the_doctor_finds_nothing_that_fails(installed: Installed):
    assert "FAILED" not in installed.footnote("doctor", "--port", str(free_port()))


def test_the_page_answers_from_the_sample(
    installed: Installed, tmp_path: Path, visit: Callable[..., Visitor]
):
    serve = [str(installed.python.with_name("footnote")), "serve"]
    with serving(tmp_path, command=serve, cwd=installed.home, **installed.environment()) as server:
        visitor = visit(server.url)
        page = visitor.page
        question = page.get_by_role("button", name=sample_in("en").question)
        click(page.get_by_role("button", name="Try a sample document"), then=question)
        click(question, then=visitor.answers().first)
        expect(visitor.answers().first).to_contain_text("4.1 million containers")
        expect(page.get_by_role("link", name="Source 1: “").first).to_be_visible()
        assert visitor.errors == []
