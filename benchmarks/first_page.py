"""Time from the start of the server's process to the first page in a browser.

    python benchmarks/first_page.py [--times 5] [--json]

Each time with an empty data directory and a fresh browser tab; the first start, which compiles, does
not count.
"""

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import Browser, expect, sync_playwright

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.e2e.conftest import FLAGS, serving


def first_page(browser: Browser) -> float:
    """Return the seconds from starting the server until its first page can be read."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.monotonic()
        with serving(Path(folder)) as server:
            page = browser.new_page()
            page.goto(server.url)
            expect(page.get_by_role("heading", name="Ask your own documents")).to_be_visible()
            seconds = time.monotonic() - started
            page.close()
    return seconds


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the median and the extremes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        _, *seconds = [first_page(browser) for _ in range(options.times + 1)]
        browser.close()
    figures = {"median_s": statistics.median(seconds), "least_s": min(seconds), "most_s": max(seconds)}
    rounded = {name: round(value, 2) for name, value in figures.items()}
    print(json.dumps(rounded) if options.json else rounded)


if __name__ == "__main__":
    main()
