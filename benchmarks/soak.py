"""Soak test: an hour of ordinary use, in which the server's memory, threads and files must not grow.

    python benchmarks/soak.py [--minutes 60] [--people 3] [--pause 2] [--json]

People who are signed in ask, add, replace and delete documents, reload pages, close tabs and open others,
each in a real browser against the real application; the model is a local server. All the while the server's
memory, threads, open files, connections to the ledger and the ledger's log of writes are read from `/proc`
(Linux only). At the end a line for each: the medians of the first and the last tenth after the warm-up, and
by how much it grew. Fails where memory grew by more than a tenth, where anything else is not level, and where
an act failed, a page threw an error, an answer is missing or doubled, or a person's name for their documents
came up in another's page, in a prompt with another's, or in the log.
"""

import argparse
import json
import random
import re
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from playwright.sync_api import Browser, BrowserContext, Error, expect, sync_playwright

from benchmarks.crowd import stored
from tests.e2e.conftest import FLAGS, PATIENCE, RUN, Server, Visitor, serving
from tests.e2e.visitor import click, gone
from tests.rag.fake_llm import FakeLLM, Reply

MOST_DOCUMENTS = 6  # that one person has at a time
TURNS = 20  # of one conversation
SEARCHABLE = re.compile("Searchable by|Indexing meaning|Ready")  # states in which a document is searched
SAMPLES = 60
ENTRANCE = {"FOOTNOTE_TRUSTED_HEADER": "X-Person", "FOOTNOTE_TRUSTED_PROXIES": "127.0.0.1"}
QUESTIONS = (
    "How many containers did port {} handle?",
    "What does the crane of port {} lift?",
    "And how many people work there?",
    "Compare the cranes of port {} with the others.",
    "{} 항구의 크레인은 무엇을 듭니까?",
)

# Resources of the server's process
WARM_UP = 1 / 6  # of the time: models are loaded and caches filled by then
GROWTH = 0.1  # more than this is too much
LEAST = {"memory_mb": 0.0, "log_mb": 8.0}  # by so much these may grow; the ledger's log is cut back at 4 MB
FEW = 3.0  # threads, files or connections more, which come and go with who asks at the moment


@dataclass(frozen=True)
class Sample:
    """Resources of a process at a time, in seconds since the start."""

    seconds: float
    memory_mb: float
    threads: int
    files: int
    connections: int
    log_mb: float


KINDS = ("memory_mb", "threads", "files", "connections", "log_mb")


@dataclass(frozen=True)
class Growth:
    """Growth of one resource: medians of the first and last tenth, and the slope of the line through all."""

    kind: str
    first: float
    last: float
    line: float

    @property
    def grew(self) -> float:
        """Return the smaller growth, by medians or slope: one peak makes no growth, and hides none."""
        return min(self.last - self.first, self.line)

    @property
    def level(self) -> bool:
        """Return True where the growth is within its limit."""
        return self.grew <= max(GROWTH * self.first, LEAST.get(self.kind, FEW))


def growth(kind: str, seconds: Sequence[float], values: Sequence[float]) -> Growth:
    """Return the growth of a series of values.

    From 100, 100, 110, 120, 120 at 0, 1, 2, 3, 4 seconds the line rises by 6 a second, 24 in all; the medians
    of the first and last are 100 and 120.
    """
    tenth = max(1, len(values) // 10)
    slope = statistics.linear_regression(seconds, values).slope if len(set(seconds)) > 1 else 0.0
    first, last = statistics.median(values[:tenth]), statistics.median(values[-tenth:])
    return Growth(kind, first, last, slope * (seconds[-1] - seconds[0]))


def all_growth(samples: Sequence[Sample]) -> list[Growth]:
    """Return the growth of each resource after the warm-up; ValueError without samples of that time."""
    warm = [sample for sample in samples if sample.seconds >= WARM_UP * samples[-1].seconds]
    if len(warm) < 2:
        raise ValueError("There are too few samples to see a growth in: let it run for longer.")
    seconds = [sample.seconds for sample in warm]
    return [growth(kind, seconds, [float(getattr(sample, kind)) for sample in warm]) for kind in KINDS]


def look(server: Server, seconds: float) -> Sample:
    """Sample the resources of the server's process."""
    proc = Path("/proc", str(server.process.pid))
    status = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines())
    ledger, log = server.data / "footnote.db", server.data / "footnote.db-wal"
    open_files = [_target(link) for link in (proc / "fd").iterdir()]
    return Sample(
        seconds,
        int(status["VmRSS"].split()[0]) / 1024,
        int(status["Threads"]),
        len(open_files),
        open_files.count(str(ledger)),
        log.stat().st_size / 1e6 if log.exists() else 0.0,
    )


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:  # closed meanwhile
        return ""


@contextmanager
def watching(server: Server, every: float, told: Callable[[Sample], None]) -> Iterator[list[Sample]]:
    """Read the server's process every so many seconds while the block runs."""
    samples, over, begun = list[Sample](), threading.Event(), time.monotonic()

    def watch() -> None:
        while not over.wait(every):
            samples.append(look(server, time.monotonic() - begun))
            told(samples[-1])

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield samples
    finally:
        over.set()
        thread.join()


# People
@dataclass
class Person:
    """Simulated person with a browser of their own, who does one thing after another."""

    name: str
    context: BrowserContext
    url: str
    folder: Path
    chance: random.Random
    errors: list[str] = field(default_factory=list)
    documents: dict[str, int] = field(default_factory=dict)
    chat: str = ""
    asked: int = 0
    made: int = 0

    def __post_init__(self) -> None:
        self.context.set_default_timeout(PATIENCE)
        self.visitor = self._tab()

    def ask(self) -> None:
        """Ask, once the last answer is complete, without waiting for this one."""
        page = self.visitor.page
        if self.asked % TURNS == 0 or not page.get_by_placeholder("Ask your documents").is_visible():
            page.goto(self.chat if self.asked % TURNS else self.url)
            self.visitor.rested()
        self.answered()
        question = self.chance.choice(QUESTIONS).format(self.chance.randrange(self.made + 1))
        self.visitor.ask(f"{self.asked + 1}. {question}")  # by its number it is seen to stand there
        expect(page).to_have_url(re.compile("chat="))
        self.chat, self.asked = page.url, self.asked + 1

    def answered(self) -> None:
        """Wait until no answer is being streamed on the page."""
        expect(self.visitor.page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)

    def add(self) -> None:
        """Add a document; at most so many stay."""
        if len(self.documents) >= MOST_DOCUMENTS:
            self.delete()
        self.made += 1
        self._put(f"{self.name}-{self.made}.md")

    def replace(self) -> None:
        """Give one of the documents another content."""
        if self.documents:
            self._put(self.chance.choice(sorted(self.documents)))

    def delete(self) -> None:
        """Delete one of the documents."""
        if not self.documents:
            return
        name, page = self.chance.choice(sorted(self.documents)), self.visitor.page
        self._on_documents()
        chosen, delete = page.get_by_text("1 selected"), page.get_by_role("button", name="Delete", exact=True)
        click(page.get_by_role("checkbox", name=f"Select {name}", exact=True), then=chosen)
        click(delete, then=gone(self.visitor.row(name)))
        del self.documents[name]

    def reload(self) -> None:
        """Reload the page, also during an answer."""
        self.visitor.page.reload()

    def change_tabs(self) -> None:
        """Close the tab, also during an answer, and open another one."""
        self.visitor.page.close()
        self.visitor = self._tab()

    def try_to(self, act: str) -> None:
        """Run an action; where it fails, record that and open another tab."""
        try:
            getattr(self, act)()
        except (Error, AssertionError) as error:
            said = " ".join(str(error).split())[:300]
            self.errors.append(f"{self.name} could not {act}: {said}")
            self.change_tabs()

    def _put(self, name: str) -> None:
        self.documents[name] = self.documents.get(name, 0) + 1
        file = self.folder / name
        file.write_text(_text(name, self.documents[name]), "utf-8")
        self._on_documents()
        self.visitor.add(file)
        expect(self.visitor.row(name)).to_contain_text(SEARCHABLE)

    def _on_documents(self) -> None:
        if (
            self.visitor.page.get_by_test_id("stFileUploader").count() == 0
            or "/library" not in self.visitor.page.url
        ):
            self.visitor.page.goto(f"{self.url}/library")
        self.visitor.rested()

    def _tab(self) -> Visitor:
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.errors.append(f"{self.name} saw {error}"))
        page.goto(self.url)
        visitor = Visitor(page)
        visitor.rested()
        return visitor


ACTS = {"ask": 14, "add": 2, "replace": 1, "delete": 1, "reload": 2, "change_tabs": 2}  # of 22


def _text(name: str, edition: int) -> str:
    """Return a document of some forty passages."""
    return f"# {name}, edition {edition}\n\n" + "\n\n".join(
        f"## Port {port}\n\nPort {port} handled {port * edition + 4} million containers in 20{port:02}. "
        f"Its crane lifts {port + edition} tonnes, and {port * 31} people work there.\n\n"
        f"{port} 항구의 크레인은 배를 듭니다. {port}번 부두에서는 {port * 7}명이 일합니다."
        for port in range(40)
    )


NAME = re.compile(r"(person\d+)-\d")  # in every document, and in its name


def strangers(text: str, name: str = "") -> set[str]:
    """Return the people, other than `name`, whose documents a text names."""
    return set(NAME.findall(text)) - {name}


def leaks(log: str, prompts: Sequence[str]) -> list[str]:
    """Return the leaks in a server's log and in the requests to its model."""
    found = [f"The log names {name}'s documents." for name in strangers(log)]
    mixed = [names for names in map(strangers, prompts) if len(names) > 1]
    return [*found, *(f"A prompt has documents of {sorted(names)}." for names in mixed)]


def use(browser: Browser, url: str, folder: Path, people: int, until: float, pause: float) -> list[Person]:
    """Let people use the application in turns; their answers are generated at the same time."""
    chance = random.Random(7)
    everyone = [
        Person(name, browser.new_context(extra_http_headers={"X-Person": name}), url, folder, chance)
        for name in (f"person{number}" for number in range(people))
    ]
    for person in everyone:
        person.try_to("add")
    while time.monotonic() < until:
        person = chance.choice(everyone)
        person.try_to(chance.choices(list(ACTS), list(ACTS.values()))[0])
        person.visitor.page.wait_for_timeout(pause * 1000)
        for other in strangers(person.visitor.page.inner_text("body"), person.name):
            person.errors.append(f"{person.name} saw documents of {other}.")
    for person in everyone:
        person.try_to("ask")
        person.try_to("answered")
    return everyone


@dataclass
class Result:
    """Result of the soak test."""

    growth: list[Growth]
    asked: int
    added: int
    stored: Mapping[str, int]
    errors: list[str]

    @property
    def sound(self) -> bool:
        """Return True where nothing grew, failed or is missing."""
        answered = self.stored == {"user complete": self.asked, "assistant complete": self.asked}
        return answered and not self.errors and all(one.level for one in self.growth)


def soak(minutes: float, people: int, pause: float, told: Callable[[Sample], None]) -> Result:
    """Serve, simulate the people, and return the result."""
    pieces = ("Quillwort", *(f" word{number}" for number in range(60)), " [1].")
    with tempfile.TemporaryDirectory() as name, FakeLLM(default=Reply(pieces=pieces, pause=0.02)) as fake:
        folder, settings = Path(name), {"FOOTNOTE_LLM_BASE_URL": fake.url, "FOOTNOTE_LLM_MODEL": "fake"}
        with serving(folder, command=RUN, **settings, **ENTRANCE) as server, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
            until = time.monotonic() + minutes * 60
            with watching(server, min(60.0, minutes * 60 / SAMPLES), told) as samples:
                everyone = use(browser, server.url, folder, people, until, pause)
            browser.close()
        errors = [error for person in everyone for error in person.errors]
        errors += leaks(server.log.read_text(), [request.prompt for request in fake.requests])
        asked, added = sum(one.asked for one in everyone), sum(one.made for one in everyone)
        return Result(all_growth(samples), asked, added, stored(server.data), errors)


def _tell(sample: Sample) -> None:
    """Print the progress."""
    shown = ", ".join(f"{kind} {getattr(sample, kind):.0f}" for kind in KINDS)
    print(f"{sample.seconds / 60:6.1f} min  {shown}", file=sys.stderr, flush=True)


def _table(result: Result) -> str:
    """Return the result, a line for each resource."""
    lines = [f"{'':12} {'first':>9} {'last':>9} {'grew':>9}"]
    for one in result.growth:
        said = "level" if one.level else "NOT LEVEL"
        lines.append(f"{one.kind:12} {one.first:9.1f} {one.last:9.1f} {one.grew:9.1f}  {said}")
    lines.append(f"{result.asked} asked, {result.added} documents added; stored {dict(result.stored)}")
    return "\n".join([*lines, *result.errors])


def main() -> int:
    """Print the result; 1 where it is not sound."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--minutes", type=float, default=60)
    options.add_argument("--people", type=int, default=3)
    options.add_argument("--pause", type=float, default=2, help="seconds between two acts")
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    result = soak(given.minutes, given.people, given.pause, _tell)
    print(json.dumps(asdict(result), indent=2) if given.json else _table(result))
    return int(not result.sound)


if __name__ == "__main__":
    sys.exit(main())
