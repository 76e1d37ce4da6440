"""Redacting JSON log: message templates, ids, numbers and error classes, and no data of a user.

An argument may be a file's name, a question or a server's reply: all but numbers and errors become "…".
"""

import json
import logging
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from numbers import Real
from pathlib import Path
from typing import Any, TextIO

OURS = ("footnote", "rag", "storage", "ui")
LEFT_OUT = "…"
_NAME = re.compile(r"[\w.:+-]{1,80}", re.ASCII)
_FRAMES = 20  # of a traceback, the last ones
_about: ContextVar[Mapping[str, str]] = ContextVar("about", default={})  # noqa: B039 - never changed in place
_FIELD = {"answer": "turn", "read": "document", "embed": "document"}


@contextmanager
def about(key: str) -> Iterator[None]:
    """Add the subject of a job's key to every line that this thread logs meanwhile."""
    token = _about.set(subject(key))
    try:
        yield
    finally:
        _about.reset(token)


def subject(key: str) -> dict[str, str]:
    """Return a job's key as log fields.

    >>> subject("answer:7f3a"), subject("embed:22c1"), subject("weigh")
    ({'turn': '7f3a'}, {'document': '22c1'}, {'job': 'weigh'})
    """
    kind, _, what = key.partition(":")
    return {_FIELD[kind]: what} if kind in _FIELD and what else {"job": kind}


def fields(**values: object) -> dict[str, Any]:
    """Return `extra` of a log call: values to log under their own names."""
    return {"fields": values}


class LoggableText(str):
    """Text that may be logged in full, such as that of an error at the start."""

    def __new__(cls, value: object) -> "LoggableText":
        """Make it from the text of any object."""
        return super().__new__(cls, str(value))


class LineFormatter(logging.Formatter):
    """Log record as one line: time, level, event, logger, ids, the error's class and frames."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line as JSON."""
        ours = _is_ours(record)
        error = _error(record)
        line = {
            "time": f"{datetime.fromtimestamp(record.created, UTC):%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z",
            "level": record.levelname.lower(),
            "event": _message(record) if ours or record.args else LEFT_OUT,
            "where": record.name if ours else f"{record.name}:{record.lineno}",
            **{name: _plain(value) for name, value in _about.get().items()},
            **{name: _plain(value) for name, value in getattr(record, "fields", {}).items()},
            **({"error": type(error).__name__} if error else {}),
            **({"frames": _frames(error)} if error and record.exc_info else {}),
        }
        return json.dumps(line, ensure_ascii=False)


def _is_ours(record: logging.LogRecord) -> bool:
    return record.name.split(".")[0] in OURS


def _message(record: logging.LogRecord) -> str:
    if not isinstance(record.msg, str):
        return _filled(record.msg) if isinstance(record.msg, BaseException) else LEFT_OUT
    given = record.args
    try:
        if isinstance(given, Mapping):
            return record.msg % {name: _filled(value) for name, value in given.items()}
        return record.msg % tuple(map(_filled, given)) if given else record.msg
    except (TypeError, ValueError):  # it wants a number where there is none
        return record.msg


def _filled(value: object) -> Any:
    if isinstance(value, BaseException):
        return type(value).__name__
    return value if isinstance(value, Real | LoggableText) else LEFT_OUT


def _plain(value: object) -> Any:
    named = isinstance(value, str) and _NAME.fullmatch(value)
    return value if named or value is None else _filled(value)


def _error(record: logging.LogRecord) -> BaseException | None:
    """Return the error of a record: the one being handled, else one among its arguments."""
    if record.exc_info and record.exc_info[1]:
        return record.exc_info[1]
    given = record.args if isinstance(record.args, tuple) else ()
    return next((value for value in (record.msg, *given) if isinstance(value, BaseException)), None)


def _frames(error: BaseException) -> list[str]:
    found = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    return [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in found]


class ErrorCounter(logging.Handler):
    """Calls `count` with the class of each logged error."""

    def __init__(self, count: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._count = count

    def emit(self, record: logging.LogRecord) -> None:
        """Count the error of a record, if any."""
        error = _error(record)
        if error is not None:
            self._count(type(error).__name__)


def count_errors(count: Callable[[str], None]) -> None:
    """Call `count` with the class of each error that is logged from now on."""
    others = [handler for handler in logging.root.handlers if not isinstance(handler, ErrorCounter)]
    logging.root.handlers = [*others, ErrorCounter(count)]


def write_lines(stream: TextIO) -> None:
    """Write everything that this process logs to `stream` as lines; other handlers are removed."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(LineFormatter())
    handler.addFilter(lambda record: _is_ours(record) or record.levelno >= logging.WARNING)
    for logger in [*logging.root.manager.loggerDict.values(), logging.root]:
        if isinstance(logger, logging.Logger):
            logger.handlers.clear()
            logger.propagate = True
    logging.root.handlers = [handler]
    logging.root.setLevel(logging.WARNING)
    for name in OURS:
        logging.getLogger(name).setLevel(logging.INFO)
