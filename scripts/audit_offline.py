"""Match the pinned versions with an advisory database in a file, without a network.

    python scripts/audit_offline.py all.zip [--accept ID ...]

The file is a zip of OSV JSON, one advisory a member, as OSV publishes for each ecosystem (PyPI's `all.zip`).
Prints the date of its newest advisory, and each advisory that concerns a pinned version. Exit status: 0 where
there is none but accepted ones, 1 where there is, 2 where the file is no such database.
"""

import argparse
import json
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

CONSTRAINTS = Path(__file__).parent.parent / "constraints.txt"
LARGEST = 1 << 24  # bytes of one advisory


class NoDatabase(Exception):
    """A file is no advisory database."""


@dataclass(frozen=True)
class Match:
    """Advisory that concerns a pinned version, by all its names."""

    requirement: str
    ids: tuple[str, ...]
    summary: str
    fixed: tuple[str, ...]


@dataclass(frozen=True)
class Audit:
    """Result: the advisories about Python packages, the date of the newest, and those that match."""

    advisories: int
    newest: str
    matches: Sequence[Match]


def pins(constraints: Path) -> dict[str, str]:
    """Return the pinned versions by canonical name."""
    lines = (line.split("#")[0].strip() for line in constraints.read_text(encoding="utf-8").splitlines())
    named = (line.partition("==") for line in lines if line)
    return {canonicalize_name(name): version for name, _, version in named}


def audit(database: Path, pinned: Mapping[str, str]) -> Audit:
    """Match the pinned versions with every advisory; raises NoDatabase."""
    count, newest, matches = 0, "", list[Match]()
    for advisory in _advisories(database):
        packages = [one for one in advisory.get("affected", ()) if _is_python(one)]
        if not packages:
            continue
        count, newest = count + 1, max(newest, str(advisory.get("modified", "")))
        if "withdrawn" not in advisory:
            matches += _matches(advisory, packages, pinned)
    if not count or not newest:
        raise NoDatabase(f"{database} has no advisory about Python packages.")
    return Audit(count, newest, matches)


def _advisories(database: Path) -> Iterator[dict[str, Any]]:
    try:
        with zipfile.ZipFile(database) as archive:
            for member in archive.infolist():
                if not member.filename.endswith(".json"):
                    continue
                if member.file_size > LARGEST:
                    raise NoDatabase(f"{database} has a member that is too large: {member.filename}.")
                advisory = json.loads(archive.read(member))
                if isinstance(advisory, dict):
                    yield advisory
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise NoDatabase(f"{database} is no zip of OSV JSON: {error}") from error


def _is_python(affected: Mapping[str, Any]) -> bool:
    return affected.get("package", {}).get("ecosystem") == "PyPI"


def _matches(
    advisory: Mapping[str, Any], packages: Sequence[Mapping[str, Any]], pinned: Mapping[str, str]
) -> Iterator[Match]:
    ids = (str(advisory["id"]), *map(str, advisory.get("aliases", ())))
    summary = str(advisory.get("summary") or advisory.get("details") or "").strip().partition("\n")[0][:200]
    for affected in packages:
        name = canonicalize_name(affected["package"]["name"])
        if name in pinned and is_affected(pinned[name], affected):
            events = [event for one in affected.get("ranges", ()) for event in one.get("events", ())]
            fixed = tuple(str(event["fixed"]) for event in events if "fixed" in event)
            yield Match(f"{name}=={pinned[name]}", ids, summary, fixed)


def is_affected(version: str, affected: Mapping[str, Any]) -> bool:
    """Return True for a version that an advisory lists, or that lies in one of its ranges."""
    wanted = Version(version)
    if any(_version(str(one)) == wanted for one in affected.get("versions", ())):
        return True
    ranges = (one for one in affected.get("ranges", ()) if one.get("type") == "ECOSYSTEM")
    return any(_is_within(wanted, one.get("events", ())) for one in ranges)


def _is_within(wanted: Version, events: Sequence[Mapping[str, str]]) -> bool:
    """Follow a range's events in the order of versions, as OSV evaluates them."""
    known = [(kind, _version(text)) for event in events for kind, text in event.items()]
    ordered = [
        (kind, at)
        for kind, at in known
        if at is not None and kind in ("introduced", "fixed", "last_affected")
    ]
    within = False
    for kind, at in sorted(ordered, key=lambda one: (one[1], one[0] != "introduced")):
        if kind == "introduced" and wanted >= at:
            within = True
        if (kind == "fixed" and wanted >= at) or (kind == "last_affected" and wanted > at):
            within = False
    return within


def _version(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None


def main() -> int:
    """Print what concerns the pinned versions; return the exit status."""
    parser = argparse.ArgumentParser(
        description="Match the pinned versions with an advisory database in a file."
    )
    parser.add_argument("database", type=Path, metavar="OSV.zip")
    parser.add_argument("--constraints", type=Path, default=CONSTRAINTS)
    parser.add_argument(
        "--accept", action="append", default=[], metavar="ID", help="an advisory that is accepted"
    )
    options = parser.parse_args()
    pinned = pins(options.constraints)
    try:
        found = audit(options.database, pinned)
    except NoDatabase as error:
        print(error, file=sys.stderr)
        return 2
    open_ones = [one for one in found.matches if not set(one.ids) & set(options.accept)]
    accepted = len(found.matches) - len(open_ones)
    print(
        f"{len(pinned)} pinned versions, {found.advisories:,} advisories about Python packages, the newest "
        f"of {found.newest}: {len(found.matches)} concern them, {accepted} of these are accepted."
    )
    for one in open_ones:
        fixed = f"; fixed in {', '.join(one.fixed)}" if one.fixed else ""
        print(f"{one.requirement}: {', '.join(one.ids)}: {one.summary}{fixed}")
    return 1 if open_ones else 0


if __name__ == "__main__":
    sys.exit(main())
