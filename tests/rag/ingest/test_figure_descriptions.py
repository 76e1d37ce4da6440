"""Figures described by a model over a real server: found, not repeated, and gone with their document."""

import io
from collections.abc import Callable, Iterator

import pytest
from docx import Document
from docx.shared import Inches
from PIL import Image
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from rag.errors import Cancelled, LimitReached, LLMUnreachable
from rag.ingest.figure_descriptions import DESCRIBE, FigureDescriber, FigureModel
from rag.ingest.library import Library
from rag.ingest.queue import LANES, Ingest, resplit
from rag.jobs import Jobs
from rag.models.llm import LLM
from rag.models.protocol import LLMSettings, ObservedModel
from storage.database import Database
from storage.figures import VisionModels
from storage.records import is_figure_id
from tests.rag.fake_llm import FakeLLM, Reply, seeing
from tests.rag.ingest.test_queue import wait_until
from tests.rag.word_vectors import WordVectors

TAR, ROPE = "A bar chart; zinnia 40 tonnes.", "A line that falls; marigold 12 tonnes."
INSTRUCTION = DESCRIBE[:40]


def pdf(*captions: str) -> bytes:
    file = io.BytesIO()
    canvas = Canvas(file, pagesize=(400, 500))
    for number, caption in enumerate(captions):
        canvas.setFont("Helvetica", 10)
        canvas.drawString(30, 450, "The trade in tar and rope fell in each year that the harbour was closed.")
        picture = Image.new("RGB", (90, 60), (40 * number, 90, 160))
        canvas.drawImage(ImageReader(picture), 100, 300, 150, 100)
        canvas.drawString(100, 285, caption)
        canvas.showPage()
    canvas.save()
    return file.getvalue()


def word_file(caption: str, text: str) -> bytes:
    document, file = Document(), io.BytesIO()
    document.add_paragraph(text)
    picture = io.BytesIO()
    Image.new("RGB", (90, 60), "red").save(picture, "PNG")
    document.add_picture(picture, Inches(3))
    document.add_paragraph(caption)
    document.save(file)
    return file.getvalue()


@pytest.fixture
def library(database: Database) -> Iterator[Library]:
    library = Library(database, "ann", lambda: WordVectors("words"))
    yield library
    library.close()


@pytest.fixture
def models(database: Database) -> VisionModels:
    return VisionModels(database)


@pytest.fixture
def model(fake_llm: FakeLLM) -> Iterator[LLM]:
    with LLM(LLMSettings(base_url=fake_llm.url, model="eye")) as model:
        yield model


@pytest.fixture
def describer(library: Library, models: VisionModels, model: LLM) -> FigureDescriber:
    return FigureDescriber(library, models, lambda: FigureModel(model, 20))


@pytest.fixture
def ready(library: Library) -> Callable[[str, bytes], str]:
    def add(name: str, content: bytes) -> str:
        record, _ = library.add(name, content)
        list(library.index(record.id))
        assert library.documents.get(record.id).state == "ready"
        return record.id

    return add


def shown(fake_llm: FakeLLM) -> int:
    """Count the figures that the model was shown."""
    return sum(request.prompt.startswith(INSTRUCTION) for request in fake_llm.requests)


def found(library: Library, words: str) -> list[str]:
    return [one.page_content for one in library.retriever("ensemble-cc", 3).invoke(words)]


def test_descriptions_are_found_by_words_and_by_meaning_beside_their_captions(
    library, describer, ready, fake_llm
):
    fake_llm.say_by(seeing(TAR, ROPE))
    report = ready("report.pdf", pdf("Figure 1. Tar by year", "Figure 2. Rope by year"))
    assert describer.queue(report)
    progress = list(describer.run())
    assert [(one.done, one.total) for one in progress] == [(0, 2), (1, 2), (2, 2)]
    first, second = library.figures.of(report)
    assert (first.text, second.text, first.model) == (TAR, ROPE, "eye")
    text = library.documents.text(report)
    assert text[second.start : second.end] == "Figure 2. Rope by year" and second.page == 2
    for mode in ("bm25", "similarity"):
        (best, *_) = library.retriever(mode, 2).invoke("marigold tonnes")
        assert best.page_content == ROPE and is_figure_id(best.id)
        assert best.metadata["heading"] == "Figure 2. Rope by year" and best.metadata["page"] == 2
    assert TAR not in text and all(not is_figure_id(one.id) for one in library.documents.chunks(report))


@pytest.mark.parametrize(
    ("caption", "text", "description", "language"),
    [
        (
            "그림 1. 타르 무역",
            "항구가 닫혀 타르 무역이 줄었다.",
            "막대 도표이며 백일홍은 40톤이다.",
            "Korean",
        ),
        ("図1 タールの取引", "港が閉じてタールの取引は減った。", "棒グラフ。百日草は40トン。", "Japanese"),
    ],
)
def test_a_description_is_asked_for_in_the_language_of_the_document(
    library, describer, ready, fake_llm, caption, text, description, language
):
    fake_llm.say_by(seeing(description))
    report = ready("보고서.docx", word_file(caption, text))
    assert describer.queue(report)
    list(describer.run())
    assert f"words in {language}," in fake_llm.requests[-1].prompt
    assert caption in fake_llm.requests[-1].prompt
    assert found(library, description)[0] == description


def test_what_is_described_is_not_described_again_until_that_is_asked_for(
    library, describer, ready, fake_llm
):
    fake_llm.say_by(seeing(TAR))
    report = ready("report.pdf", pdf("Figure 1. Tar by year"))
    describer.queue(report)
    list(describer.run())
    (first,) = library.figures.of(report)
    assert not describer.queue(report) and list(describer.run()) == []
    assert shown(fake_llm) == 1
    fake_llm.say_by(seeing("Better bars; petunia."))
    describer.queue_again(report)
    list(describer.run())
    (second,) = library.figures.of(report)
    assert second.text == "Better bars; petunia." and second.id != first.id
    assert found(library, "petunia")[0] == second.text
    assert TAR not in found(library, "zinnia tonnes")
    ids = {f"{report}-00000", second.id}
    assert library.indexes.words.ids() >= ids and first.id not in library.indexes.words.ids()
    assert library.indexes.vectors.ids() == library.documents.chunk_ids()


def test_an_interrupted_document_goes_on_where_it_was(library, describer, ready, fake_llm):
    fake_llm.say_by(seeing(TAR, ROPE))
    report = ready("report.pdf", pdf("Figure 1. Tar by year", "Figure 2. Rope by year"))
    describer.queue(report)
    steps = describer.run()
    next(steps), next(steps)
    steps.close()
    assert [one.text for one in library.figures.of(report)] == [TAR]
    assert [one.done for one in describer.run()] == [0, 1, 2]
    assert [one.text for one in library.figures.of(report)] == [TAR, ROPE] and shown(fake_llm) == 2


def test_deleting_the_document_deletes_its_descriptions(library, describer, ready, fake_llm):
    fake_llm.say_by(seeing(TAR))
    report = ready("report.pdf", pdf("Figure 1. Tar by year"))
    describer.queue(report)
    list(describer.run())
    library.remove(report)
    assert (
        library.documents.chunk_ids() | library.indexes.words.ids() | library.indexes.vectors.ids() == set()
    )


def test_a_model_is_asked_once_whether_it_takes_pictures(library, describer, ready, fake_llm, models, model):
    fake_llm.say("I cannot see pictures.")
    report, memo = ready("report.pdf", pdf("Figure 1. Tar")), ready("memo.pdf", pdf("Figure 1. Rope"))
    assert describer.queue(report) and describer.queue(memo)
    assert list(describer.run()) == []
    assert library.figures.reading(report).note == "eye takes no pictures." and library.figures.due() == []
    assert len(fake_llm.requests) == 1 and not describer.available
    assert models.takes_pictures(model.settings.host, "eye") is False
    fake_llm.say_by(seeing(TAR))
    describer.queue_again(report)  # asked for by a person: its server may have changed
    list(describer.run())
    assert [one.text for one in library.figures.of(report)] == [TAR] and describer.available


@pytest.mark.parametrize("status", [400, 415, 500])
def test_a_server_that_refuses_pictures_and_takes_words_takes_none(
    library, describer, ready, fake_llm, models, model, status
):
    def refuse(request):
        return Reply(status=status) if request.pictures else Reply("NOTHING")

    fake_llm.reply_by(refuse)
    report = ready("report.pdf", pdf("Figure 1. Tar by year"))
    describer.queue(report)
    assert list(describer.run()) == []
    assert models.takes_pictures(model.settings.host, "eye") is False


def test_a_server_that_is_away_is_asked_again_later(library, models, ready, fake_llm):
    fake_llm.say_by(seeing(TAR))
    settings = LLMSettings(base_url="http://127.0.0.1:9/v1", model="eye")
    report = ready("report.pdf", pdf("Figure 1. Tar by year"))
    with LLM(settings) as away:
        describer = FigureDescriber(library, models, lambda: FigureModel(away, 20))
        describer.queue(report)
        with pytest.raises(LLMUnreachable):
            list(describer.run())
        assert models.takes_pictures(settings.host, "eye") is None and library.figures.due() == [report]


def test_no_more_figures_than_allowed_are_described(library, models, model, ready, fake_llm):
    fake_llm.say_by(seeing(TAR))
    report = ready("report.pdf", pdf(*(f"Figure {number}. Tar" for number in range(1, 5))))
    describer = FigureDescriber(library, models, lambda: FigureModel(model, 2))
    describer.queue(report)
    list(describer.run())
    assert shown(fake_llm) == len(library.figures.of(report)) == 2
    assert library.figures.reading(report).note == "Only the first 2 of 4 figures were described."


def test_tokens_of_pictures_count_and_their_limit_holds(library, models, model, ready, fake_llm):
    class Meter:
        left = 5000

        def tokens(self) -> None:
            if self.left <= 0:
                raise LimitReached("used up")

        def used(self, *, tokens: int) -> None:
            self.left -= tokens

    fake_llm.say_by(seeing(TAR))
    metered = ObservedModel(model, meter=Meter())
    report = ready("report.pdf", pdf(*(f"Figure {number}. Tar" for number in range(1, 9))))
    describer = FigureDescriber(library, models, lambda: FigureModel(metered, 20))
    describer.queue(report)
    with pytest.raises(LimitReached):
        list(describer.run())
    assert 0 < len(library.figures.of(report)) < 4 and library.figures.due() == [report]


def test_what_a_model_writes_is_cut_and_is_plain_text(library, describer, ready, fake_llm):
    written = "# Bars\n- ![x](http://evil/a.png) <b>bold</b> [1]\n" + "Tar rose. " * 400
    fake_llm.say_by(seeing(written))
    report = ready("report.pdf", pdf("Figure 1. Tar by year"))
    describer.queue(report)
    list(describer.run())
    (described,) = library.figures.of(report)
    assert len(described.text) <= 1500 and described.text.endswith("rose.")
    assert not [part for part in ("\n", "#", "](", "[1]") if part in described.text]


def test_nothing_is_kept_of_a_figure_in_which_nothing_is_seen(library, describer, ready, fake_llm):
    fake_llm.say_by(seeing("NOTHING"))
    report = ready("report.pdf", pdf("Figure 1. Tar by year"))
    describer.queue(report)
    list(describer.run())
    assert library.figures.of(report) == [] and library.figures.reading(report).state == "done"


def test_a_cancel_ends_a_request_and_keeps_what_is_there(library, describer, ready, fake_llm, models, model):
    models.remember(model.settings.host, "eye", takes_pictures=True)
    fake_llm.reply(Reply(TAR), Reply(hang=True))
    report = ready("report.pdf", pdf("Figure 1. Tar by year", "Figure 2. Rope by year"))
    describer.queue(report)
    with pytest.raises(Cancelled):
        list(describer.run(lambda: len(fake_llm.requests) == 2))
    assert [one.text for one in library.figures.of(report)] == [TAR] and library.figures.due() == [report]


def test_a_text_split_anew_keeps_its_descriptions(library, describer, ready, fake_llm):
    fake_llm.say_by(seeing(TAR))
    report = ready("report.pdf", pdf("Figure 1. Tar by year"))
    describer.queue(report)
    list(describer.run())
    collection = library.collections.create("Small")
    library.collections.put([report], collection.id)
    library.collections.set_splitting(collection.id, {"size": 100, "overlap": 0, "minimum": 0})
    list(resplit(library))
    assert [one.text for one in library.figures.of(report)] == [TAR]
    assert found(library, "zinnia")[0] == TAR
    assert library.indexes.words.ids() == library.indexes.vectors.ids() == library.documents.chunk_ids()


def test_new_documents_are_described_in_the_background_and_that_can_be_stopped(
    library, describer, fake_llm, models, model
):
    models.remember(model.settings.host, "eye", takes_pictures=True)
    fake_llm.reply(Reply(TAR), Reply(hang=True))
    jobs = Jobs(LANES)
    ingest = Ingest(library, jobs, describer=describer)
    record, _ = library.add("report.pdf", pdf("Figure 1. Tar by year", "Figure 2. Rope by year"))
    ingest.start(record.id)
    assert wait_until(lambda: len(library.figures.of(record.id)) == 1 and len(fake_llm.requests) == 2)
    job = ingest.describing()
    assert (job.latest.done, job.latest.total, job.latest.document) == (1, 2, "report.pdf")
    ingest.stop_describing()
    assert job.wait(10) and ingest.describing_failed() is None
    assert library.figures.reading(record.id).state == "stopped"
    fake_llm.say_by(seeing(TAR, ROPE))
    ingest.describe(record.id)
    assert wait_until(lambda: library.figures.reading(record.id).state == "done")
    assert len(library.figures.of(record.id)) == 2
    jobs.close()
