"""Build the wheel reproducibly: the same sources give the same bytes.

    python scripts/build_wheel.py [--output dist]

Times in the wheel are SOURCE_DATE_EPOCH, or else that of the last commit; permissions are the same for
everyone. Prints the file's name and its SHA-256.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
EARLIEST = 315532800  # 1980-01-01, before which a zip has no time


def epoch() -> str:
    """Return the time of the wheel's members, in seconds."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given is None:
        command = ["git", "log", "-1", "--format=%ct"]
        given = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    return str(max(int(given), EARLIEST))


def build(output: Path) -> Path:
    """Build the wheel into a folder; return its path."""
    os.umask(0o022)
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            str(ROOT),
            "--no-deps",
            "--quiet",
            "--wheel-dir",
            folder,
        ]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": epoch(), "PYTHONHASHSEED": "0"}
        subprocess.run(command, check=True, env=environment)
        (built,) = Path(folder).glob("*.whl")
        output.mkdir(parents=True, exist_ok=True)
        return built.replace(output / built.name)


def main() -> None:
    """Build, and print the name and the hash."""
    parser = argparse.ArgumentParser(description="Build the wheel reproducibly.")
    parser.add_argument("--output", type=Path, default=ROOT / "dist")
    wheel = build(parser.parse_args().output)
    print(f"{hashlib.sha256(wheel.read_bytes()).hexdigest()}  {wheel.name}")


if __name__ == "__main__":
    main()
