"""Documentation: links lead somewhere, and the settings page shows the settings that exist."""

import re
import sys
from pathlib import Path

import pytest

from rag.settings import Settings

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

import settings_page  # noqa: E402 - a script, found by the path above

PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "tests" / "faults" / "README.md"]


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(page: Path):
    links = re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)", page.read_text(encoding="utf-8"))
    targets = [((page.parent / path) if path else page, anchor) for path, anchor in links]
    assert [str(target) for target, _ in targets if not target.exists()] == []
    assert [anchor for target, anchor in targets if anchor and anchor not in anchors(target)] == []


def test_every_page_is_in_the_index():
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")]
    assert [page for page in pages if page != "README.md" and f"({page})" not in index] == []


def test_the_settings_page_is_in_step_with_the_settings(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert settings_page.PAGE.read_text(encoding="utf-8") == settings_page.page(), (
        "docs/operator/settings.md is out of date: run python scripts/settings_page.py"
    )


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_says_what_it_does(name: str):
    assert Settings.model_fields[name].description
