"""Many tabs at once: each is drawn whole, whatever the others do."""

import pytest

from tests.faults.conftest import Open

pytestmark = pytest.mark.timeout(900)

TABS, ROUNDS = 8, 12


def test_a_page_is_drawn_for_all_who_ask_for_it_at_once(open_tab: Open):
    tabs = [open_tab(page="documents") for _ in range(TABS)]
    for number in range(ROUNDS):
        for tab in tabs:
            tab.until(lambda tab=tab, number=number: tab.runs > number)
            assert tab.shown.way("uploader") is not None, tab.text
        for tab in tabs:
            tab.go("")
