"""Questions in progress: begun with a request's key, stored as a chat or not, and followed to their end."""

from collections.abc import AsyncGenerator, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from api.access import Access
from api.answers import AnswerBuilder, AnswerOut
from api.following import follow
from rag.chat.conversation import Failed
from rag.errors import LLMError
from rag.jobs import Job
from rag.settings import RetrieverName
from storage.errors import FootnoteError


@dataclass(frozen=True)
class AskedQuestion:
    """A question and its scope; `store` keeps it as a chat, `conversation_id` goes on with one."""

    text: str
    history: Sequence[tuple[str, str]] = ()
    collections: Sequence[str] = ()
    documents: Sequence[str] = ()
    retriever: RetrieverName | None = None
    k: int | None = None
    store: bool = False
    conversation_id: str | None = None
    read_all: bool = False


@dataclass
class Asking:
    """A question that is being answered."""

    access: Access
    job: Job[Any] | None
    conversation_id: str | None = None
    answer_id: str | None = None
    builder: AnswerBuilder = field(default_factory=AnswerBuilder)

    @classmethod
    async def begin(cls, access: Access, question: AskedQuestion) -> "Asking":
        """Begin to answer; raises QuestionRefused, LimitReached, NotFound or ScopeRefused."""
        return await run_in_threadpool(_begin, access, question)

    async def events(self, request: Request) -> AsyncGenerator[Any]:
        """Yield the events to the end, also of what is read after a stored answer; raises its error."""
        if self.job is not None:
            async for event in follow(self.job, request):
                if isinstance(event, Failed):
                    raise LLMError(event.message)
                self.builder.take(event)
                yield event
        reading = self.answer_id and self.access.workspace.reading(self.answer_id)
        if reading:
            async for event in follow(reading, request):
                self.builder.take(event)
                yield event

    async def answer(self) -> AnswerOut:
        """Return the answer after the last event; a stored one as it is stored."""
        if self.answer_id is None or self.conversation_id is None:
            return self.builder.answer()
        message = await run_in_threadpool(self.access.workspace.conversations.message, self.answer_id)
        return self.builder.stored(message, self.conversation_id)


def _begin(access: Access, question: AskedQuestion) -> Asking:
    if not question.store and question.conversation_id is None:
        scope = access.scope(question.collections, question.documents)
        return Asking(
            access,
            access.workspace.answer(
                question.text,
                question.history,
                scope=scope,
                retriever=question.retriever,
                k=question.k,
                read_all=question.read_all,
            ),
        )
    return _begin_stored(access, question)


def _begin_stored(access: Access, question: AskedQuestion) -> Asking:
    workspace, conversation_id = access.workspace, question.conversation_id
    if conversation_id is not None:
        access.caller.require_everything()  # the chat may rest on any document
        workspace.conversations.open(conversation_id)
        if question.collections or question.documents:
            workspace.choices.choose(
                conversation_id, *access.chosen(question.collections, question.documents)
            )
    searching: tuple[Collection[str], Collection[str]] = access.chosen(
        question.collections, question.documents
    )
    if conversation_id is None and question.history:
        begun = workspace.begin_with(question.history, searching)
        try:
            turn = workspace.ask(begun, question.text, read_all=question.read_all)
        except FootnoteError:
            workspace.delete_conversation(begun)
            raise
    else:
        turn = workspace.ask(conversation_id, question.text, searching=searching, read_all=question.read_all)
    return Asking(access, workspace.answering(turn.answer_id), turn.conversation_id, turn.answer_id)
