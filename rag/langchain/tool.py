"""A conversation as a LangChain tool: an agent gets the cited answer, its sources and the documents."""

from collections.abc import Sequence
from typing import Any, Literal

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import BaseModel, Field

from rag.errors import FootnoteError
from rag.langchain.chains import BaseConversationalRetrievalChain
from rag.text.normalize import clean

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
    chain: BaseConversationalRetrievalChain,
    *,
    name: str = "ask_documents",
    description: str = DESCRIPTION,
    return_direct: bool = False,
) -> BaseTool:
    """Return a conversation as a tool: its content is the cited answer, then "Sources:", a line for each.

    Its artifact are the source documents of `with_citations`. With `return_direct` an agent's answer is the
    tool's. The model gets errors as one sentence.
    """
    with_sources = chain.model_copy(update={"return_source_documents": True})

    def ask(question: str, chat_history: Sequence[HistoryMessage] = ()) -> tuple[str, list[Document]]:
        history = [_message(turn) for turn in chat_history]
        try:
            answer = with_sources.invoke({"question": question, "chat_history": history})
        except FootnoteError as error:
            raise ToolException(str(error)) from error
        documents = answer["source_documents"]
        return answer[chain.output_key] + source_list(documents), documents

    return StructuredTool.from_function(
        ask,
        name=name,
        description=description,
        args_schema=Question,
        response_format="content_and_artifact",
        handle_tool_error=True,
        return_direct=return_direct,
    )


def source_list(documents: Sequence[Document]) -> str:
    r"""Return the documents that an answer cites as its last lines; nothing where it cites none.

    >>> cited = {"number": 2, "citations": [{"quote": "May"}], "document": "lease.pdf", "page": 3}
    >>> source_list([Document("It ends in May.", metadata=cited)])
    '\n\nSources:\n[2] lease.pdf, page 3'
    """
    lines = [_source(document) for document in documents if document.metadata.get("citations")]
    return "".join(["\n\nSources:", *(f"\n{line}" for line in lines)]) if lines else ""


def _source(document: Document) -> str:
    """Return a source's number, its name and its page, on one line."""
    metadata = document.metadata
    named: Sequence[Any] = [metadata.get(key) for key in ("document", "source", "title")] + [document.id]
    name = next((str(each) for each in named if each), document.page_content[:60])
    page = f", page {metadata['page']}" if metadata.get("page") is not None else ""
    return f"[{metadata['number']}] {' '.join(clean(name).split())}{page}"


def _message(turn: HistoryMessage) -> BaseMessage:
    return HumanMessage(turn.content) if turn.role == "user" else AIMessage(turn.content)
