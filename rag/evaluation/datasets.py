"""Question sets: passages, questions, and which passages are right for which question."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from rag.chat.followup import History, Rarity
from rag.chat.rewrite import QueryVariant, make_standalone
from rag.errors import QuestionRefused
from rag.evaluation import beir, squad
from rag.evaluation.metrics import Judgements
from rag.models.protocol import LanguageModel


@dataclass(frozen=True)
class QuestionSet:
    """Passages to search, questions by id, and for each question the passages that answer it.

    Questions that were asked in a conversation have it in `histories`, (role, content), oldest first;
    `rewrites` holds the questions that a person has made to stand alone, `answers` the words that answer a
    question, each of them by itself; `variants` the query variants in which a follow-up is searched.
    Every question has judgements.
    """

    name: str
    corpus: tuple[Document, ...]
    questions: Mapping[str, str]
    judgements: Mapping[str, Judgements]
    histories: Mapping[str, History] = field(default_factory=dict)
    rewrites: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    variants: Mapping[str, tuple[QueryVariant, ...]] = field(default_factory=dict)

    def asking(self, questions: Mapping[str, str]) -> "QuestionSet":
        """Return the same set with its questions put in other words, by the same ids."""
        return replace(self, questions=questions)

    def rewritten(self) -> "QuestionSet":
        """Return the set with its questions as a person rewrote them; QuestionRefused where one is not."""
        missing = [id_ for id_ in self.questions if id_ not in self.rewrites]
        if missing:
            raise QuestionRefused(
                f"{self.name} has no rewrite of the question {missing[0]}. "
                "Ask its questions as text, or condensed."
            )
        return self.asking({id_: self.rewrites[id_] for id_ in self.questions})


def condensed(
    questions: QuestionSet,
    *,
    llm: LanguageModel | None,
    rarity: Rarity,
    embedder: Embeddings | None = None,
    told: Callable[[int, int], None],
) -> QuestionSet:
    """Return the set with each question as the app searches for it; `told` hears how far it is."""
    written: dict[str, str] = {}
    variants: dict[str, tuple[QueryVariant, ...]] = {}
    for done, (id_, text) in enumerate(questions.questions.items(), start=1):
        history = questions.histories.get(id_, ())
        made = make_standalone(text, history, llm=llm, rarity=rarity, embedder=embedder)
        written[id_], variants[id_] = made.text, made.variants
        told(done, len(questions.questions))
    return replace(questions, questions=written, variants=variants)


def load(path: Path, *, limit: int | None = None) -> QuestionSet:
    """Read a question set with its first `limit` judged questions: those that have a right passage.

    `path` is a folder in BEIR's form (see rag/evaluation/beir.py), or a file in SQuAD's or the folder of one
    (rag/evaluation/squad.py). A judged passage that the corpus lacks stays judged, and cannot be found.
    Raises QuestionRefused, naming the file, and the line where there are lines, for what is not of the form.
    """
    file = squad.file_at(path)
    passages, asked, judgements = beir.read(path) if file is None else squad.read(file)
    questions = {question["_id"]: question for question in asked}
    judged = [id_ for id_ in questions if any(score > 0 for score in judgements.get(id_, {}).values())]
    if not judged:
        raise QuestionRefused(f"{path} has no question with a right passage, so there is nothing to measure.")
    chosen = {id_: questions[id_] for id_ in judged[:limit]}
    return QuestionSet(
        name=path.stem if path.is_file() else path.resolve().name,
        corpus=tuple(_document(passage) for passage in passages),
        questions={id_: _writable(question["text"]) for id_, question in chosen.items()},
        judgements={id_: judgements[id_] for id_ in chosen},
        histories={id_: question["history"] for id_, question in chosen.items() if question.get("history")},
        rewrites={id_: question["rewrite"] for id_, question in chosen.items() if question.get("rewrite")},
        answers={
            id_: tuple(question["answers"]) for id_, question in chosen.items() if question.get("answers")
        },
    )


def _document(passage: Mapping[str, str]) -> Document:
    text = f"{passage.get('title') or ''}\n{passage['text']}".strip()
    return Document(id=passage["_id"], page_content=_writable(text))


def _writable(text: str) -> str:
    """Replace lone surrogates, which JSON can hold and no index takes."""
    return text.encode("utf-8", "replace").decode("utf-8")
