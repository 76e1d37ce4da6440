"""Latency that Footnote adds before the first word of an answer, with twenty people asking at once.

    python benchmarks/crowd.py [--people 20] [--rounds 3] [--tabs] [--json]

The model is a local server that begins at once and writes 50 words a second, so all that passes from Enter
to the first word on the screen is added: by the browser, by Streamlit and by Footnote. Browsers and server
share this machine; with `--tabs` the people are bare websockets, which leaves what the server adds. Fails
where an answer is missing, doubled or broken off, or a page throws an error.
"""

import argparse
import asyncio
import json
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from playwright.async_api import Browser, Page, async_playwright

from tests.e2e.conftest import FLAGS, PATIENCE, ROOT, RUN, serving
from tests.faults.tab import Tab
from tests.rag.fake_llm import FakeLLM, Reply, Request

DOCUMENT = (
    "# Harbour\n\nThe harbour handled 4.1 million containers in 2024. Its first crane lifts 65 tonnes.\n"
)
LAST = "word99"
WRITER = "Written by"  # stands only under an answer as it was stored
WARM = 10.0  # seconds: browsers take longer to open than what the first question needs
WATCH = """() => {
  window.asked = window.seen = 0;
  document.addEventListener("keydown", key => {
    if (key.key === "Enter") window.asked = performance.now();
  }, true);
  const answers = '[data-testid="stChatMessage"]';
  new MutationObserver(() => {
    const last = [...document.querySelectorAll(answers)].pop();
    if (window.asked && !window.seen && last && last.textContent.includes(window.awaited))
      window.seen = performance.now();
  }).observe(document.body, {subtree: true, childList: true, characterData: true});
}"""


def question(person: int, number: int) -> str:
    """Return what a person asks in a round."""
    return f"How many containers, person {person}, round {number}?"


def first_word(person: int, number: int) -> str:
    """Return the first word of an answer, which no other answer has."""
    return f"Quillwort{person}x{number}"


def answer(request: Request) -> str:
    """Answer in 102 words."""
    person, number = re.findall(r"person (\d+), round (\d+)", request.messages[-1]["content"])[-1]
    return " ".join((first_word(person, number), *(f"word{count}" for count in range(100)), "[1]."))


async def ask(page: Page, text: str, first: str) -> float:
    """Ask, wait for the end of the answer, and return the milliseconds from Enter to its first word."""
    box = page.get_by_placeholder("Ask your documents")
    await box.fill(text)
    await page.evaluate("first => { window.asked = window.seen = 0; window.awaited = first; }", first)
    await box.press("Enter")
    await page.wait_for_function("window.seen > 0")
    await page.get_by_role("button", name="Stop", exact=True).wait_for(state="detached")
    return float(await page.evaluate("window.seen - window.asked"))


async def visit(browser: Browser, url: str, errors: list[str]) -> Page:
    """Open the chat in a browser of its own."""
    page = await (await browser.new_context()).new_page()
    page.set_default_timeout(PATIENCE)
    page.on("pageerror", lambda error: errors.append(str(error)))
    await page.goto(url)
    await page.get_by_placeholder("Ask your documents").wait_for()
    await page.evaluate(WATCH)
    return page


async def crowd(url: str, people: int, rounds: int) -> tuple[list[float], list[str]]:
    """Have everyone ask at once, some times over."""
    waited: list[float] = []
    errors: list[str] = []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        pages = [await visit(browser, url, errors) for _ in range(people)]
        for number in range(rounds):
            asked = (
                ask(page, question(n, number), first_word(n, number) + " ") for n, page in enumerate(pages)
            )
            waited += await asyncio.gather(*asked)
        await browser.close()
    return waited, errors


def sockets(url: str, people: int, rounds: int) -> tuple[list[float], list[str]]:
    """Ask the same questions without browsers."""
    tabs = [Tab.open(url) for _ in range(people)]
    time.sleep(WARM)
    waited: list[float] = []
    with ThreadPoolExecutor(people) as pool:
        for number in range(rounds):
            waited += pool.map(lambda n, number=number: answered(tabs[n], n, number), range(people))
    for tab in tabs:
        tab.close()
    return waited, []


def answered(tab: Tab, person: int, number: int) -> float:
    """Ask, read to the end of the answer, and return the milliseconds to its first word."""
    tab.until(lambda: tab.runs > number)
    first = first_word(person, number)
    started = time.perf_counter()
    tab.ask(question(person, number))
    tab.until(lambda: first in tab.text)
    waited = (time.perf_counter() - started) * 1000
    tab.until(lambda: tab.text.count(WRITER) > number and tab.text.count(LAST) > number)
    return waited


def stored(data: Path) -> dict[str, int]:
    """Return how many questions there are, and how many answers by their state."""
    with closing(sqlite3.connect(data / "footnote.db")) as db:
        rows = db.execute("SELECT role, state, count(*) FROM messages GROUP BY role, state")
        return {f"{role} {state}": count for role, state, count in rows}


def measure(people: int, rounds: int, *, tabs: bool) -> dict[str, float]:
    """Serve, ask, and return the latencies."""
    with tempfile.TemporaryDirectory() as folder, FakeLLM(default=Reply(answer, pause=0.02)) as fake:
        settings = {"FOOTNOTE_LLM_BASE_URL": fake.url, "FOOTNOTE_LLM_MODEL": "fake"}
        _ingest(Path(folder))
        with serving(Path(folder), command=RUN, **settings) as server:
            if tabs:
                waited, errors = sockets(server.url, people, rounds)
            else:
                waited, errors = asyncio.run(crowd(server.url, people, rounds))
        kept = stored(server.data)
    wanted = people * rounds
    if errors or kept != {"user complete": wanted, "assistant complete": wanted}:
        raise SystemExit(f"{len(errors)} page errors {errors[:1]}; stored {kept}, not {wanted} of each.")
    waited.sort()
    return {
        "people": people,
        "answers": len(waited),
        "p50_ms": round(statistics.median(waited)),
        "p95_ms": round(waited[int(len(waited) * 0.95)]),
        "worst_ms": round(waited[-1]),
    }


def _ingest(folder: Path) -> None:
    file = folder / "harbour.md"
    file.write_text(DOCUMENT)
    command = [sys.executable, "-m", "rag.cli", "--data", str(folder / "data"), "ingest", str(file)]
    subprocess.run(command, check=True, cwd=ROOT)


def main() -> None:
    """Print the figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--people", type=int, default=20)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--tabs", action="store_true", help="websockets in place of browsers")
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    result = measure(given.people, given.rounds, tabs=given.tabs)
    print(json.dumps(result) if given.json else "\n".join(f"{k:>10} {v}" for k, v in result.items()))


if __name__ == "__main__":
    main()
