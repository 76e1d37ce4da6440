"""SECURITY.md: each promise is linked to a test that is there, and each accepted hole has its reason."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SECURITY = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
PROMISES = [line for line in SECURITY.splitlines() if line.startswith("|") and "](tests/" in line]


def test_there_are_promises():
    assert len(PROMISES) >= 12


@pytest.mark.parametrize("page", ["SECURITY.md", "docs/operator/threats.md", "docs/operator/operating.md"])
def test_every_link_leads_to_something(page: str):
    text = (ROOT / page).read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#:]+)\)", text)
    assert [link for link in links if not ((ROOT / page).parent / link).exists()] == []


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\((tests/[^)]+)\)", SECURITY))))
def test_what_shows_a_promise_is_a_test(link: str):
    assert re.search(r"^(async )?def test_", (ROOT / link).read_text(encoding="utf-8"), re.MULTILINE)


def test_every_accepted_hole_has_a_reason_and_every_reason_is_of_an_accepted_hole():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    accepted = re.findall(
        r"(?:CVE|GHSA|PYSEC)-\S+", re.findall(r"^ACCEPTED := .*", makefile, re.MULTILINE)[0]
    )
    rows = re.findall(r"^\| ((?:CVE|GHSA|PYSEC)\S+) \|([^|]*)\|(.*)\|$", SECURITY, re.MULTILINE)
    assert {name for name, _, reason in rows if reason.strip()} == set(accepted)
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    assert all("==".join(package.split()) in pinned for _, package, _ in rows)
