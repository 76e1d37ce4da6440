"""Twenty people asking at once, each in a browser: what Footnote adds before the first word is seen.

    python benchmarks/crowd.py [--people 20] [--rounds 3] [--json]

The model is a local server that begins at once and writes 50 words a second, so all that passes from Enter
to the first word on the screen is added: by the browser, by Streamlit and by Footnote. Browsers and server
share this machine. Fails where an answer is missing, doubled or broken off, or a page throws an error.
"""

import argparse
import asyncio
import json
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from playwright.async_api import Browser, Page, async_playwright

from tests.e2e.conftest import FLAGS, PATIENCE, serving
from tests.rag.fake_llm import FakeLLM, Reply

FIRST = "Quillwort"  # no page shows this word before the answer does
WORDS = (FIRST, *(f" word{number}" for number in range(100)), " [1].")
DOCUMENT = (
    "# Harbour\n\nThe harbour handled 4.1 million containers in 2024. Its first crane lifts 65 tonnes.\n"
)
WATCH = """() => {
  window.asked = window.seen = 0;
  document.addEventListener("keydown", key => {
    if (key.key === "Enter") { window.asked = performance.now(); window.seen = 0; }
  }, true);
  const answers = '[data-testid="stChatMessage"]';
  new MutationObserver(() => {
    const last = [...document.querySelectorAll(answers)].pop();
    if (window.asked && !window.seen && last && last.textContent.includes("%s"))
      window.seen = performance.now();
  }).observe(document.body, {subtree: true, childList: true, characterData: true});
}"""


async def ask(page: Page, question: str) -> float:
    """Ask, wait for the end of the answer, and return the milliseconds from Enter to its first word."""
    box = page.get_by_placeholder("Ask your documents")
    await box.fill(question)
    await page.evaluate("window.asked = window.seen = 0")
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
    await page.evaluate(WATCH % FIRST)
    return page


async def crowd(url: str, people: int, rounds: int) -> tuple[list[float], list[str]]:
    """Have everyone ask at once, some times over."""
    waited: list[float] = []
    errors: list[str] = []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        pages = [await visit(browser, url, errors) for _ in range(people)]
        for number in range(rounds):
            questions = (f"How many containers, person {n}, round {number}?" for n in range(people))
            waited += await asyncio.gather(*map(ask, pages, questions))
        await browser.close()
    return waited, errors


def stored(data: Path) -> dict[str, int]:
    """Return how many questions there are, and how many answers by their state."""
    with closing(sqlite3.connect(data / "footnote.db")) as db:
        rows = db.execute("SELECT role, state, count(*) FROM messages GROUP BY role, state")
        return {f"{role} {state}": count for role, state, count in rows}


def measure(people: int, rounds: int) -> dict[str, float]:
    """Serve, let them ask, and return what they waited."""
    with tempfile.TemporaryDirectory() as folder, FakeLLM(default=Reply(pieces=WORDS, pause=0.02)) as fake:
        settings = {"FOOTNOTE_LLM_BASE_URL": fake.url, "FOOTNOTE_LLM_MODEL": "fake"}
        _ingest(Path(folder))
        with serving(Path(folder), **settings) as server:
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
    footnote = str(Path(sys.executable).with_name("footnote"))
    subprocess.run([footnote, "--data", str(folder / "data"), "ingest", str(file)], check=True)


def main() -> None:
    """Print the figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--people", type=int, default=20)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    result = measure(given.people, given.rounds)
    print(json.dumps(result) if given.json else "\n".join(f"{k:>10} {v}" for k, v in result.items()))


if __name__ == "__main__":
    main()
