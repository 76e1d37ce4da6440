"""`POST /api/search`: the passages for a query, without an answer."""

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from api.access import Names, Reader
from api.answers import SourceOut, source
from api.problems import responses
from rag.chat.pipeline import validated_question
from rag.chat.scope import NarrowedTo, SearchedIn
from rag.retrieval.degradation import Degraded
from rag.settings import RetrieverName

router = APIRouter(tags=["answers"])


class SearchRequest(BaseModel):
    """A query."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"query": "opening of the harbour", "k": 6}]}
    )

    query: str = Field(description="At most 8,000 characters.")
    collections: Names = Field(
        [], description="Ids or names of the collections to search; everything without any."
    )
    documents: Names = Field([], description="Ids of documents to search.")
    retriever: RetrieverName | None = Field(
        None, description="Search mode; that of the settings without one."
    )
    k: int | None = Field(None, ge=1, le=50, description="Passages to find.")


class SearchOut(BaseModel):
    """Passages, best first."""

    passages: list[SourceOut]
    searched_in: str | None
    narrowed_to: str | None
    left_out: list[str]


@router.post("/api/search", response_model=SearchOut, responses=responses(404, 409), summary="Search")
def search(body: SearchRequest, access: Reader) -> SearchOut:
    """Find the passages for a query, as they would be found for a question."""
    query = validated_question(body.query)
    scope = access.scope(body.collections, body.documents)
    pipeline = access.workspace.pipeline_within(scope, retriever=body.retriever, k=body.k)
    found = SearchOut(passages=[], searched_in=None, narrowed_to=None, left_out=[])
    asides = pipeline.find(query)
    while True:
        try:
            aside = next(asides)
        except StopIteration as end:
            best = end.value[: pipeline.k]  # without a model more are found, to quote from
            found.passages = [source(number, one) for number, one in enumerate(best, start=1)]
            return found
        match aside:
            case SearchedIn(said):
                found.searched_in = said
            case NarrowedTo(said):
                found.narrowed_to = said
            case Degraded():
                found.left_out.append(aside.sentence)
