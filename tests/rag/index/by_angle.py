"""Texts that are angles, so that a search among them can be told in advance."""

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings


class ByAngle(Embeddings):
    """A text is an angle in degrees: the embedding is the point there on the unit circle."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [
            [float(np.cos(np.radians(float(text)))), float(np.sin(np.radians(float(text))))] for text in texts
        ]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


def texts(documents: list[Document]) -> list[str]:
    return [document.page_content for document in documents]
