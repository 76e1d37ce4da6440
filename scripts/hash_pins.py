"""Write the pinned versions with the hashes of their files, for `pip install --require-hashes`.

    python scripts/hash_pins.py [--pins constraints.txt] [--output constraints-hashed.txt]

Asks the package index for the file that pip would install on each supported Python and platform, as
check_wheels.py does, and takes its SHA-256 from pip's report: nothing is installed. Options of pip that this
machine has (its own index, its own folders) are left out, so that the hashes are the public ones.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from check_wheels import (
    CONSTRAINTS,
    PLATFORMS,
    PYTHONS,
    SOURCE_ONLY,
    WITHOUT_WHEEL,
    dry_run_command,
    pins_for,
)

OUTPUT = CONSTRAINTS.with_name("constraints-hashed.txt")
HEADER = """\
# Every pinned version with the SHA-256 of its files for Python 3.11 to 3.14 on Linux x86-64 and macOS arm64.
# Made from constraints.txt by `python scripts/hash_pins.py`; installed by `make run-hashed`.
"""
OTHER_HEADER = """\
# Pinned versions with the SHA-256 of their files for Python 3.11 to 3.14 on Linux x86-64 and macOS arm64.
# After a change of a version: `python scripts/hash_pins.py --pins {0} --output {0}`.
"""
DRY_RUN = ("-m", "pip", "install", "--dry-run", "--ignore-installed", "--no-deps", "--quiet")
AT_ONCE = 5
NOT_ON_LINUX = {"torch", "sentence-transformers"}
"""Left out there: PyPI's torch for Linux needs CUDA's packages, gigabytes that are not pinned."""
OWN = ("PIP_FIND_LINKS", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CONSTRAINT", "PIP_NO_INDEX")


def canonical(name: str) -> str:
    """Return a package's name as indexes compare it: `Typing_Extensions -> typing-extensions`."""
    return name.lower().replace("_", "-").replace(".", "-")


def hashes_in(report: Mapping[str, object]) -> dict[str, str]:
    """Return the SHA-256 of each file in a report of pip, by `name==version`."""
    found = {}
    for item in report["install"]:  # type: ignore[attr-defined]
        about = item["metadata"]
        found[f"{canonical(about['name'])}=={about['version']}"] = item["download_info"]["archive_info"][
            "hashes"
        ]["sha256"]
    return found


def hashed_lines(pinned: Sequence[str], found: Iterable[Mapping[str, str]]) -> str:
    """Return the requirements with all hashes found for each; raises ValueError for one without any."""
    every: dict[str, set[str]] = defaultdict(set)
    for hashes in found:
        for requirement, sha256 in hashes.items():
            every[requirement].add(sha256)
    lines = []
    for line in pinned:
        name, _, version = line.partition("==")
        known = sorted(every[f"{canonical(name)}=={version}"])
        if not known:
            raise ValueError(f"No file of {line} was found.")
        wanted = " ; ".join(filter(None, [line, _where(name.lower())]))
        lines.append(" \\\n".join([wanted, *(f"    --hash=sha256:{sha256}" for sha256 in known)]))
    return "\n".join(lines) + "\n"


def _where(name: str) -> str:
    """Return the marker of the environments that install a package; empty for all."""
    if name in NOT_ON_LINUX:
        return 'sys_platform != "linux"'
    left_out = " ".join(sorted(WITHOUT_WHEEL.get(name, ())))
    return f'python_version not in "{left_out}"' if left_out else ""


def ask(pinned: Sequence[str], command: Sequence[str]) -> dict[str, str]:
    """Return the hashes of the files that a dry run of pip chooses for the pinned versions."""
    own = {name: value for name, value in os.environ.items() if name not in OWN}
    with tempfile.TemporaryDirectory() as folder:
        wanted, report = Path(folder) / "pins.txt", Path(folder) / "report.json"
        wanted.write_text("\n".join(pinned), encoding="utf-8")
        said = [*command, "--requirement", str(wanted), "--target", folder, "--report", str(report)]
        environment = {**own, "PIP_CONFIG_FILE": os.devnull}
        done = subprocess.run(said, capture_output=True, text=True, check=False, env=environment)
        if done.returncode != 0:
            sys.exit(f"pip could not ask for the pinned versions:\n{done.stderr}")
        found = hashes_in(json.loads(report.read_text(encoding="utf-8")))
    print(f"{len(found)} of {len(pinned)} files are known", file=sys.stderr, flush=True)
    return found


def versions_in(text: str) -> list[str]:
    """Return the pinned versions of a file, which may have hashes.

    >>> versions_in("# Pins;six==1.17.0;    --hash=sha256:0f;lxml==6.1.0  # for XML".replace(";", chr(10)))
    ['six==1.17.0', 'lxml==6.1.0']
    """
    lines = (line.split("#")[0].strip().removesuffix(" \\") for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("--hash=")]


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description="Write the pinned versions with their hashes.")
    parser.add_argument("--pins", type=Path, default=CONSTRAINTS)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    every = versions_in(options.pins.read_text(encoding="utf-8"))
    wheels = [line for line in every if line.split("==")[0].lower() not in SOURCE_ONLY]
    sources = [line for line in every if line.split("==")[0].lower() in SOURCE_ONLY]
    asked = [(sources, [sys.executable, *DRY_RUN])] if sources else []
    asked += [
        (pins_for(python, wheels), dry_run_command(python, platform))
        for python in PYTHONS
        for platform in PLATFORMS
    ]
    with ThreadPoolExecutor(AT_ONCE) as pool:  # each waits for the index most of the time
        found = list(pool.map(lambda one: ask(*one), asked))
    header = HEADER if options.pins == CONSTRAINTS else OTHER_HEADER.format(options.pins)
    options.output.write_text(header + hashed_lines(every, found), encoding="utf-8")


if __name__ == "__main__":
    main()
