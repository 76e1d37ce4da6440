"""Time to open a chat of 2,000 turns in a browser, and to page back, beside one of ten.

    python benchmarks/long_chat.py [--turns 2000] [--times 5] [--json]

Every answer has six passages and two citations, as answers have. A time is from pressing to the last
question that is shown; the first of each kind is not counted.
"""

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

sys.path.insert(0, str(Path(__file__).parent.parent))

from storage.conversations import Conversations
from storage.database import Database
from storage.records import CitationRecord, PassageRecord
from tests.e2e.conftest import FLAGS, RUN, serving

TEXT = "The harbour handled 4.1 million containers in 2024, twelve percent more than in the year before. " * 8
PASSAGE = PassageRecord(1, "d-0", "d", "report.pdf", "0" * 64, 3, "Figures", 0, len(TEXT), TEXT, 1.0)
PASSAGES = [replace(PASSAGE, number=number) for number in range(1, 7)]
ANSWER = "The harbour handled 4.1 million containers in 2024 [1]. It was twelve percent more [2]."
CITATIONS = [
    CitationRecord(1, 0, 56, "verified", 0, 97, TEXT[:97]),
    CitationRecord(2, 57, len(ANSWER), "verified", 0, 97, TEXT[:97]),
]


def fill(data: Path, lengths: Sequence[int]) -> None:
    """Write a chat of each length, named by it."""
    database = Database.open(data)
    chats = Conversations(database, "local")
    for turns in lengths:
        chat = chats.create(f"Chat of {turns}").id
        for number in range(turns):
            turn = chats.begin_turn(chat, f"Question {number} of {turns}?")
            chats.checkpoint(turn.answer_id, "", passages=PASSAGES)
            chats.finish(turn.answer_id, "complete", ANSWER, citations=CITATIONS)
    database.close()


def timed(act: Callable[[], object], page: Page, sign: str) -> float:
    """Return the seconds from an act until a sign of its end is seen."""
    started = time.monotonic()
    act()
    expect(page.get_by_text(sign, exact=True)).to_be_visible()
    return time.monotonic() - started


def opened(page: Page, turns: int, times: int) -> list[float]:
    """Return the seconds of opening the chat of so many turns, each time from an empty new chat."""
    seconds = []
    for _ in range(times + 1):
        page.get_by_role("button", name="New chat").click()
        expect(page.get_by_role("heading", name="Ask your own documents")).to_be_visible()
        chat = page.get_by_role("button", name=f"Chat of {turns}", exact=True)
        seconds.append(timed(chat.click, page, f"Question {turns - 1} of {turns}?"))
    return seconds[1:]


def paged_back(page: Page, turns: int, times: int) -> list[float]:
    """Return the seconds of each step back in the open chat."""
    back = page.get_by_role("button", name="Earlier messages")
    signs = [f"Question {turns - 1 - 15 * step} of {turns}?" for step in range(1, times + 2)]
    return [timed(back.click, page, sign) for sign in signs][1:]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--turns", type=int, default=2000)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        fill(Path(folder) / "data", (10, options.turns))
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        with serving(Path(folder), command=RUN) as server:
            page = browser.new_page()
            page.goto(server.url)
            short = opened(page, 10, options.times)
            long = opened(page, options.turns, options.times)
            back = paged_back(page, options.turns, options.times)
        browser.close()
    figures = {
        "open_10_turns_s": statistics.median(short),
        f"open_{options.turns}_turns_s": statistics.median(long),
        "page_back_s": statistics.median(back),
    }
    rounded = {name: round(value, 2) for name, value in figures.items()}
    print(json.dumps(rounded) if options.json else rounded)


if __name__ == "__main__":
    main()
