"""How many hostile inputs there are, counted where they stand: a table that shrinks fails here."""

import pytest

from tests.hostile import commands, test_names, test_questions, test_settings, test_urls
from tests.rag.ingest.parsers import test_hostile_files

AMOUNTS = {
    "files": (40, [test_hostile_files.REFUSED, test_hostile_files.READ]),
    "names": (50, [test_names.NAMES]),
    "URLs": (100, [test_urls.LOOPBACK, test_urls.PRIVATE, test_urls.NOT_OURS, test_urls.TOO_MUCH]),
    "documents that command": (40, [commands.DOCUMENTS]),
    "questions": (
        80,
        [test_questions.NOTHING, test_questions.TOO_LONG, test_questions.ODD, test_questions.LANGUAGES],
    ),
    "settings": (50, [test_settings.WRONG, test_settings.HIDDEN, test_settings.FILES, test_settings.SAVED]),
}
ALL = 330


def count(what: str) -> int:
    """The different inputs of a kind."""
    return sum(len({repr(one) for one in table}) for table in AMOUNTS[what][1])


@pytest.mark.parametrize("what", AMOUNTS)
def test_there_are_as_many_of_each_as_is_promised(what: str):
    assert count(what) >= AMOUNTS[what][0]


def test_there_are_as_many_of_all_as_is_promised():
    assert sum(map(count, AMOUNTS)) >= ALL
