from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.citations.cite import statements

ANSWER = """## Figures

**Overview**

Here are the figures:

Sales by line

| Line | 2023 |
|---|---|
| Lamps | 39 [1] |
| Paper | 12 |

1. Lamps lead [2].
   - Paper follows.

**Lamps:** They sold well. Is that enough?

```
not a statement
```
"""


def test_headings_lead_ins_captions_questions_and_code_state_nothing():
    found = statements(ANSWER)
    assert [ANSWER[one.start : one.end] for one in found] == [
        "| Lamps | 39 [1]", "| Paper | 12", "Lamps lead [2].", "Paper follows.", "**Lamps:** They sold well."
    ]  # fmt: skip
    assert [one.markers for one in found] == [(1,), (), (2,), (), ()]
    assert found[0].text == "| Line | 2023 |\n|---|---|\n| Lamps | 39 |"


@given(st.text(alphabet="ab 12.|[]\n-#*:?>`。다", max_size=120))
def test_statements_of_any_text_are_in_order_and_do_not_overlap(answer: str):
    found = statements(answer)
    assert all(0 <= one.start < one.end <= len(answer) for one in found)
    assert all(one.end <= other.start for one, other in pairwise(found))


@pytest.mark.parametrize("hostile", ["[" * 100_000, "It is so [1]. " * 7_000, "![" * 50_000])
def test_hostile_text_is_read_in_linear_time(hostile: str):
    statements(hostile)  # minutes, where time grows with the square: the suite's timeout ends it


def test_a_word_such_as_iphone_begins_a_statement_although_its_first_letter_is_small():
    answer = "Net sales were $81,797 million in 2023 [1]. iPhone sales fell to $39,669 [2]. eBay rose."
    assert [(statement.text, statement.markers) for statement in statements(answer)] == [
        ("Net sales were $81,797 million in 2023 .", (1,)),
        ("iPhone sales fell to $39,669 .", (2,)),
        ("eBay rose.", ()),
    ]
