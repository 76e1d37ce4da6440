"""Question generation from documents: by a language model, or from the documents' own sentences."""

import hashlib
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from langchain_core.documents import Document

from rag.chat.prompts import question_messages
from rag.errors import Cancelled, LLMError, LLMGarbled, QuestionRefused
from rag.i18n import N_
from rag.index.chunks import to_document
from rag.jobs import Cancel, never
from rag.models.protocol import LanguageModel
from rag.passage import Passage
from rag.retrieval.overview import is_informative
from rag.retrieval.sentences import width
from rag.text.language import STOP_WORDS, language, without_particle
from rag.text.questions import NaturalQuestion, sentence_questions, table_questions
from rag.text.sentences import sentences
from storage.documents import Documents
from storage.lab import QuestionSets
from storage.records import ChunkRecord, DocumentRecord, MarkedPassage

FEWEST, MOST = 4, 8  # words of a question made from a sentence
FEWEST_DENSE = 3  # in languages whose words say as much as two or three English ones
LEAVE_OUT = 4  # a question leaves out one word in four: people do not repeat all of them
QUESTION_TOKENS = 150
LONGEST_QUESTION = 300  # characters
COPIED = 0.6  # maximum share of a question that is copied from the passage in one piece
_WORD = re.compile(r"[^\W_][\w’'.,:/-]*[^\W_]|[^\W_]")
_HANGUL = re.compile(r"[가-힣]+\Z")
_PREDICATE = re.compile(
    r"(?:(?<!마)다|[요죠]|했던|하는|되는|있는|없는|하고|되고|하며|되며|이며|하여|되어|위해|대한|통해|따라|있어|않은)\Z"
)
_KANA = re.compile("[\u3041-\u30ff]")
_HAN = re.compile("[\u3400-\u9fff]")
_NOUN = re.compile(
    r"\d+(?:[.,]\d+)*[一-鿿%％]?|[一-鿿々]{2,}|[ァ-ヺー]{2,}|[A-Za-z][A-Za-z0-9.-]*[A-Za-z0-9]"
)
_CHINESE_JOINT = re.compile("[的了在是和与及等对从到被把为也都而或由于以其之]")
_LABEL = re.compile(r"^(?:[-*•\d.)\s]*)?(?:question|질문|質問|q)\s*[:：]\s*", re.IGNORECASE)
_ASKS = re.compile(r"(?:[?？]|か[。.]?|까[.]?)\Z")
_ABOUT_THE_TEXT = re.compile(
    r"\b(?:the|this|that|given|above|provided) (?:passage|text|document|excerpt|paragraph|section|author)s?\b"
    r"|본문|지문|(?:위|이|주어진) ?(?:글|문서|텍스트|문단|구절|내용)(?=[은는이가을를의에]|\s)|본 ?문서"
    r"|(?:この|本|上記の|上の|与えられた)(?:文章|文書|文|テキスト|段落|資料|パッセージ)|本文",
    re.IGNORECASE,
)


def natural_question(text: str, seed: str) -> NaturalQuestion | None:
    """Return a question as a person would ask it, of a sentence or table row of `text`, or None."""
    found = [*sentence_questions(text), *table_questions(text)]
    return min(found, key=lambda one: shuffle_key(seed, (one.start, one.end)), default=None)


def keyword_question(text: str, seed: str) -> NaturalQuestion | None:
    """Return words of a sentence of `text`, as one types them into a search box; None where none is good."""
    spans = [(start, end) for start, end in sentences(text) if is_informative(text[start:end])]
    for start, end in sorted(spans, key=lambda span: shuffle_key(seed, span)):
        question = question_from_sentence(text[start:end], seed)
        if question:
            return NaturalQuestion(question, start, end)
    return None


def question_from_sentence(sentence: str, seed: str = "") -> str:
    """Return some content words of a sentence in their order, or nothing where it has too few.

    About every fourth word is left out; four to eight are kept, of Korean, Japanese and Chinese from three.

    >>> question_from_sentence("The castle of Aldenburg was built in 1432.")
    'castle Aldenburg built 1432'
    """
    words = list(content_words(sentence))
    fewest = FEWEST_DENSE if language(sentence) in ("ko", "ja", "zh") else FEWEST
    order = sorted(range(len(words)), key=lambda at: shuffle_key(seed, (at, words[at])))
    count = min(MOST, max(fewest, len(words) - len(words) // LEAVE_OUT))
    kept = sorted(order[:count])
    return " ".join(words[at] for at in kept) if len(kept) >= fewest else ""


def content_words(sentence: str) -> Iterator[str]:
    """Yield the content words of a sentence, each once, as one would type them.

    Stop words are left out; of Korean words the particles, and predicates; of Japanese all but runs of
    Han, Katakana and Latin letters.
    """
    code = language(sentence)
    seen = set()
    for word in _words(sentence, code):
        if word.casefold() not in seen and word.casefold() not in STOP_WORDS.get(code, ()):
            seen.add(word.casefold())
            yield word


def _words(sentence: str, code: str) -> Iterator[str]:
    for found in _WORD.findall(sentence):
        if code == "zh":
            yield from (part for part in _CHINESE_JOINT.split(found) if len(part) > 1)
        elif _KANA.search(found) or _HAN.search(found):
            yield from _NOUN.findall(found)
        elif not _HANGUL.match(found):
            yield without_particle(found)
        elif not _PREDICATE.search(found):
            stem = without_particle(found)
            if len(stem) > 1:
                yield stem


def question_from_model(passage: Passage, llm: LanguageModel, cancelled: Cancel = never) -> str:
    """Return a model's question that `passage` answers, or nothing for other words; LLMError, Cancelled."""
    try:
        answer = llm.complete(question_messages(passage), max_tokens=QUESTION_TOKENS, cancelled=cancelled)
    except LLMGarbled:
        return ""
    lines = [line.strip() for line in answer.strip().splitlines() if line.strip()]
    written = _LABEL.sub("", lines[0]).strip("\"“”'`*「」 ") if len(lines) == 1 else ""
    return written if is_acceptable(written, passage.text) else ""


def is_acceptable(question: str, text: str) -> bool:
    """Return True for a short question in the text's language and in other words than the text's."""
    return (
        0 < len(question) <= LONGEST_QUESTION
        and question.isprintable()
        and _ASKS.search(question) is not None
        and language(question) == language(text)
        and not _ABOUT_THE_TEXT.search(question)
        and _longest_copied(question, text) <= COPIED * len(question)
    )


def _longest_copied(question: str, text: str) -> int:
    asked, said = " ".join(question.casefold().split()), " ".join(text.casefold().split())
    longest, start = 0, 0
    for end in range(1, len(asked) + 1):
        while asked[start:end] not in said:
            start += 1
        longest = max(longest, end - start)
    return longest


def shuffle_key(seed: str, item: object) -> str:
    """Return a pseudo-random sort key, the same each time: ``sorted(items, key=...)``."""
    return hashlib.sha256(f"{seed}\n{item}".encode("utf-8", "replace")).hexdigest()


SHORTEST_CHUNK = 120  # width in Latin letters: shorter chunks hold too little to ask about
TRIES = 10  # passages tried for one question from a sentence
MODEL_TRIES = 3  # passages a model is asked about for one question
FAILURES = 3  # errors of a model's server in a row, after which the job fails
Made = tuple[str, MarkedPassage]
Make = Callable[[ChunkRecord, Cancel], Made | None]
Search = Callable[[str], Sequence[Document]]  # by words, over the whole library


@dataclass(frozen=True)
class MakingProgress:
    """Progress of question generation: `done` of `total`, and the last question made."""

    set_id: str | None
    done: int
    total: int
    latest: str


@dataclass
class QuestionMaker:
    """Generator of a set of `count` questions about `records`, the same ones each time for one `seed`.

    By `llm`, or without one from sentences: words of a sentence only where too few passages give a question
    as a person would ask it. Passages are drawn from all the documents in turn.
    """

    documents: Documents
    search: Search
    sets: QuestionSets
    records: Sequence[DocumentRecord]
    name: str
    count: int
    llm: LanguageModel | None = None
    seed: str = ""
    _set_id: str | None = None
    _failures: int = 0
    _texts: set[str] = field(default_factory=set)

    def run(self, cancelled: Cancel) -> Iterator[MakingProgress]:
        """Make the set and yield progress; questions made before a stop or a failure are kept.

        Raises LLMError when the server fails repeatedly, QuestionRefused when no passage gave a question.
        """
        yield self._progress()
        for make, tries in self._ways():
            for chunk in islice(sample_chunks(self.documents, self.records, self.seed), tries * self.count):
                if cancelled():
                    raise Cancelled(N_("The making of questions was stopped."))
                made = make(chunk, cancelled)
                if made is not None and made[0].casefold() not in self._texts:
                    self._keep(*made)
                yield self._progress(made[0] if made else "")
                if len(self._texts) == self.count:
                    return
        if not self._texts:
            raise QuestionRefused(
                N_(
                    "No question could be made from these documents: they have too few sentences that "
                    "stand by "
                    "themselves. Choose other documents, or type questions."
                )
            )

    def _ways(self) -> Iterator[tuple[Make, int]]:
        """Yield how a question is made of a passage, the best way first, and the passages tried for one."""
        if self.llm is not None:
            yield partial(self._from_model, self.llm), MODEL_TRIES
            return
        for question in (natural_question, keyword_question):
            yield partial(self._from_words, question), TRIES

    def _from_words(
        self, question: Callable[[str, str], NaturalQuestion | None], chunk: ChunkRecord, _: Cancel
    ) -> Made | None:
        found = question(chunk.text, self.seed)
        if found is None or not _is_unique(self.search, chunk.text[found.start : found.end]):
            return None
        return found.text, marked_passage(chunk, found.start, found.end)

    def _from_model(self, llm: LanguageModel, chunk: ChunkRecord, cancelled: Cancel) -> Made | None:
        try:
            question = question_from_model(Passage.from_document(to_document(chunk)), llm, cancelled)
        except LLMError:
            self._failures += 1
            if self._failures == FAILURES:
                raise
            return None
        self._failures = 0
        return (question, marked_passage(chunk)) if question else None

    def _keep(self, question: str, passage: MarkedPassage) -> None:
        if self._set_id is None:
            self._set_id = self.sets.create(self.name, "sentences" if self.llm is None else "made").id
        self.sets.add(self._set_id, question, [passage])
        self._texts.add(question.casefold())

    def _progress(self, latest: str = "") -> MakingProgress:
        return MakingProgress(self._set_id, len(self._texts), self.count, latest)


def marked_passage(chunk: ChunkRecord, start: int = 0, end: int | None = None) -> MarkedPassage:
    """Copy ``chunk.text[start:end]``, or the whole chunk, as a right passage."""
    quote = chunk.text[start:end]
    return MarkedPassage(
        document_id=chunk.document_id,
        document=chunk.document,
        sha256=chunk.sha256,
        chunk_id=chunk.id,
        start=chunk.start + start,
        end=chunk.start + start + len(quote),
        quote=quote,
    )


def sample_chunks(
    documents: Documents, records: Sequence[DocumentRecord], seed: str
) -> Iterator[ChunkRecord]:
    """Yield informative chunks, one of each document in turn, each drawn by `seed`."""
    ordered = sorted(records, key=lambda record: shuffle_key(seed, record.sha256))
    waiting = deque(_informative_ids(documents, record.id, seed) for record in ordered)
    while waiting:
        ids = waiting.popleft()
        if (id_ := next(ids, None)) is not None:
            waiting.append(ids)
            yield from documents.chunks_by_id([id_]).values()


def _informative_ids(documents: Documents, document_id: str, seed: str) -> Iterator[str]:
    chunks = documents.chunks(document_id)  # read when its first one is drawn
    worth = [chunk for chunk in chunks if width(chunk.text) >= SHORTEST_CHUNK and not _is_table(chunk.text)]
    worth.sort(key=lambda chunk: shuffle_key(seed, (chunk.sha256, chunk.position)))
    yield from [chunk.id for chunk in worth]


def _is_table(text: str) -> bool:
    lines = [line for line in text.splitlines() if line.strip()]
    return sum(line.lstrip().startswith("|") for line in lines) * 2 > len(lines)


def _is_unique(search: Search, sentence: str) -> bool:
    """Return True where a sentence occurs once in the library: no footer, no copied paragraph."""
    places = set()
    for found in search(sentence):
        at = found.page_content.find(sentence)
        if at >= 0:
            places.add((found.metadata["document_id"], found.metadata["start"] + at))
    return len(places) <= 1
