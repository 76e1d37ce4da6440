"""Errors of a model's server as sentences, with whether to retry; independent of any client library."""

import json
import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from rag.errors import LLMBusy, LLMError, LLMRejected, LLMUnreachable
from rag.i18n import N_
from rag.text.normalize import clean

AGAIN = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
"""Statuses after which the same request may succeed; 529 means overloaded."""
BUSY = frozenset({429, 503, 529})
_DETAIL = 200


@dataclass(frozen=True)
class Failure:
    """Error to raise, and whether to retry: after `wait` seconds, without the option `unwanted`."""

    error: LLMError
    again: bool = False
    wait: float = 0.0
    unwanted: str = ""


def host_of(url: str) -> str:
    """Return a server's address without user, password or path.

    >>> host_of("https://ann:secret@example.org:8080/v1")
    'https://example.org:8080'
    """
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "")


def read_status(
    status: int, headers: Mapping[str, str], body: str, *, host: str, model: str, key: str
) -> Failure:
    """Return the failure of an error status; the server's message is quoted without the key."""
    wait = _seconds(headers.get("retry-after", ""))
    detail = _detail(body, key)
    known = {
        401: N_("{host} refused the API key. Correct the key in the settings.", host=host),
        403: N_(
            "{host} does not let this API key use the model {model}. Choose another model or key.",
            host=host,
            model=model,
        ),
        404: N_(
            "{host} has no model {model}, or its address is not that of an API (it usually ends in /v1).",
            host=host,
            model=model,
        ),
        413: N_(
            "The question and its passages are too long for {host}. Set a smaller context in the settings.",
            host=host,
        ),
        429: N_(
            "{host} limits how often it may be asked. Wait {span} and ask again.", host=host, span=span(wait)
        ),
    }
    if status in known:
        sentence = known[status]
    elif status >= 500:
        sentence = N_(
            "{host} failed to answer (status {status}). Ask again in a moment.", host=host, status=status
        )
    else:
        sentence = N_(
            "{host} refused the request (status {status}){detail}.", host=host, status=status, detail=detail
        )
    unwanted = _unwanted(body) if status == 400 else ""
    error = LLMBusy(sentence, wait) if status in BUSY else LLMRejected(sentence)
    return Failure(error, status in AGAIN or bool(unwanted), wait, unwanted)


def _unwanted(body: str) -> str:
    """Return the option that a server does not support, max_tokens or temperature, or "".

    >>> _unwanted("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
    'max_tokens'
    """
    found = re.search(
        r"unsupported (?:parameter|value)[^\w]{1,6}(max_tokens|temperature)", body, re.IGNORECASE
    )
    return found.group(1).lower() if found else ""


def read_connection_error(error: BaseException, *, host: str) -> Failure:
    """Return the failure of a connection that could not be made, or broke."""
    causes = list(_causes(error))
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        sentence = N_(
            "The certificate of {host} is not valid, so nothing was sent. Check the address.", host=host
        )
        return Failure(LLMUnreachable(sentence))
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        sentence = N_("There is no host {host}. Correct the model's address in the settings.", host=host)
        return Failure(LLMUnreachable(sentence))
    if any(type(cause).__name__ == "ConnectError" for cause in causes):
        return Failure(unreachable(host), again=True)
    sentence = N_("The connection to {host} broke off before the answer was complete. Ask again.", host=host)
    return Failure(LLMUnreachable(sentence), again=True)


def unreachable(host: str) -> LLMUnreachable:
    """Return the error of a server that takes no connection."""
    return LLMUnreachable(
        N_("Cannot reach {host}. Is the model's server running? Start it, or correct its address.", host=host)
    )


def idle_timeout_error(host: str, seconds: float) -> LLMError:
    """Return the error of a server that sent nothing for `seconds`."""
    return LLMUnreachable(
        N_("The model at {host} sent nothing for {seconds}. Ask again.", host=host, seconds=span(seconds))
    )


def timeout_error(host: str, seconds: float) -> LLMError:
    """Return the error of an answer that took more than `seconds`."""
    return LLMUnreachable(
        N_(
            "The model at {host} was not done after {seconds}, so it was stopped.",
            host=host,
            seconds=span(seconds),
        )
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _seconds(retry_after: str) -> float:
    return float(retry_after) if re.fullmatch(r"\d{1,6}(\.\d+)?", retry_after.strip()) else 0.0


def span(seconds: float) -> str:
    """Return a number of seconds as text: "1 second", "2.5 seconds"."""
    return f"{seconds:g} second{'' if seconds == 1 else 's'}" if seconds else "a moment"


def _unescaped(text: str) -> str:
    """Return the text of a JSON string, or the string as it is where its escapes are broken."""
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text


def _detail(body: str, key: str) -> str:
    """Return the server's message as one short line, with the key and anything like one removed."""
    found = re.search(r'"message"\s*:\s*"((?:[^"\\]|\\.)*)"', body)
    text = clean(_unescaped(found.group(1))) if found else ""
    for form in {key, quote(key, safe="")} - {""}:
        text = text.replace(form, "[key]")
    text = " ".join(re.sub(r"\b(sk|key|Bearer)[-_ ][\w*.-]{6,}", "[key]", text).split())
    return f": {text[:_DETAIL].rstrip('.')}" if text else ""
