"""Chains of langchain-classic that read documents in several requests, over the app's models too."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel, BaseLanguageModel
from langchain_core.messages import AIMessage, BaseMessage, convert_to_openai_messages
from langchain_core.outputs import ChatGeneration, ChatResult

from rag.chat.answer import longest_answer
from rag.models.protocol import ChatModel, LanguageModel
from rag.text.prompt_parts import count_tokens

ChainType = Literal["stuff", "map_reduce", "refine", "map_rerank"]
CHAIN_TYPES = ("stuff", "map_reduce", "refine", "map_rerank")


def documents_chain(
    llm: LanguageModel | None, chain_type: ChainType, options: Mapping[str, Any], *, verbose: bool
) -> Any:
    """Return langchain-classic's documents chain; None for "stuff" without options, the app's own prompt.

    `options` are those of its `load_qa_chain`. Raises ValueError, and ImportError without the package.
    """
    if chain_type not in CHAIN_TYPES:
        raise ValueError(f"There is no chain_type {chain_type!r}. Choose one of: {', '.join(CHAIN_TYPES)}.")
    if chain_type == "stuff" and not options:
        return None
    if llm is None:
        raise ValueError(f"chain_type {chain_type!r} has a model read the documents: give one as llm.")
    try:
        from langchain_classic.chains.question_answering import load_qa_chain
    except ImportError as error:
        raise ImportError(
            f"chain_type {chain_type!r} needs the package langchain-classic: pip install langchain-classic."
        ) from error
    from langchain_core._api import suppress_langchain_deprecation_warning

    with suppress_langchain_deprecation_warning():  # it announces its end at every construction
        return load_qa_chain(as_chat_model(llm), chain_type=chain_type, verbose=verbose, **options)


def combined_answer(chain: Any, documents: Sequence[Document], inputs: Mapping[str, Any]) -> str:
    """Return the answer of a documents chain, or of a runnable that takes the same inputs."""
    given = {**inputs, "input_documents": list(documents)}
    output = chain.invoke(given)
    if isinstance(output, Mapping):
        output = output[getattr(chain, "output_key", "output_text")]
    return str(output.text if isinstance(output, BaseMessage) else output)


def as_chat_model(llm: LanguageModel) -> BaseLanguageModel[Any]:
    """Return a model of ours as a LangChain chat model, and one that wraps LangChain's as what it wraps."""
    wrapped = llm.model if isinstance(llm, ChatModel) else None
    return wrapped if isinstance(wrapped, BaseLanguageModel) else OwnChatModel(llm=llm)


class OwnChatModel(BaseChatModel):
    """LangChain chat model over a model of ours."""

    llm: Any

    @property
    def _llm_type(self) -> str:
        return "footnote"

    def get_num_tokens(self, text: str) -> int:
        """Return the tokens of a text, as the app counts them."""
        return count_tokens(text)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - servers differ in it; none of the chains needs it
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,  # noqa: ARG002
    ) -> ChatResult:
        text = self.llm.complete(convert_to_openai_messages(messages), max_tokens=longest_answer(self.llm))
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])
