import pytest

from storage.documents import Documents
from storage.figures import Figures, VisionModels
from storage.records import ChunkSpan, FigureSpan, PageSpan

TEXT = "Sales rose.\nFigure 1. Sales by year"
CAPTION = FigureSpan(1, "Figure 1. Sales by year", 0, 12, len(TEXT))


@pytest.fixture
def documents(database):
    return Documents(database, "ann")


@pytest.fixture
def figures(database):
    return Figures(database, "ann")


@pytest.fixture
def report(documents):
    return read(documents, documents.add("report.pdf", "a" * 64, 1)[0].id)


def read(documents, id_, text=TEXT, figures=(CAPTION,)):
    documents.save_chunks(id_, text, [PageSpan(1, 0, len(text))], [ChunkSpan(0, 11, 1)], figures=figures)
    documents.set_state(id_, "ready")
    return id_


def test_a_description_is_indexed_with_its_document_and_no_part_of_its_text(documents, figures, report):
    described, earlier = figures.put(report, 0, CAPTION, "Bars that grow.", "eye")
    chunk = f"{report}-00000"
    assert earlier == []
    assert documents.chunk_ids() == {chunk, described.id}
    assert documents.chunk_ids_of(report) == [chunk, described.id]
    assert [[one.id for one in part] for part in documents.indexed_batches(report)] == [
        [chunk],
        [described.id],
    ]
    assert [one.id for one in documents.chunks(report)] == [chunk]
    found = documents.chunks_by_id([described.id, chunk])
    assert list(found) == [described.id, chunk]
    shown = found[described.id]
    assert (shown.text, shown.heading, shown.page) == ("Bars that grow.", CAPTION.label, 1)
    assert TEXT[shown.start : shown.end] == CAPTION.label
    assert documents.of_chunks([described.id]) == {described.id: (report, "report.pdf")}


def test_a_figure_has_one_description(documents, figures, report):
    first, _ = figures.put(report, 0, CAPTION, "Bars.", "eye")
    second, earlier = figures.put(report, 0, CAPTION, "Better bars.", "sharper eye")
    assert earlier == [first.id] and figures.of(report) == [second]
    assert documents.chunks_by_id([first.id]) == {}


def test_a_text_read_again_keeps_the_descriptions_of_its_figures_and_no_others(documents, figures, report):
    described, _ = figures.put(report, 0, CAPTION, "Bars.", "eye")
    moved = FigureSpan(1, CAPTION.label, 0, 3, 3 + len(CAPTION.label))
    read(documents, report, "So Figure 1. Sales by year", [moved])
    (kept,) = figures.of(report)
    assert (kept.id, kept.start, kept.end) == (described.id, moved.start, moved.end)
    read(documents, report, "Nothing drawn", [])
    assert figures.of(report) == []


def test_descriptions_go_with_their_document(documents, figures, report):
    described, _ = figures.put(report, 0, CAPTION, "Bars.", "eye")
    figures.set_reading(report, "due")
    documents.delete(report)
    assert documents.chunks_by_id([described.id]) == {} and figures.due() == []


def test_documents_wait_until_they_are_ready_and_can_be_stopped(documents, figures, report):
    assert figures.reading(report) is None
    figures.set_reading(report, "due", again=True)
    documents.set_state(report, "searchable_by_words")
    assert figures.due() == []
    documents.set_state(report, "ready")
    assert figures.due() == [report] and figures.reading(report).again
    figures.stop_due()
    assert figures.due() == [] and figures.reading(report).state == "stopped"


def test_what_a_model_can_see_is_known_by_its_address_and_name(database):
    models = VisionModels(database)
    assert models.takes_pictures("http://a", "eye") is None
    models.remember("http://a", "eye", takes_pictures=False)
    models.remember("http://a", "eye", takes_pictures=True)
    assert models.takes_pictures("http://a", "eye") is True
    assert models.takes_pictures("http://b", "eye") is None
    models.forget("http://a", "eye")
    assert models.takes_pictures("http://a", "eye") is None
