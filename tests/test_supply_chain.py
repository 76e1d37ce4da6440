"""What comes with the product and from where: bill of materials, advisories, the wheel."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))

import audit_offline
import hash_pins

ROOT = Path(__file__).parent.parent

MOMENT = datetime(2026, 11, 24, tzinfo=UTC)


# Hashes of the pins


def test_every_pin_has_hashes_and_no_host_is_named():
    pinned = [line.split("#")[0].strip() for line in hash_pins.CONSTRAINTS.read_text("utf-8").splitlines()]
    pinned = [line for line in pinned if line]
    text = hash_pins.OUTPUT.read_text("utf-8")
    lines = text.splitlines()
    assert [line.removesuffix(" \\").split(" ; ")[0] for line in lines if line[0] not in "# "] == pinned
    for at, line in enumerate(lines):
        if line[0] not in "# ":
            assert line.endswith(" \\") and lines[at + 1].startswith("    --hash=sha256:"), line
    assert "://" not in text and "index-url" not in text


def test_hashes_of_several_platforms_are_all_kept_and_a_pin_without_any_is_named():
    report = {
        "install": [
            {
                "metadata": {"name": "Typing_Extensions", "version": "4.1"},
                "download_info": {"archive_info": {"hashes": {"sha256": "a" * 64}}},
            }
        ]
    }
    found = hash_pins.hashes_in(report)
    assert found == {"typing-extensions==4.1": "a" * 64}
    text = hash_pins.hashed_lines(["typing_extensions==4.1"], [found, {"typing-extensions==4.1": "b" * 64}])
    assert text == (
        f"typing_extensions==4.1 \\\n    --hash=sha256:{'a' * 64} \\\n    --hash=sha256:{'b' * 64}\n"
    )
    text = hash_pins.hashed_lines(["torch==2.1"], [{"torch==2.1": "c" * 64}])
    assert text.startswith('torch==2.1 ; sys_platform != "linux" \\\n    --hash=')
    with pytest.raises(ValueError, match=r"No file of numpy==2\.0"):
        hash_pins.hashed_lines(["numpy==2.0"], [found])


# Bill of materials


def test_the_bill_of_materials_is_valid_and_lists_what_is_installed(tmp_path: Path):
    command = [sys.executable, "scripts/sbom.py", "--output", str(tmp_path / "sbom.json")]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(int(MOMENT.timestamp()))}
    texts = []
    for _ in range(2):
        subprocess.run(command, cwd=ROOT, env=environment, check=True, timeout=120)
        texts.append((tmp_path / "sbom.json").read_text("utf-8"))
    assert texts[0] == texts[1]
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(texts[0]) is None
    told = json.loads(texts[0])
    versions = {it["name"]: it["version"] for it in told["components"]}
    assert told["metadata"]["component"]["name"] == "footnote"
    assert {"streamlit", "sqlalchemy", "chromadb", "cryptography", "kiwipiepy"} <= versions.keys()
    assert not {"pytest", "ruff", "hypothesis", "footnote"} & versions.keys()
    pinned = audit_offline.pins(audit_offline.CONSTRAINTS)
    assert {name: version.partition("+")[0] for name, version in versions.items()}.items() <= pinned.items()
    needs = {it["ref"]: it.get("dependsOn", []) for it in told["dependencies"]}
    assert any("sqlalchemy" in ref for ref in needs[f"pkg:pypi/alembic@{versions['alembic']}"])


# Advisories in a file


def advisory(id_: str, name: str, **affected: object) -> dict[str, object]:
    package = {"ecosystem": "PyPI", "name": name}
    return {"id": id_, "modified": f"2026-11-2{len(id_) % 10}T00:00:00Z", "summary": "A hole.",
            "affected": [{"package": package, **affected}]}  # fmt: skip


def events(*steps: tuple[str, str], kind: str = "ECOSYSTEM") -> dict[str, object]:
    return {"ranges": [{"type": kind, "events": [{what: at} for what, at in steps]}]}


def database(path: Path, *advisories: object) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for number, one in enumerate(advisories):
            archive.writestr(f"{number}.json", json.dumps(one))
    return path


@pytest.mark.parametrize(
    ("affected", "is_hit"),
    [
        ({"versions": ["1.2", "1.3"]}, True),
        ({"versions": ["1.3.0.0"]}, True),
        ({"versions": ["1.2", "nonsense"]}, False),
        (events(("introduced", "0"), ("fixed", "1.4")), True),
        (events(("introduced", "0"), ("fixed", "1.3")), False),
        (events(("introduced", "1.3"), ("last_affected", "1.3")), True),
        (events(("introduced", "1.0"), ("last_affected", "1.2")), False),
        (events(("introduced", "1.4")), False),
        (events(("introduced", "0"), ("fixed", "1.1"), ("introduced", "1.2"), ("fixed", "1.10")), True),
        (events(("introduced", "0"), kind="GIT"), False),
        (events(("introduced", "2.0.0"), ("fixed", "2.0.7"), ("introduced", "0"), ("fixed", "1.26")), True),
    ],
)
def test_a_version_is_matched_by_lists_and_ranges(affected: dict[str, object], is_hit: bool):
    assert audit_offline.is_affected("1.3", affected) is is_hit


def test_a_database_in_a_file_tells_its_date_and_what_concerns_the_pins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "pins.txt").write_text("# comment\nSome_Package==1.3\nother==2.0  # note\n")
    hole = advisory("PYSEC-1", "some-package", **events(("introduced", "0"), ("fixed", "1.4")))
    known = advisory("GHSA-22", "Other", versions=["2.0"]) | {"aliases": ["CVE-2026-1"]}
    gone = advisory("GHSA-333", "other", versions=["2.0"]) | {"withdrawn": "2026-01-01T00:00:00Z"}
    foreign = {"id": "X", "modified": "2027-01-01T00:00:00Z", "affected": [{"package": {"ecosystem": "npm"}}]}
    zipped = database(tmp_path / "all.zip", hole, known, gone, foreign)
    command = ["audit_offline", str(zipped), "--constraints", str(tmp_path / "pins.txt")]
    monkeypatch.setattr(sys, "argv", [*command, "--accept", "CVE-2026-1"])
    assert audit_offline.main() == 1
    said = capsys.readouterr().out
    assert "2 pinned versions, 3 advisories about Python packages, the newest of 2026-11-28" in said
    assert "2 concern them, 1 of these are accepted" in said
    assert "some-package==1.3: PYSEC-1: A hole.; fixed in 1.4" in said and "GHSA" not in said
    monkeypatch.setattr(sys, "argv", [*command, "--accept", "CVE-2026-1", "--accept", "PYSEC-1"])
    assert audit_offline.main() == 0


@pytest.mark.parametrize("content", [b"", b"nonsense", None, "empty"])
def test_what_is_no_database_is_not_taken_for_a_clean_one(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    content: bytes | str | None,
):
    path = tmp_path / "all.zip"
    if content == "empty":
        database(path)
    elif isinstance(content, bytes):
        path.write_bytes(content)
    monkeypatch.setattr(sys, "argv", ["audit_offline", str(path)])
    assert audit_offline.main() == 2
    assert "all.zip" in capsys.readouterr().err


# The wheel


@pytest.mark.slow(reason="builds the wheel twice, each with an environment of its own")
def test_the_wheel_comes_out_the_same_each_time(tmp_path: Path):
    made = []
    for number in range(2):
        copy = tmp_path / f"copy{number}"
        shutil.copytree(
            ROOT, copy, ignore=shutil.ignore_patterns(".*", "__pycache__", "build", "*.egg-info", "tests")
        )
        for path in copy.rglob("*.py"):
            os.utime(path, (number * 10**6, number * 10**6))
        command = [sys.executable, "scripts/build_wheel.py", "--output", str(tmp_path / f"out{number}")]
        subprocess.run(
            command, cwd=copy, check=True, timeout=300, env={**os.environ, "SOURCE_DATE_EPOCH": "1764000000"}
        )
        (wheel,) = (tmp_path / f"out{number}").glob("*.whl")
        made.append((wheel.name, hashlib.sha256(wheel.read_bytes()).hexdigest()))
    assert made[0] == made[1]
