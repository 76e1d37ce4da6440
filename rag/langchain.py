"""LangChain interface: RetrievalQA, ConversationalRetrievalChain, a tool, and a retriever over HTTP."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from threading import Event
from typing import Any, ClassVar, Literal, Self

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableConfig, RunnableSerializable
from langchain_core.runnables.config import run_in_executor
from langchain_core.runnables.utils import AddableDict
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from rag.api_client import ApiClient
from rag.chat.answer import Condensed, Done, Sources, Token
from rag.chat.corpus import Corpus
from rag.chat.pipeline import RagPipeline, validated_question
from rag.citations.cite import Citation
from rag.errors import ApiError, FootnoteError, QuestionRefused
from rag.jobs import Cancel, never
from rag.models.llm import LLM
from rag.models.protocol import ChatModel
from rag.settings import RetrieverName, http_address

ChatHistory = Sequence[tuple[str, str] | BaseMessage]
Inputs = dict[str, Any]
ROLES = {"human": "user", "ai": "assistant"}


class _Chain(RunnableSerializable[str | Inputs, dict[str, Any]]):
    """Base of both chains: a question in, the cited answer and its sources out.

    `llm` is rag.models.llm.LLM, any LangChain chat model, or None for the documents' own sentences.
    `embedder` and `rarity` are those of the app's pipeline; without them sentences and terms are chosen by
    their words.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    retriever: Runnable[Any, Any]
    llm: Any = None
    embedder: Embeddings | None = None
    rarity: Callable[[str], float] | None = None
    return_source_documents: bool = True

    asks: ClassVar[str]
    answers: ClassVar[str]

    @field_validator("llm")
    @classmethod
    def _wrap_model(cls, llm: Any) -> LLM | ChatModel | None:
        if llm is None or isinstance(llm, LLM | ChatModel):
            return llm
        if isinstance(llm, Runnable):
            return ChatModel(llm)
        raise ValueError("llm must be a LangChain chat model, a rag.models.llm.LLM, or None")

    @classmethod
    def from_llm(cls, llm: Any, retriever: Runnable[Any, Any], **kwargs: Any) -> Self:
        """Make the chain; `kwargs` are its fields."""
        return cls(llm=llm, retriever=retriever, **kwargs)

    def invoke(
        self,
        input: str | Inputs,  # noqa: A002 - LangChain's name
        config: RunnableConfig | None = None,
        **kwargs: Any,  # noqa: ARG002 - LangChain passes them to every runnable
    ) -> dict[str, Any]:
        """Answer one question. Raises QuestionRefused, RetrievalError or LLMError."""
        return self._call_with_config(self._whole, input, config)

    def stream(
        self,
        input: str | Inputs,  # noqa: A002
        config: RunnableConfig | None = None,
        **kwargs: Any,  # noqa: ARG002
    ) -> Iterator[dict[str, Any]]:
        """Yield the inputs, then the answer piece by piece, and the source documents at the end.

        The pieces add up to the result of `invoke`, except markers that are set at the end.
        """
        return self._stream(input, config, never)

    async def astream(
        self,
        input: str | Inputs,  # noqa: A002
        config: RunnableConfig | None = None,
        **kwargs: Any,  # noqa: ARG002
    ) -> AsyncIterator[dict[str, Any]]:
        """Stream as `stream` does; a cancelled task stops the answer too."""
        left = Event()
        chunks = self._stream(input, config, left.is_set)
        try:
            while (chunk := await run_in_executor(config, next, chunks, None)) is not None:
                yield chunk
        finally:
            left.set()

    def _stream(
        self, asked: str | Inputs, config: RunnableConfig | None, cancelled: Cancel
    ) -> Iterator[dict[str, Any]]:
        def pieces(given: Iterator[str | Inputs]) -> Iterator[dict[str, Any]]:
            for one in given:
                yield from self._pieces(self._inputs(one), cancelled)

        return self._transform_stream_with_config(iter([asked]), pieces, config)

    def _whole(self, asked: str | Inputs) -> dict[str, Any]:
        inputs, outcome = self._inputs(asked), _Outcome()
        for _ in self._events(inputs, outcome, never):
            pass
        return {**inputs, self.answers: outcome.text, **self._sources(outcome)}

    def _pieces(self, inputs: Inputs, cancelled: Cancel) -> Iterator[dict[str, Any]]:
        outcome = _Outcome()
        yield AddableDict(inputs)
        for event in self._events(inputs, outcome, cancelled):
            if isinstance(event, Token):
                yield AddableDict({self.answers: event.text})
        yield AddableDict(self._sources(outcome))

    def _events(self, inputs: Inputs, outcome: "_Outcome", cancelled: Cancel) -> Iterator[object]:
        recorded = _Recorded(self.retriever)
        pipeline = self.pipeline(recorded)
        history = to_history(inputs.get("chat_history"))
        for event in pipeline.ask(validated_question(inputs[self.asks]), history, cancelled):
            outcome.take(event, recorded.documents)
            yield event

    def pipeline(self, retriever: Runnable[str, list[Document]] | None = None) -> RagPipeline:
        """Return the pipeline that makes the answers, over another `retriever` where one is given."""
        return RagPipeline(
            retriever=retriever or self.retriever,
            llm=self.llm,
            embedder=self.embedder,
            corpus=Corpus(self.rarity),
            answer_rephrased=self._answer_rephrased(),
        )

    def _inputs(self, given: str | Inputs) -> Inputs:
        inputs = {self.asks: given} if isinstance(given, str) else given
        if not isinstance(inputs, Mapping) or not isinstance(inputs.get(self.asks), str):
            raise QuestionRefused(
                f'{self.get_name()} takes {{"{self.asks}": "..."}}, the question as text; got {given!r:.80}.'
            )
        return dict(inputs)

    def _answer_rephrased(self) -> bool:
        return True

    def _sources(self, outcome: "_Outcome") -> dict[str, Any]:
        return {"source_documents": outcome.documents} if self.return_source_documents else {}


class RetrievalQA(_Chain):
    """One question, one cited answer: ``{"query"} -> {"query", "result", "source_documents"}``.

    Marker [n] of the result is the n-th source document; see `with_citations` for their metadata.
    """

    asks = "query"
    answers = "result"

    @classmethod
    def from_chain_type(
        cls, llm: Any, chain_type: Literal["stuff"] = "stuff", *, retriever: Runnable[Any, Any], **kwargs: Any
    ) -> Self:
        """Make the chain; of LangChain's types there is "stuff": all passages in one prompt."""
        if chain_type != "stuff":
            raise ValueError(f'There is no chain_type {chain_type!r}, only "stuff": one prompt, one answer.')
        return cls.from_llm(llm, retriever, **kwargs)


class ConversationalRetrievalChain(_Chain):
    """A question in its conversation: ``{"question", "chat_history"}``, the history oldest first.

    The history is a list of (human, ai) texts or of messages. Returns both with "answer",
    "source_documents" and "generated_question": the follow-up as a standalone question, which is searched.
    With `rephrase_question` it is also answered; without, the question is answered as it was asked.
    """

    asks = "question"
    answers = "answer"

    rephrase_question: bool = True

    def _inputs(self, given: str | Inputs) -> Inputs:
        inputs = super()._inputs(given)
        to_history(inputs.setdefault("chat_history", []))
        return inputs

    def _answer_rephrased(self) -> bool:
        return self.rephrase_question

    def _sources(self, outcome: "_Outcome") -> dict[str, Any]:
        return {"generated_question": outcome.generated_question, **super()._sources(outcome)}


def to_history(given: ChatHistory | str | None) -> list[tuple[str, str]]:
    """Return a chat history as (role, content), oldest first; messages of other roles are left out.

    >>> to_history([("When was it built?", "In 1432 [1].")])
    [('user', 'When was it built?'), ('assistant', 'In 1432 [1].')]
    """
    turns: list[tuple[str, str]] = []
    for turn in given or ():
        match turn:
            case BaseMessage():
                turns += [(ROLES[turn.type], str(turn.text))] if turn.type in ROLES else []
            case (str(human), str(ai)):
                turns += [("user", human), ("assistant", ai)]
            case _:
                raise QuestionRefused(
                    f"The chat_history must be a list of (human, ai) texts or messages, not of {turn!r:.80}."
                )
    return turns


def with_citations(documents: Sequence[Document], citations: Sequence[Citation]) -> list[Document]:
    """Return the documents with their marker as "number", and "citations", in their metadata.

    A citation is ``{"answer_start", "answer_end", "status", "quote_start", "quote_end", "quote"}``: a
    sentence of the answer and its quote. Offsets of the quote count in the whole document of a Footnote
    chunk, and in the text of any other document.
    """
    return [_cited(number, document, citations) for number, document in enumerate(documents, start=1)]


def _cited(number: int, document: Document, citations: Sequence[Citation]) -> Document:
    mine = [asdict(citation) for citation in citations if citation.marker == number]
    for citation in mine:
        del citation["marker"]
    metadata = {**document.metadata, "number": number, "citations": mine}
    return Document(id=document.id, page_content=document.page_content, metadata=metadata)


@dataclass
class _Outcome:
    generated_question: str = ""
    text: str = ""
    documents: list[Document] = field(default_factory=list)

    def take(self, event: object, found: Sequence[Document]) -> None:
        match event:
            case Condensed(question):
                self.generated_question = question
            case Sources(passages):
                self.documents = list(found[: len(passages)])  # the weakest may not fit into a prompt
            case Done(text, citations):
                self.text, self.documents = text, with_citations(self.documents, citations)


class _Recorded(Runnable[str, list[Document]]):
    """Retriever that records the documents found, since passages keep only a part of their metadata."""

    def __init__(self, retriever: Runnable[str, list[Document]]):
        self._retriever = retriever
        self.documents: list[Document] = []

    def invoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:  # noqa: A002
        self.documents = self._retriever.invoke(input, config, **kwargs)
        return self.documents


# The conversation as a LangChain tool
DESCRIPTION = (
    "Answers a question from the user's own documents. Numbers in square brackets are part of the answer: "
    "they cite the passages it rests on."
)


class HistoryMessage(BaseModel):
    """One message of a conversation."""

    role: Literal["user", "assistant"]
    content: str


class Question(BaseModel):
    """Arguments of the tool."""

    question: str = Field(description="What to find out, as a question in the user's own language.")
    chat_history: list[HistoryMessage] = Field(
        default=[], description="What was said before, oldest first; nothing where the question stands alone."
    )


def conversation_tool(
    chain: ConversationalRetrievalChain, *, name: str = "ask_documents", description: str = DESCRIPTION
) -> BaseTool:
    """Return a conversation as a tool: its content is the cited answer, its artifact the source documents.

    The documents are those of `with_citations`. The model gets errors as one sentence.
    """
    with_sources = chain.model_copy(update={"return_source_documents": True})

    def ask(question: str, chat_history: Sequence[HistoryMessage] = ()) -> tuple[str, list[Document]]:
        history = [_message(turn) for turn in chat_history]
        try:
            answer = with_sources.invoke({"question": question, "chat_history": history})
        except FootnoteError as error:
            raise ToolException(str(error)) from error
        return answer["answer"], answer["source_documents"]

    return StructuredTool.from_function(
        ask,
        name=name,
        description=description,
        args_schema=Question,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )


def _message(turn: HistoryMessage) -> BaseMessage:
    return HumanMessage(turn.content) if turn.role == "user" else AIMessage(turn.content)


# Footnote's documents in a program elsewhere
class FootnoteRetriever(BaseRetriever):
    """Retriever over the documents of a running Footnote, by its HTTP interface.

    `base_url` is the server's address, `api_key` a key with the scope "read". `collections`, by name or id,
    and `retriever` are optional. A document's metadata tells its place: `document`, `document_id`, `page`,
    `heading`, `start` and `end` of the text, and the original's `sha256`. Raises ApiError.
    """

    base_url: str
    api_key: SecretStr
    k: int = 6
    collections: list[str] = Field(default_factory=list)
    retriever: RetrieverName | None = None

    @field_validator("base_url")
    @classmethod
    def _is_address(cls, url: str) -> str:
        return http_address(url)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - LangChain passes it
        k: int | None = None,
    ) -> list[Document]:
        client = ApiClient(self.base_url, self.api_key.get_secret_value())
        asked = {"query": query, "k": k or self.k, "collections": self.collections}
        if self.retriever is not None:
            asked["retriever"] = self.retriever
        passages = client.call("POST", "/api/search", body=asked).get("passages")
        if not isinstance(passages, list):
            raise ApiError(f"The server at {self.base_url} gave no passages: is it Footnote's?", 502)
        return [_found(passage) for passage in passages]


def _found(passage: dict[str, Any]) -> Document:
    places = {name: value for name, value in passage.items() if name not in ("id", "text", "number")}
    return Document(passage["text"], id=passage["id"], metadata=places)
