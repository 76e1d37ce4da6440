"""Errors of the HTTP interface: the page's own sentences as problem+json (RFC 9457) or in OpenAI's form."""

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

from rag import errors
from storage import errors as storage_errors
from storage.errors import FootnoteError

log = logging.getLogger("footnote.api")

MEDIA_TYPE = "application/problem+json"
OPENAI = "/v1/"  # paths whose errors have OpenAI's form
UNEXPECTED = "Something unexpected went wrong; the server's log tells what."
NO_ADDRESS = "There is nothing at this address. /api/openapi.json lists what there is."
NO_METHOD = "This address does not take this method. /api/openapi.json lists what it takes."
NOT_READ = "The body could not be read. /api/openapi.json tells its form."
STATUS: Mapping[type[FootnoteError], int] = {  # the first that fits
    errors.KeyRefused: 401,
    errors.ScopeRefused: 403,
    errors.EntryRefused: 403,
    storage_errors.AccountClosed: 403,
    storage_errors.NotFound: 404,
    storage_errors.AnswerPending: 409,
    storage_errors.NotUnfinished: 409,
    storage_errors.KeyReused: 409,
    storage_errors.NameRefused: 422,
    errors.QuestionRefused: 422,
    errors.DocumentRefused: 422,
    errors.ExportRefused: 422,
    errors.GridRefused: 422,
    errors.TreeMissing: 409,
    errors.LimitReached: 429,
    errors.LLMError: 502,
    errors.AddressRefused: 422,
    errors.SourceError: 502,
    storage_errors.DiskFull: 507,
    FootnoteError: 503,
}
TITLES = {**{status.value: status.phrase for status in HTTPStatus}, 422: "Unprocessable Content"}
KINDS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}


class Problem(BaseModel):
    """An error: `detail` is a sentence for a person."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str


class OpenAIErrorBody(BaseModel):
    """Fields of an error in OpenAI's form."""

    message: str
    type: str
    param: str | None = None
    code: str | None = None


class OpenAIError(BaseModel):
    """An error in OpenAI's form."""

    error: OpenAIErrorBody


def status_of(error: FootnoteError) -> int:
    """Return the HTTP status of an error.

    >>> status_of(errors.LLMUnreachable("The model is away.")), status_of(storage_errors.StorageBusy("Busy."))
    (502, 503)
    """
    return next(status for kind, status in STATUS.items() if isinstance(error, kind))


def problem(status: int, sentence: str) -> dict[str, Any]:
    """Return a problem's fields."""
    return Problem(title=TITLES.get(status, "Error"), status=status, detail=sentence).model_dump()


def openai_error(status: int, sentence: str) -> dict[str, Any]:
    """Return an error in OpenAI's form."""
    kind = KINDS.get(status, "invalid_request_error" if status < 500 else "server_error")
    return OpenAIError(
        error=OpenAIErrorBody(message=sentence, type=kind, code=CODES.get(status))
    ).model_dump()


def error_response(
    path: str, status: int, sentence: str, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """Answer a request to `path` with an error in the form of that path."""
    headers = {**(headers or {}), **({"WWW-Authenticate": "Bearer"} if status == 401 else {})}
    if path.startswith(OPENAI):
        return JSONResponse(openai_error(status, sentence), status, headers)
    return JSONResponse(problem(status, sentence), status, headers, MEDIA_TYPE)


async def on_footnote_error(request: Request, error: Exception) -> JSONResponse:
    """Answer with the sentence of an error of ours."""
    assert isinstance(error, FootnoteError)  # noqa: S101 - registered for these
    return error_response(request.url.path, status_of(error), str(error))


async def on_http_error(request: Request, error: Exception) -> JSONResponse:
    """Answer what the router or the body's reader refused."""
    assert isinstance(error, HTTPException)  # noqa: S101
    sentences = {400: NOT_READ, 404: NO_ADDRESS, 405: NO_METHOD}
    sentence = (
        error.detail if error.status_code in (408, 413) else sentences.get(error.status_code, error.detail)
    )
    return error_response(request.url.path, error.status_code, sentence, error.headers)


async def on_invalid(request: Request, error: Exception) -> JSONResponse:
    """Answer a request whose fields are wrong, naming the first of them."""
    assert isinstance(error, RequestValidationError)  # noqa: S101
    return error_response(request.url.path, 422, invalid_sentence(error.errors()))


async def on_disconnect(request: Request, _: Exception) -> JSONResponse:
    """Answer nobody: the client went away within its own body."""
    return error_response(request.url.path, 400, NOT_READ)


async def on_unexpected(request: Request, error: Exception) -> JSONResponse:
    """Answer a request that failed; the log has the traceback."""
    log.error("A request failed", exc_info=error)
    return error_response(request.url.path, 500, UNEXPECTED)


def invalid_sentence(found: Any) -> str:
    """Return a sentence on the first wrong field; its value is not repeated.

    >>> invalid_sentence([{"loc": ("body", "k"), "msg": "Input should be less than 51"}])
    'The field “k” cannot be used: input should be less than 51.'
    """
    first = found[0]
    message = str(first["msg"]).removeprefix("Value error, ").rstrip(".")
    if first.get("type") == "json_invalid":
        return NOT_READ
    place = ".".join(map(str, first["loc"][1:]))
    if not place:
        return f"The {first['loc'][0]} cannot be used: {message[:1].lower()}{message[1:]}."
    return f"The field “{place}” cannot be used: {message[:1].lower()}{message[1:]}."


def responses(*statuses: int, form: type[BaseModel] = Problem) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI descriptions of the errors that every operation has, and of these beside them."""
    media = MEDIA_TYPE if form is Problem else "application/json"
    content = {media: {"schema": {"$ref": f"#/components/schemas/{form.__name__}"}}}
    every = {400, 401, 403, 408, 413, 422, 429, 500, 503, 507, *statuses}
    return {status: {"description": TITLES[status], "content": content} for status in sorted(every)}
