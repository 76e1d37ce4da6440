"""Quota of one person: the documents, answers and tokens they may have, and what they used."""

import logging
from collections.abc import Callable

from rag.limits import Limits
from storage.accounts import Account
from storage.errors import StorageError

log = logging.getLogger(__name__)


class Quota:
    """Quota of `account`, by `limits` of everyone and those of its own. Asked where the thing happens."""

    def __init__(self, account: Account, limits: Callable[[], Limits]):
        self._account = account
        self._limits = limits

    @property
    def limits(self) -> Limits:
        """Limits of this person."""
        return self._limits().but(self._account.limits())

    def document(self, sha256: str, size: int) -> None:
        """Raise LimitReached where this original is one too many; one that is there already is not."""
        limits = self.limits
        if (limits.documents, limits.megabytes) == (None, None) or self._account.has(sha256):
            return
        held = self._account.holds()
        limits.document(held.documents, held.bytes, size)

    def answer(self, running: int) -> None:
        """Raise LimitReached where another answer, beside those `running`, is one too many."""
        limits = self.limits
        if limits != Limits():
            limits.answer(running, self._account.used().tokens)

    def tokens(self) -> None:
        """Raise LimitReached where today's tokens are used up."""
        limits = self.limits
        if limits.tokens_a_day is not None:
            limits.tokens(self._account.used().tokens)

    def used(self, *, answers: int = 0, tokens: int = 0) -> None:
        """Count what was used; an answer that is there is not lost over a count that cannot be kept."""
        try:
            self._account.count(answers=answers, tokens=tokens)
        except StorageError as error:
            log.warning("What was used was not counted. %s", error)
