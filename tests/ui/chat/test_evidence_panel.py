"""The way from evidence to the thing itself, where a document came from a source."""

from dataclasses import replace

import pytest

from storage.records import Listing
from tests.ui.conftest import TEXT, citation, passage, tell


def shown(here, page, url):
    """Open the evidence of a document that a source brought from `url`."""
    source = here.syncing.sources.create("folder", "Wiki", {"path": "/wiki"})
    document, _ = here.library.keep(
        TEXT.encode(),
        lambda sha256, size: here.syncing.items.keep(
            source.id, Listing("1", "report.md", "1", url), sha256, size
        ),
    )
    for _ in here.library.index(document.id):
        pass
    answer = "It handled 4.1 million [1]."
    cited = replace(passage(document="report.md"), document_id=document.id, sha256=document.sha256)
    turn = tell(here, "How many?", answer, passages=[cited], citations=[citation(1, answer, TEXT[:40])])
    at = page(chat=turn.conversation_id, cite=f"{turn.answer_id}-0")
    assert not at.exception
    return [element.proto for element in at.get("link_button")]


def test_a_citation_opens_the_page_that_it_came_from(here, page):
    (link,) = shown(here, page, "https://wiki.example.com/pages/7")
    assert (link.label, link.url) == ("Open at wiki.example.com", "https://wiki.example.com/pages/7")


@pytest.mark.parametrize("url", [None, "javascript:alert(1)", "file:///etc/passwd", "//evil.test/"])
def test_what_is_no_address_of_the_web_is_no_link(here, page, url):
    assert shown(here, page, url) == []
