"""The conversation as a LangChain tool, whose result carries its sources."""

from collections.abc import Sequence
from typing import Literal

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import BaseModel, Field

from rag.errors import FootnoteError
from rag.langchain import ConversationalRetrievalChain

DESCRIPTION = (
    "Answers a question from the user's own documents. Numbers in square brackets are part of the answer: "
    "they cite the passages it rests on."
)


class HistoryMessage(BaseModel):
    """One message of a conversation."""

    role: Literal["user", "assistant"]
    content: str


class Question(BaseModel):
    """What the tool is called with."""

    question: str = Field(description="What to find out, as a question in the user's own language.")
    chat_history: list[HistoryMessage] = Field(
        default=[], description="What was said before, oldest first; nothing where the question stands alone."
    )


def conversation_tool(
    chain: ConversationalRetrievalChain, *, name: str = "ask_documents", description: str = DESCRIPTION
) -> BaseTool:
    """Return a conversation as a tool: its content is the cited answer, its artifact the source documents.

    These are as `rag.langchain.with_citations` gives them. What goes wrong is told to the model in one sentence.
    """
    telling = chain.model_copy(update={"return_source_documents": True})

    def ask(question: str, chat_history: Sequence[HistoryMessage] = ()) -> tuple[str, list[Document]]:
        history = [_message(turn) for turn in chat_history]
        try:
            told = telling.invoke({"question": question, "chat_history": history})
        except FootnoteError as error:
            raise ToolException(str(error)) from error
        return told["answer"], told["source_documents"]

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
