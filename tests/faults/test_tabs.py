"""What people do while an answer is written: it is the server's, whole and there once, whatever tabs do."""

import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from tests.e2e.conftest import Server
from tests.faults.conftest import Open
from tests.faults.tab import PATIENCE, Tab, wait_for
from tests.rag.fake_llm import FakeLLM, Reply

pytestmark = pytest.mark.timeout(900)

TEXT = " ".join(f"word{number}" for number in range(40))
LAST, STORED = "word39", "Written by"  # the second stands only under an answer as it was stored
LONG = " ".join(f"word{number}" for number in range(400))
QUESTION = "How many containers were handled?"
WAITS = "Still answering"
NOTES = ("harbour.md", b"# Harbour\n\nThe harbour handled 4.1 million containers in 2024.\n")
EACH_MOMENT = pytest.mark.slow(reason="does each thing at five moments of an answer")
# Words that are written by then, of forty.
MOMENTS = [10, *(pytest.param(words, marks=EACH_MOMENT) for words in (0, 1, 39, 40))]
FIRST, *OTHERS = random.Random(3).sample(range(1, 300), 4)
STOPS = [FIRST, *(pytest.param(words, marks=EACH_MOMENT) for words in OTHERS)]


@pytest.fixture(scope="module", autouse=True)
def _read(server: Server) -> None:
    """One document is there, and the first question was asked: what it loads takes longest."""
    tab = Tab.open(server.url)
    tab.ask(QUESTION, NOTES)
    tab.until(lambda: STORED in tab.text)
    tab.close()


@pytest.fixture(autouse=True)
def _held(fake: FakeLLM) -> Iterator[None]:
    fake.hung_up.clear()
    fake.released.clear()
    yield
    fake.released.set()


def messages(server: Server, chat: str, role: str = "assistant") -> list[tuple[str, str]]:
    """The state and text of every answer of a chat, or every question, oldest first."""
    asked = "select state, content from messages where conversation_id = ? and role = ? order by rowid"
    with closing(sqlite3.connect(f"file:{server.data / 'footnote.db'}?mode=ro", uri=True)) as ledger:
        return ledger.execute(asked, (chat, role)).fetchall()


def is_hidden(server: Server, chat: str) -> bool:
    """Whether a chat was deleted, and can be restored for some days."""
    asked = "select deleted is not null from conversations where id = ?"
    with closing(sqlite3.connect(f"file:{server.data / 'footnote.db'}?mode=ro", uri=True)) as ledger:
        return ledger.execute(asked, (chat,)).fetchall() == [(1,)]


def is_answered(server: Server, chat: str) -> bool:
    """Whether the last answer of a chat is still written, or was written to its end."""
    return messages(server, chat)[-1][0] in ("pending", "complete")


def begun(tab: Tab, fake: FakeLLM, words: int, text: str = TEXT) -> str:
    """Ask, and wait until so many words are written and no more; returns the chat."""
    fake.reply(Reply(text, hold_after=words))
    before = len(fake.requests)
    tab.ask(QUESTION)
    tab.until(lambda: len(fake.requests) > before and come_to(words) in tab.text and bool(tab.chat))
    return tab.chat


def come_to(words: int) -> str:
    """The last of so many words."""
    return f"word{words - 1}" if words else "Stop"


def ended(tab: Tab, fake: FakeLLM) -> None:
    fake.released.set()
    tab.until(lambda: LAST in tab.text and STORED in tab.text)


def stop(tab: Tab) -> None:
    """The one answer that is being written; while the page is drawn its button is away for a moment."""
    tab.until(lambda: bool(tab.shown.ways("stop-")))
    (key,) = tab.shown.ways("stop-")
    tab.press(key, then=lambda: tab.drawn and tab.shown.way(key) is None)


def reload(tab: Tab, fake: FakeLLM, server: Server) -> None:
    tab.reload()


def close_and_come_back(tab: Tab, fake: FakeLLM, server: Server) -> None:
    """Nobody looks while the answer ends."""
    chat = tab.chat
    tab.close()
    fake.released.set()
    wait_for(lambda: messages(server, chat) == [("complete", TEXT)])
    tab.reload()


def lose_the_network(tab: Tab, fake: FakeLLM, server: Server) -> None:
    tab.cut()
    tab.reconnect()


def go_back_and_forth(tab: Tab, fake: FakeLLM, server: Server) -> None:
    here = tab.query
    tab.go("")
    tab.until(lambda: "Ask your documents" in tab.text)
    tab.go(here)


def click_on_another_chat(tab: Tab, fake: FakeLLM, server: Server) -> None:
    chat = tab.chat
    tab.press("new-chat", then=lambda: "Ask your documents" in tab.text)
    tab.press(f"open-{chat}", then=lambda: tab.chat == chat)


def ask_again(tab: Tab, fake: FakeLLM, server: Server) -> None:
    asked = len(fake.requests)
    tab.ask("And in 2023?")
    tab.until(lambda: WAITS in tab.text)
    assert len(fake.requests) == asked


def rename(tab: Tab, fake: FakeLLM, server: Server) -> None:
    tab.write(f"title-{tab.chat}", "Containers, by year")
    tab.until(lambda: "# Containers, by year" in tab.text)


ACTS = [
    reload,
    close_and_come_back,
    lose_the_network,
    go_back_and_forth,
    click_on_another_chat,
    ask_again,
    rename,
]


@pytest.mark.parametrize("words", MOMENTS)
@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.__name__)
def test_an_answer_is_followed_to_its_end_and_stored_once(
    open_tab: Open, server: Server, fake: FakeLLM, act: Callable[..., None], words: int
):
    tab = open_tab()
    chat = begun(tab, fake, words)
    act(tab, fake, server)
    tab.until(lambda: come_to(words) in tab.text or STORED in tab.text)
    ended(tab, fake)
    assert (tab.chat, messages(server, chat)) == (chat, [("complete", TEXT)])
    assert messages(server, chat, "user") == [("complete", QUESTION)]


@pytest.mark.parametrize("words", MOMENTS)
def test_a_chat_that_is_deleted_stays_deleted(open_tab: Open, server: Server, fake: FakeLLM, words: int):
    tab = open_tab()
    chat = begun(tab, fake, words)
    tab.press("delete-chat", then=lambda: not tab.chat and "Ask your documents" in tab.text)
    assert fake.hung_up.wait(PATIENCE)
    fake.released.set()
    wait_for(lambda: is_hidden(server, chat) and not is_answered(server, chat))
    assert tab.shown.way(f"open-{chat}") is None


@pytest.mark.parametrize("words", STOPS)
def test_a_stop_closes_the_connection_and_keeps_what_was_written(
    open_tab: Open, server: Server, fake: FakeLLM, words: int
):
    tab = open_tab()
    fake.reply(Reply(LONG, pause=0.001, hold_after=words + 50))
    tab.ask(QUESTION)
    tab.until(lambda: come_to(words) in tab.text and bool(tab.chat))
    stop(tab)
    assert fake.hung_up.wait(PATIENCE)
    tab.until(lambda: "Stopped." in tab.text)
    ((state, text),) = messages(server, tab.chat)
    assert state == "stopped" and LONG.startswith(text) and come_to(words) in text


def test_a_question_draws_its_turn_first_and_the_page_around_it_after(
    open_tab: Open, server: Server, fake: FakeLLM
):
    tab = open_tab()
    fake.say("Four million [1].")
    tab.ask("How many?")
    tab.until(lambda: STORED in tab.text and tab.drawn)
    fake.reply(Reply(TEXT, hold_after=1))
    tab.ask(f"And now: {QUESTION}")
    tab.until(lambda: f"And now: {QUESTION}" in tab.shown.latest)
    assert "Four million" not in tab.shown.latest and "New chat" not in tab.shown.latest
    tab.until(lambda: "Four million" in tab.shown.latest and "New chat" in tab.shown.latest)
    ended(tab, fake)


# Two tabs of one person, in one chat.

CRANES, PEOPLE = "How many cranes were built in 2024?", "How many people were employed in 2024?"


@pytest.fixture
def two(open_tab: Open, fake: FakeLLM) -> tuple[Tab, Tab]:
    """Two tabs that show one chat, of one answered question."""
    fake.reply(Reply("Four million [1]."))
    one = open_tab()
    one.ask("How many?")
    one.until(lambda: STORED in one.text)
    other = open_tab(one.query)
    other.until(lambda: STORED in other.text)
    return one, other


def test_both_ask_at_once_and_one_is_told_to_wait(two: tuple[Tab, Tab], server: Server, fake: FakeLLM):
    fake.reply(Reply(TEXT, hold_after=5))
    for tab, question in zip(two, (CRANES, PEOPLE), strict=True):
        tab.ask(question)
    both_see(two, lambda tab: "word4" in tab.text)
    fake.released.set()
    both_see(two, lambda tab: LAST in tab.text and "Stop" not in tab.text)
    asked = [text for _, text in messages(server, two[0].chat, "user")]
    assert asked in (["How many?", CRANES], ["How many?", PEOPLE])
    assert [state for state, _ in messages(server, two[0].chat)] == ["complete"] * 2
    assert sum(WAITS in tab.text for tab in two) <= 1


def test_both_ask_in_turn_and_see_one_order(two: tuple[Tab, Tab], server: Server, fake: FakeLLM):
    for number, tab in enumerate([*two, *two]):
        fake.say(f"Answer{number} [1].")
        tab.ask(f"Question{number}: how many containers?")
        both_see(two, lambda tab, number=number: f"Answer{number}" in tab.text and "Stop" not in tab.text)
        # The words are on the page a moment before the turn ends, and until then a question is refused.
        tab.until(lambda: {state for state, _ in messages(server, two[0].chat)} == {"complete"})
    order = [f"{kind}{number}" for number in range(4) for kind in ("Question", "Answer")]
    for tab in two:
        places = [tab.text.index(said) for said in order]
        assert places == sorted(places)
    assert len(messages(server, two[0].chat)) == 5


def test_one_deletes_what_the_other_looks_at(two: tuple[Tab, Tab], server: Server):
    one, other = two
    chat = one.chat
    one.press("delete-chat", then=lambda: not one.chat)
    other.until(lambda: not other.chat and "Ask your documents" in other.text, look=True)
    assert "This chat was deleted. You can restore it." in other.text
    assert is_hidden(server, chat)


def test_one_deletes_while_the_other_s_answer_is_written(two: tuple[Tab, Tab], server: Server, fake: FakeLLM):
    one, other = two
    chat = one.chat
    begun(other, fake, 10)
    one.press("delete-chat", then=lambda: not one.chat)
    assert fake.hung_up.wait(PATIENCE)
    other.until(lambda: not other.chat and "Ask your documents" in other.text, look=True)
    wait_for(lambda: is_hidden(server, chat) and not is_answered(server, chat))


def test_one_adds_a_file_while_the_other_s_answer_is_written(
    two: tuple[Tab, Tab], open_tab: Open, server: Server, fake: FakeLLM
):
    one, other = two
    chat = begun(other, fake, 10)
    one.until(lambda: "word9" in one.text, look=True)
    one.ask("", ("cranes.md", b"# Cranes\n\nThe first crane lifts 65 tonnes.\n"))
    one.until(lambda: any("cranes.md" in said for said in one.shown.told))
    fake.released.set()
    both_see(two, lambda tab: LAST in tab.text and "Stop" not in tab.text)
    assert [state for state, _ in messages(server, chat)] == ["complete"] * 2
    fake.say("It lifts 65 tonnes [1].")
    other.ask("How much does the first crane lift?")
    other.until(lambda: "cranes.md" in other.text and "65 tonnes" in other.text)


def test_one_stops_what_the_other_has_asked(two: tuple[Tab, Tab], server: Server, fake: FakeLLM):
    one, other = two
    begun(other, fake, 10)
    one.until(lambda: "word9" in one.text, look=True)
    stop(one)
    assert fake.hung_up.wait(PATIENCE)
    both_see(two, lambda tab: "Stopped." in tab.text)
    assert messages(server, one.chat)[-1] == ("stopped", " ".join(TEXT.split()[:10]))


def both_see(tabs: tuple[Tab, Tab], seen: Callable[[Tab], bool]) -> None:
    for tab in tabs:
        tab.until(lambda tab=tab: seen(tab), look=True)
