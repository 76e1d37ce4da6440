"""What a parser's process inherits, and that it ends with all that it has started, whoever dies first."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import pytest

from rag.errors import DocumentRefused
from rag.ingest.parsers import load, sandbox

SECRETS = {"OPENAI_API_KEY": "sk-marked", "FOOTNOTE_LLM_API_KEY": "sk-marked", "AWS_SECRET": "sk-marked"}
PROJECT = Path(__file__).parents[4]
# A grandchild that sleeps, its id told by a folder, since a reader writes no file; -3 lets go of the output.
STARTS_ANOTHER = (
    "import subprocess, sys, time; from pathlib import Path\n"
    "other = subprocess.Popen(['sleep', '60'], stdout={output}, stderr={output})\n"
    "Path({note!r}, str(other.pid)).mkdir(parents=True)\n"
    "{then}\n"
)
SERVER = """
import sys
from rag.ingest.parsers import sandbox
sandbox.run_program([sys.executable, "-c", sys.argv[1]], b"", "a.pdf", timeout=1, memory=1 << 30)
"""


def alive(pid: int) -> bool:
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout
    return bool(state.strip()) and not state.startswith("Z")


def ends(pid: int, seconds: float) -> bool:
    """Wait for a process to end, which is a state, and for `seconds` at most."""
    deadline = time.monotonic() + seconds
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not alive(pid)


def written(note: Path) -> int:
    """Wait for the id that a process tells."""
    deadline = time.monotonic() + 20
    while not list(note.glob("*")) and time.monotonic() < deadline:
        time.sleep(0.02)
    return int(next(note.iterdir()).name)


@pytest.mark.parametrize("converter", [False, True])
def test_a_program_that_reads_a_file_is_told_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, converter: bool
) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    note = tmp_path / "environment"
    code = f"import os, json; print(json.dumps(dict(os.environ)), file=open({str(note)!r}, 'w'))"
    if converter:
        command = [sys.executable, "-c", code]
        sandbox.run_converter(command, "a.doc", home=tmp_path, timeout=20, memory=1 << 30)
        told = json.loads(note.read_text())
    else:
        code = "import os, json; print(json.dumps(dict(os.environ)))"
        command = [sys.executable, "-c", code]
        told = json.loads(sandbox.run_program(command, b"", "a.png", timeout=20, memory=1 << 30))
    assert not SECRETS.keys() & told.keys() and "sk-marked" not in str(told)


@pytest.mark.skipif(sys.platform != "linux", reason="reads a process's environment in /proc: run it on Linux")
def test_a_parser_is_told_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "a").write_bytes(b"<html>" + b"<b>x" * 400_000)
    seen: list[bytes] = []

    def look() -> None:
        for _ in range(500):
            here = ["ps", "--ppid", str(os.getpid()), "-o", "pid=,args="]
            for line in subprocess.run(here, capture_output=True, text=True).stdout.splitlines():
                if "rag.ingest.parsers.worker load" in line:
                    seen.append(Path(f"/proc/{line.split()[0]}/environ").read_bytes())
                    return

    looking = Thread(target=look)
    looking.start()
    with pytest.raises(DocumentRefused):
        load(tmp_path / "a", "a.html", timeout=1)
    looking.join()
    assert b"PYTHONPATH=" in seen[0] and b"sk-marked" not in seen[0]


@pytest.mark.parametrize("then", ["time.sleep(60)", ""])
def test_what_a_reader_has_started_ends_with_it(tmp_path: Path, then: str) -> None:
    """The grandchild holds the reader's output open, so that it is waited for though the reader is done."""
    note = tmp_path / "grandchild"
    code = STARTS_ANOTHER.format(output="None", note=str(note), then=then)
    with pytest.raises(DocumentRefused, match="took longer than 1 seconds"):
        sandbox.run_program([sys.executable, "-c", code], b"", "a.pdf", timeout=1, memory=1 << 30)
    assert ends(written(note), 5)


def test_what_a_reader_leaves_behind_after_a_good_end_ends_too(tmp_path: Path) -> None:
    note = tmp_path / "grandchild"
    code = STARTS_ANOTHER.format(output="-3", note=str(note), then="print('read')")
    command = [sys.executable, "-c", code]
    assert sandbox.run_program(command, b"", "a.pdf", timeout=20, memory=1 << 30) == b"read\n"
    assert ends(written(note), 5)


def test_a_reader_whose_server_was_killed_ends_by_itself(tmp_path: Path) -> None:
    note = tmp_path / "reader"
    code = f"import os, time; os.makedirs({str(note)!r} + f'/{{os.getpid()}}'); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", SERVER, code], cwd=PROJECT) as server:
        reader = written(note)
        server.send_signal(signal.SIGKILL)
    assert ends(reader, 10)


def test_output_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "MAX_OUTPUT", 1 << 20)
    command = [sys.executable, "-c", "while True: print('more' * 1000)"]
    with pytest.raises(DocumentRefused, match=r"^a\.pdf holds more than 1 MB .* Split it"):
        sandbox.run_program(command, b"", "a.pdf", timeout=20, memory=1 << 30)


def test_a_reader_that_closed_its_output_may_still_end_well() -> None:
    code = "import os, time; os.write(1, b'read'); os.close(1); os.close(2); time.sleep(0.5)"
    command = [sys.executable, "-c", code]
    assert sandbox.run_program(command, b"", "a.pdf", timeout=20, memory=1 << 30) == b"read"


def test_a_reader_is_warned_a_second_before_its_time_is_up() -> None:
    code = "import resource; print(*resource.getrlimit(resource.RLIMIT_CPU))"
    command = [sys.executable, "-c", code]
    assert sandbox.run_program(command, b"", "a.pdf", timeout=20, memory=1 << 30) == b"21 22\n"


def test_a_converter_has_limits_too_and_may_write_a_file_of_300_megabytes(tmp_path: Path) -> None:
    note = tmp_path / "limits"
    names = ("RLIMIT_CPU", "RLIMIT_AS", "RLIMIT_FSIZE", "RLIMIT_CORE")
    limits = f"(resource.getrlimit(getattr(resource, name))[0] for name in {names})"
    code = f"import resource; print(*{limits}, file=open({str(note)!r}, 'w'))"
    command = [sys.executable, "-c", code]
    sandbox.run_converter(command, "a.doc", home=tmp_path, timeout=20, memory=1 << 30)
    assert note.read_text().split() == ["21", f"{1 << 30}", f"{300 << 20}", "0"]
