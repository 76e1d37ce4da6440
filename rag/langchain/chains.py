"""LangChain's retrieval chains over the app's pipeline: RetrievalQA, ConversationalRetrievalChain."""

from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from threading import Event
from typing import Any, Self, cast

from langchain_core.callbacks import Callbacks, StdOutCallbackHandler
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.messages import BaseMessage, convert_to_openai_messages
from langchain_core.prompts import BasePromptTemplate, PromptTemplate
from langchain_core.runnables import Runnable, RunnableConfig, RunnableSerializable
from langchain_core.runnables.config import merge_configs, run_in_executor
from langchain_core.runnables.utils import AddableDict
from langchain_core.vectorstores import VectorStore
from pydantic import ConfigDict, Field, field_validator, model_validator

from rag.chat.answer import Condensed, Done, Sources, Token
from rag.chat.corpus import Corpus
from rag.chat.past_turns import PastTurn
from rag.chat.pipeline import RagPipeline, validated_question
from rag.chat.prompts import CONDENSE
from rag.chat.rewrite import REWRITE_TOKENS, make_standalone
from rag.citations.cite import cite
from rag.citations.support import Citation
from rag.errors import QuestionRefused
from rag.jobs import Cancel, never
from rag.langchain.combine import ChainType, combined_answer, documents_chain
from rag.models.llm import LLM
from rag.models.protocol import ChatModel, LanguageModel
from rag.passage import Passage
from rag.text.markers import MarkerFilter
from rag.text.prompt_parts import count_tokens

ChatHistory = Sequence[tuple[str, str] | BaseMessage]
Inputs = dict[str, Any]
Events = Iterator[object]
ROLES = {"human": "user", "ai": "assistant"}
SPEAKERS = {"user": "Human: ", "assistant": "Assistant: "}
CONVERSATION_TOKENS = 2000  # of the newest turns, which the model sees with a question that is not rephrased
CONDENSE_QUESTION_PROMPT = PromptTemplate.from_template(
    CONDENSE + "\nConversation:\n{chat_history}\n\nFollow-up question: {question}\nStandalone question:"
)


class _Chain(RunnableSerializable[str | Inputs, dict[str, Any]]):
    """Base of the chains: a question in, the cited answer and, where asked for, its sources out.

    `llm` is rag.models.llm.LLM, any LangChain chat model, or None for the documents' own sentences.
    `embedder` and `rarity` are those of the app's pipeline; without them sentences and terms are chosen by
    their words. Answers of a documents chain (`from_chain_type`) are checked and marked as all others are.
    `memory` is any of LangChain's.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    llm: Any = None
    embedder: Embeddings | None = None
    rarity: Callable[[str], float] | None = None
    return_source_documents: bool = False
    memory: Any = None
    verbose: bool = False
    callbacks: Callbacks = Field(default=None, exclude=True)
    tags: list[str] | None = None
    metadata: dict[str, Any] | None = None
    output_key: str

    @field_validator("llm")
    @classmethod
    def _wrap_model(cls, llm: Any) -> LLM | ChatModel | None:
        return wrapped_model(llm)

    @property
    @abstractmethod
    def input_keys(self) -> list[str]:
        """The inputs, the question first."""

    @property
    def output_keys(self) -> list[str]:
        """The outputs, the answer first."""
        return [self.output_key, *(["source_documents"] if self.return_source_documents else [])]

    def invoke(
        self,
        input: str | Inputs,  # noqa: A002 - LangChain's name
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Answer one question; with `return_only_outputs`, without the inputs.

        Raises QuestionRefused, RetrievalError or LLMError.
        """
        whole = partial(self._whole, only_outputs=bool(kwargs.get("return_only_outputs")))
        return self._call_with_config(whole, input, self._config(config))

    def __call__(
        self,
        inputs: str | Inputs,
        return_only_outputs: bool = False,
        callbacks: Callbacks = None,
        **config: Any,
    ) -> dict[str, Any]:
        """Answer one question; `config` are tags, metadata and run_name."""
        return self.invoke(inputs, _given(callbacks, config), return_only_outputs=return_only_outputs)

    async def acall(
        self,
        inputs: str | Inputs,
        return_only_outputs: bool = False,
        callbacks: Callbacks = None,
        **config: Any,
    ) -> dict[str, Any]:
        """Answer one question, as a call does."""
        return await self.ainvoke(inputs, _given(callbacks, config), return_only_outputs=return_only_outputs)

    def run(self, *args: Any, callbacks: Callbacks = None, **kwargs: Any) -> str:
        """Return only the answer, for one positional input or for inputs by name.

        Raises ValueError where the chain has more than one output.
        """
        return str(self(self._run_inputs(args, kwargs), callbacks=callbacks)[self.output_key])

    async def arun(self, *args: Any, callbacks: Callbacks = None, **kwargs: Any) -> str:
        """Return only the answer, as `run`."""
        return str((await self.acall(self._run_inputs(args, kwargs), callbacks=callbacks))[self.output_key])

    def apply(self, input_list: Sequence[str | Inputs], callbacks: Callbacks = None) -> list[dict[str, Any]]:
        """Answer several questions, one after the other."""
        return [self(inputs, callbacks=callbacks) for inputs in input_list]

    def stream(
        self,
        input: str | Inputs,  # noqa: A002
        config: RunnableConfig | None = None,
        **kwargs: Any,  # noqa: ARG002
    ) -> Iterator[dict[str, Any]]:
        """Yield the inputs, then the answer piece by piece, and the further outputs at the end.

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

    def pipeline(self, retriever: Runnable[str, list[Document]] | None = None) -> RagPipeline:
        """Return the pipeline that makes the answers, over another `retriever` where one is given."""
        return RagPipeline(
            retriever=retriever or _Recorded(partial(self._find, inputs={})),
            llm=self.llm,
            embedder=self.embedder,
            corpus=Corpus(self.rarity),
            answer_rephrased=self._answer_rephrased(),
            conversation_tokens=0 if self._answer_rephrased() else CONVERSATION_TOKENS,
        )

    def _config(self, config: RunnableConfig | None) -> RunnableConfig:
        """Return the configuration of a run, with the chain's own callbacks, tags and metadata."""
        own = RunnableConfig(callbacks=self.callbacks, tags=self.tags or [], metadata=self.metadata or {})
        loud = RunnableConfig(callbacks=[StdOutCallbackHandler()]) if self.verbose else None
        return merge_configs(own, loud, config)

    def _run_inputs(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | Inputs:
        """Return the inputs of `run`; raises ValueError."""
        if len(self.output_keys) != 1:
            raise ValueError(
                f"`run` returns one output, and this chain has {', '.join(self.output_keys)}. Call it."
            )
        if len(args) == 1 and not kwargs:
            return args[0]  # type: ignore[no-any-return]
        if args or not kwargs:
            raise ValueError("`run` takes either one positional input or inputs by name.")
        return dict(kwargs)

    def _stream(
        self, asked: str | Inputs, config: RunnableConfig | None, cancelled: Cancel
    ) -> Iterator[dict[str, Any]]:
        def pieces(given: Iterator[str | Inputs]) -> Iterator[dict[str, Any]]:
            for one in given:
                yield from self._pieces(self._inputs(one), cancelled)

        return self._transform_stream_with_config(iter([asked]), pieces, self._config(config))

    def _whole(self, asked: str | Inputs, *, only_outputs: bool = False) -> dict[str, Any]:
        inputs, outcome = self._inputs(asked), _Outcome()
        for _ in self._events(inputs, outcome, never):
            pass
        outputs = self._remembered(inputs, outcome)
        return outputs if only_outputs else {**inputs, **outputs}

    def _pieces(self, inputs: Inputs, cancelled: Cancel) -> Iterator[dict[str, Any]]:
        outcome = _Outcome()
        yield AddableDict(inputs)
        for event in self._events(inputs, outcome, cancelled):
            if isinstance(event, Token):
                yield AddableDict({self.output_key: event.text})
        self._remembered(inputs, outcome)
        yield AddableDict(self._further(outcome))

    def _remembered(self, inputs: Inputs, outcome: "_Outcome") -> dict[str, Any]:
        """Return the outputs, after the memory has them too."""
        outputs = {self.output_key: outcome.text, **self._further(outcome)}
        if self.memory is not None:
            self.memory.save_context(inputs, outputs)
        return outputs

    def _events(self, inputs: Inputs, outcome: "_Outcome", cancelled: Cancel) -> Events:
        found = _Recorded(partial(self._find, inputs=inputs), must_find=self._if_nothing_found() is not None)
        question = validated_question(inputs[self.input_keys[0]])
        try:
            for event in self._steps(question, inputs, found, cancelled):
                outcome.take(event, found.documents)
                yield event
        except _NothingFound:
            text = self._if_nothing_found() or ""
            for event in (Token(text), Done(text, (), None)):
                outcome.take(event, ())
                yield event

    def _steps(self, question: str, inputs: Inputs, found: "_Recorded", cancelled: Cancel) -> Events:
        """Yield the events of an answer by the pipeline, or by a documents chain."""
        history, generated = self._history(inputs), self._standalone(question, inputs)
        if self._combiner() is not None:
            yield from self._combined(
                generated or self._rewritten(question, history), question, inputs, found
            )
            return
        turns = () if self._answer_rephrased() else self._turns(inputs)
        ask = partial(self.pipeline(found).ask, cancelled=cancelled, turns=turns)
        if generated is None:
            yield from ask(question, history)
            return
        found.searched = generated
        yield Condensed(generated)
        yield from ask(generated if self._answer_rephrased() else question, [])

    def _combined(self, generated: str, question: str, inputs: Inputs, found: "_Recorded") -> Events:
        """Yield the events of an answer by a documents chain, with markers and citations."""
        yield Condensed(generated)
        documents = found.invoke(generated)
        passages = tuple(Passage.from_document(document) for document in documents)
        yield Sources(passages)
        asked = generated if self._answer_rephrased() else question
        given = {**inputs, "question": asked, "chat_history": self._said(inputs)}
        markers = MarkerFilter(len(passages))
        text = combined_answer(self._combiner(), documents, given)
        text = markers.feed(text) + markers.flush()
        yield Token(text)
        text, citations = cite(text, passages, question=asked, embedder=self.embedder)
        yield Done(text, citations, None if self.llm is None else self.llm.settings.model)

    def _rewritten(
        self, question: str, history: list[tuple[str, str]], llm: LanguageModel | None = None
    ) -> str:
        return make_standalone(
            question, history, llm=llm or self.llm, rarity=self.rarity, embedder=self.embedder
        ).text

    def _inputs(self, given: str | Inputs) -> Inputs:
        asks = self.input_keys[0]
        inputs = {asks: given} if isinstance(given, str) else given
        if not isinstance(inputs, Mapping) or not isinstance(inputs.get(asks), str):
            raise QuestionRefused(
                f'{self.get_name()} takes {{"{asks}": "..."}}, the question as text; got {given!r:.80}.'
            )
        remembered = {} if self.memory is None else self.memory.load_memory_variables(dict(inputs))
        return {**inputs, **remembered}

    @abstractmethod
    def _find(self, question: str, inputs: Inputs) -> list[Document]:
        """Return the documents of a question."""

    @abstractmethod
    def _combiner(self) -> Any:
        """Return the documents chain, or None for the app's own answer."""

    def _further(self, outcome: "_Outcome") -> dict[str, Any]:
        return {"source_documents": outcome.documents} if self.return_source_documents else {}

    def _history(self, inputs: Inputs) -> list[tuple[str, str]]:
        return to_history(inputs.get("chat_history"))

    def _said(self, inputs: Inputs) -> str:
        return chat_history_text(inputs.get("chat_history"))

    def _turns(self, inputs: Inputs) -> Sequence[PastTurn]:  # noqa: ARG002
        return ()

    def _standalone(self, question: str, inputs: Inputs) -> str | None:  # noqa: ARG002
        """Return the question to search for; None where the pipeline makes it."""
        return None

    def _answer_rephrased(self) -> bool:
        return True

    def _if_nothing_found(self) -> str | None:
        return None


class RetrievalQA(_Chain):
    """One question, one cited answer: ``{"query"} -> {"query", "result"}``, and "source_documents".

    Marker [n] of the result is the n-th source document; see `with_citations` for their metadata.
    """

    retriever: Runnable[Any, Any]
    combine_documents_chain: Any = None
    input_key: str = "query"
    output_key: str = "result"

    @property
    def input_keys(self) -> list[str]:
        """The question's key."""
        return [self.input_key]

    @classmethod
    def from_llm(
        cls,
        llm: Any = None,
        prompt: BasePromptTemplate[Any] | None = None,
        callbacks: Callbacks = None,
        **kwargs: Any,
    ) -> Self:
        """Make the chain; `kwargs` are its fields, with the `retriever`.

        A `prompt` of context and question replaces the app's own; it needs langchain-classic.
        """
        of_context = PromptTemplate.from_template("Context:\n{page_content}")
        options = {} if prompt is None else {"prompt": prompt, "document_prompt": of_context}
        return cls.from_chain_type(llm, "stuff", options, callbacks=callbacks, **kwargs)

    @classmethod
    def from_chain_type(
        cls,
        llm: Any = None,
        chain_type: ChainType = "stuff",
        chain_type_kwargs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Make the chain by the way in which it reads its documents.

        "stuff" is the app's own: all in one prompt. "map_reduce", "refine" and "map_rerank", and
        `chain_type_kwargs` of any of them, are langchain-classic's.
        """
        combine = documents_chain(
            wrapped_model(llm), chain_type, chain_type_kwargs or {}, verbose=bool(kwargs.get("verbose"))
        )
        return cls(llm=llm, combine_documents_chain=combine, **kwargs)

    def _get_docs(self, question: str, *, run_manager: Any = None) -> list[Document]:  # noqa: ARG002
        """Return the documents of a question; for subclasses to replace."""
        return list(self.retriever.invoke(question))

    def _find(self, question: str, inputs: Inputs) -> list[Document]:  # noqa: ARG002
        return self._get_docs(question)

    def _combiner(self) -> Any:
        return self.combine_documents_chain


class BaseConversationalRetrievalChain(_Chain):
    """A question in its conversation: ``{"question", "chat_history"} -> {"answer"}`` and the inputs.

    The history is a list of (human, ai) texts or of messages, oldest first, or anything that
    `get_chat_history` turns into text. The follow-up is made a standalone question: by the app's rewriter,
    also with another `condense_question_llm`; by `condense_question_prompt`, with variables "chat_history"
    and "question"; or by a `question_generator` of the two. That question is searched. It is also answered;
    with `rephrase_question=False` the question is answered as it was asked, and the model sees the
    conversation. `response_if_no_docs_found` is the answer where nothing is found.
    """

    combine_docs_chain: Any = None
    output_key: str = "answer"
    rephrase_question: bool = True
    return_generated_question: bool = False
    question_generator: Any = None
    condense_question_prompt: Any = None  # a prompt template, which pydantic must not construct
    condense_question_llm: Any = None
    get_chat_history: Callable[[Any], str] | None = None
    response_if_no_docs_found: str | None = None

    @field_validator("condense_question_llm")
    @classmethod
    def _wrap_condense_model(cls, llm: Any) -> LLM | ChatModel | None:
        return wrapped_model(llm)

    @model_validator(mode="after")
    def _check_condensing(self) -> Self:
        if self.condense_question_prompt is not None and not (self.llm or self.condense_question_llm):
            raise ValueError(
                "condense_question_prompt needs a model: give llm or condense_question_llm, or leave it out."
            )
        return self

    @property
    def input_keys(self) -> list[str]:
        """The question and the conversation before it."""
        return ["question", "chat_history"]

    @property
    def output_keys(self) -> list[str]:
        """The outputs, the answer first."""
        return [*super().output_keys, *(["generated_question"] if self.return_generated_question else [])]

    @abstractmethod
    def _get_docs(self, question: str, inputs: Inputs, *, run_manager: Any = None) -> list[Document]:
        """Return the documents of a standalone question; for subclasses to replace."""

    def _find(self, question: str, inputs: Inputs) -> list[Document]:
        return self._get_docs(question, inputs)

    def _combiner(self) -> Any:
        return self.combine_docs_chain

    def _inputs(self, given: str | Inputs) -> Inputs:
        inputs = super()._inputs(given)
        inputs.setdefault("chat_history", [])
        if self.get_chat_history is None:
            to_history(inputs["chat_history"])
        return inputs

    def _history(self, inputs: Inputs) -> list[tuple[str, str]]:
        return [] if isinstance(inputs["chat_history"], str) else super()._history(inputs)

    def _said(self, inputs: Inputs) -> str:
        return (self.get_chat_history or chat_history_text)(inputs["chat_history"])

    def _turns(self, inputs: Inputs) -> Sequence[PastTurn]:
        history = self._history(inputs)
        if not history and (said := self._said(inputs)):
            return (PastTurn("", said),)
        turns: list[PastTurn] = []
        for role, content in history:
            if role == "user" or not turns or turns[-1].answer:
                turns.append(PastTurn("", ""))
            last = turns[-1]
            turns[-1] = PastTurn(content, "") if role == "user" else PastTurn(last.question, content)
        return turns

    def _standalone(self, question: str, inputs: Inputs) -> str | None:
        said, prompt = self._said(inputs), self.condense_question_prompt
        if self.question_generator is not None:
            given = {"question": question, "chat_history": said}
            return _text(self.question_generator.invoke(given)) if said else question
        model = self.condense_question_llm or self.llm
        if model is None or (prompt is None and self.get_chat_history is None):
            history = self._history(inputs)
            return self._rewritten(question, history, model) if self.condense_question_llm else None
        if not said:
            return question
        asked = (prompt or CONDENSE_QUESTION_PROMPT).format_prompt(question=question, chat_history=said)
        messages = convert_to_openai_messages(asked.to_messages())
        return str(model.complete(messages, max_tokens=REWRITE_TOKENS)).strip() or question

    def _answer_rephrased(self) -> bool:
        return self.rephrase_question

    def _if_nothing_found(self) -> str | None:
        return self.response_if_no_docs_found

    def _further(self, outcome: "_Outcome") -> dict[str, Any]:
        further = super()._further(outcome)
        if self.return_generated_question:
            further["generated_question"] = outcome.generated_question
        return further


class ConversationalRetrievalChain(BaseConversationalRetrievalChain):
    """Conversation over any LangChain retriever.

    Documents that do not fit into `max_tokens_limit`, counted as the app counts tokens, are left out where
    all go into one prompt.
    """

    retriever: Runnable[Any, Any]
    chain_type: ChainType = "stuff"
    max_tokens_limit: int | None = None

    @classmethod
    def from_llm(
        cls,
        llm: Any,
        retriever: Runnable[Any, Any],
        condense_question_prompt: BasePromptTemplate[Any] | None = None,
        chain_type: ChainType = "stuff",
        verbose: bool = False,
        condense_question_llm: Any = None,
        combine_docs_chain_kwargs: Mapping[str, Any] | None = None,
        callbacks: Callbacks = None,
        **kwargs: Any,
    ) -> Self:
        """Make the chain; `kwargs` are its fields. Chain types are those of `RetrievalQA.from_chain_type`."""
        options = combine_docs_chain_kwargs or {}
        return cls(
            llm=llm,
            retriever=retriever,
            combine_docs_chain=documents_chain(wrapped_model(llm), chain_type, options, verbose=verbose),
            chain_type=chain_type,
            condense_question_prompt=condense_question_prompt,
            condense_question_llm=condense_question_llm,
            verbose=verbose,
            callbacks=callbacks,
            **kwargs,
        )

    def _get_docs(self, question: str, inputs: Inputs, *, run_manager: Any = None) -> list[Document]:  # noqa: ARG002
        return self._reduce_tokens_below_limit(list(self.retriever.invoke(question)))

    def _reduce_tokens_below_limit(self, docs: list[Document]) -> list[Document]:
        if not self.max_tokens_limit or self.chain_type != "stuff":
            return docs
        left, kept = self.max_tokens_limit, list[Document]()
        for document in docs:
            left -= count_tokens(document.page_content)
            if left < 0:
                break
            kept.append(document)
        return kept


class ChatVectorDBChain(BaseConversationalRetrievalChain):
    """Conversation over any LangChain vector store: its `top_k_docs_for_context` nearest documents.

    `search_kwargs`, and "vectordbkwargs" of the inputs, go to its `similarity_search`.
    """

    vectorstore: VectorStore
    top_k_docs_for_context: int = 4
    search_kwargs: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def from_llm(
        cls,
        llm: Any,
        vectorstore: VectorStore,
        condense_question_prompt: BasePromptTemplate[Any] | None = None,
        chain_type: ChainType = "stuff",
        combine_docs_chain_kwargs: Mapping[str, Any] | None = None,
        callbacks: Callbacks = None,
        **kwargs: Any,
    ) -> Self:
        """Make the chain; `kwargs` are its fields."""
        options = combine_docs_chain_kwargs or {}
        return cls(
            llm=llm,
            vectorstore=vectorstore,
            combine_docs_chain=documents_chain(wrapped_model(llm), chain_type, options, verbose=False),
            condense_question_prompt=condense_question_prompt,
            callbacks=callbacks,
            **kwargs,
        )

    def _get_docs(self, question: str, inputs: Inputs, *, run_manager: Any = None) -> list[Document]:  # noqa: ARG002
        options = {**self.search_kwargs, **inputs.get("vectordbkwargs", {})}
        return self.vectorstore.similarity_search(question, k=self.top_k_docs_for_context, **options)


def wrapped_model(llm: Any) -> LLM | ChatModel | None:
    """Return a model as the pipeline takes it; raises ValueError for anything that is none."""
    if llm is None or isinstance(llm, LLM | ChatModel):
        return llm
    if isinstance(llm, Runnable):
        return ChatModel(llm)
    raise ValueError("llm must be a LangChain chat model, a rag.models.llm.LLM, or None")


def chat_history_text(given: ChatHistory | str | None) -> str:
    r"""Return a chat history as LangChain's chains write it into their prompts.

    >>> chat_history_text([("When was it built?", "In 1432 [1].")])
    '\nHuman: When was it built?\nAssistant: In 1432 [1].'
    """
    return "".join(f"\n{SPEAKERS[role]}{content}" for role, content in to_history(given))


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


def _given(callbacks: Callbacks, config: Mapping[str, Any]) -> RunnableConfig:
    """Return the configuration of a call."""
    given = {"callbacks": callbacks, **config}
    return cast("RunnableConfig", {name: value for name, value in given.items() if value is not None})


def _text(output: Any) -> str:
    """Return the text that a chain, a model or a function gave."""
    if isinstance(output, Mapping):
        return str(output.get("text", next(iter(output.values()), "")))
    return str(output.text if isinstance(output, BaseMessage) else output)


@dataclass
class _Outcome:
    generated_question: str = ""
    text: str = ""
    documents: list[Document] = field(default_factory=list)

    def take(self, event: object, found: Sequence[Document]) -> None:
        match event:
            case Condensed(question):
                self.generated_question = self.generated_question or question
            case Sources(passages):
                self.documents = list(found[: len(passages)])  # the weakest may not fit into a prompt
            case Done(text, citations):
                self.text, self.documents = text, with_citations(self.documents, citations)


class _NothingFound(Exception):
    """Raised where nothing is found and the answer to that is given."""


class _Recorded(Runnable[str, list[Document]]):
    """Retriever that records the documents found, since passages keep only a part of their metadata.

    It searches for `searched` where that is set, whatever it is asked.
    """

    def __init__(self, find: Callable[[str], list[Document]], *, must_find: bool = False):
        self._find = find
        self._must_find = must_find
        self.searched: str | None = None
        self.documents: list[Document] = []

    def invoke(
        self,
        input: str,  # noqa: A002
        config: RunnableConfig | None = None,  # noqa: ARG002
        **kwargs: Any,  # noqa: ARG002
    ) -> list[Document]:
        self.documents = self._find(self.searched or input)
        if not self.documents and self._must_find:
            raise _NothingFound
        return self.documents
