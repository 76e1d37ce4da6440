"""Check that every pinned version has a wheel for each supported Python and platform.

    python scripts/check_wheels.py [--python 3.14] [--platform macos]

Asks the package index through pip's dry run, so nothing is installed. Needs a recent pip: older ones download
every wheel.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

CONSTRAINTS = Path(__file__).parent.parent / "constraints.txt"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = {
    "linux": (
        *(f"manylinux_2_{minor}_x86_64" for minor in range(28, 4, -1)),
        "manylinux2014_x86_64",
        "manylinux2010_x86_64",
        "manylinux1_x86_64",
    ),
    "macos": ("macosx_14_0_arm64",),
}
"""Tags that pip accepts on Linux x86-64 with glibc 2.28 and on macOS 14 on Apple silicon."""
SOURCE_ONLY = {"kiwipiepy_model", "sudachidict-core"}
"""Data packages that are published as source archives only. They hold no code that must be compiled."""
WITHOUT_WHEEL = {"deeplake": {"3.14"}}
"""Packages of the tests alone, and the Pythons for which they have no wheel: left out there."""
_MISSING = re.compile(r"No matching distribution found for ([A-Za-z0-9._-]+)==")


def pins(constraints: Path) -> list[str]:
    """Return the pinned requirements of a constraints file that should have wheels."""
    lines = (line.split("#")[0].strip() for line in constraints.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line and line.split("==")[0].lower() not in SOURCE_ONLY]


def pins_for(python: str, pinned: Sequence[str]) -> list[str]:
    """Return the requirements that a Python version installs.

    >>> pins_for("3.14", ["deeplake==4.7.4", "numpy==2.4.6"])
    ['numpy==2.4.6']
    """
    return [line for line in pinned if python not in WITHOUT_WHEEL.get(line.split("==")[0].lower(), ())]


def missing_wheels(pinned: Sequence[str], python: str, platform: str) -> list[str]:
    """Return the requirements that have no wheel for a Python version on a platform."""
    left, missing = list(pinned), []
    while left:
        done = _dry_run(left, python, platform)
        if done.returncode == 0:
            break
        found = _MISSING.search(done.stderr)
        failed = [line for line in left if found and line.split("==")[0].lower() == found[1].lower()]
        if not failed:
            sys.exit(f"pip could not ask for Python {python} on {platform}:\n{done.stderr}")
        missing += failed
        left = [line for line in left if line not in failed]
    return missing


def dry_run_command(python: str, platform: str) -> list[str]:
    """Return a command of pip that chooses wheels for a Python version on a platform, and installs none."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--no-deps"]
    command += ["--quiet", "--only-binary=:all:", "--python-version", python]
    command += [argument for tag in PLATFORMS[platform] for argument in ("--platform", tag)]
    return [*command, "--implementation", "cp"]


def _dry_run(pinned: Sequence[str], python: str, platform: str) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder) / "pins.txt"
        wanted.write_text("\n".join(pinned), encoding="utf-8")
        command = dry_run_command(python, platform)
        command += ["--target", folder, "--requirement", str(wanted)]
        return subprocess.run(command, capture_output=True, text=True, check=False)


def main() -> int:
    """Print one line for each Python and platform; return 1 where a wheel is missing."""
    parser = argparse.ArgumentParser(description="Check that every pinned version has a wheel.")
    parser.add_argument("--python", action="append", choices=PYTHONS, help="default: all")
    parser.add_argument("--platform", action="append", choices=sorted(PLATFORMS), help="default: all")
    options = parser.parse_args()
    pinned, failed = pins(CONSTRAINTS), False
    for python in options.python or PYTHONS:
        for platform in options.platform or PLATFORMS:
            wanted = pins_for(python, pinned)
            missing = missing_wheels(wanted, python, platform)
            failed |= bool(missing)
            said = f"no wheel for {', '.join(missing)}" if missing else f"{len(wanted)} wheels"
            print(f"Python {python} on {platform}: {said}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
