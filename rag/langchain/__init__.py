"""LangChain interface: its chains, an agent's tool, a retriever over HTTP."""

from rag.langchain.chains import (
    CONDENSE_QUESTION_PROMPT,
    BaseConversationalRetrievalChain,
    ChatVectorDBChain,
    ConversationalRetrievalChain,
    RetrievalQA,
    chat_history_text,
    to_history,
    with_citations,
)
from rag.langchain.loaders import DirectoryLoader, TextLoader
from rag.langchain.retriever import FootnoteRetriever
from rag.langchain.tool import conversation_tool

__all__ = [
    "CONDENSE_QUESTION_PROMPT",
    "BaseConversationalRetrievalChain",
    "ChatVectorDBChain",
    "ConversationalRetrievalChain",
    "DirectoryLoader",
    "FootnoteRetriever",
    "RetrievalQA",
    "TextLoader",
    "chat_history_text",
    "conversation_tool",
    "to_history",
    "with_citations",
]
