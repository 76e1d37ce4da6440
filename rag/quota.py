"""Quotas: limits of documents, answers and tokens for each person, and their use."""

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from rag.errors import LimitReached
from rag.i18n import N_
from rag.settings import Settings
from storage.accounts import Account
from storage.errors import StorageError

log = logging.getLogger(__name__)

ASK = N_("An administrator can raise it.")
MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Limits:
    """Limits of one person; None is no limit.

    >>> Limits(documents=10, megabytes=5).but({"documents": 20}) == Limits(documents=20, megabytes=5)
    True
    """

    documents: int | None = None
    megabytes: int | None = None
    passages: int | None = None
    embedding_minutes_a_day: int | None = None
    answers_at_once: int | None = None
    tokens_a_day: int | None = None

    @classmethod
    def of(cls, settings: Settings) -> "Limits":
        """Return the limits of the settings, which hold for everyone."""
        return cls(
            settings.user_documents,
            settings.user_megabytes,
            settings.user_passages,
            settings.user_embedding_minutes_a_day,
            settings.user_answers_at_once,
            settings.user_tokens_a_day,
        )

    def but(self, own: Mapping[str, Any]) -> "Limits":
        """Return these limits with a person's own in their place; unknown names are ignored."""
        known = {name: value for name, value in own.items() if name in NAMES}
        return Limits(**{**asdict(self), **known})

    def document(self, held: int, held_bytes: int, size: int) -> None:
        """Raise LimitReached where another document of `size` bytes exceeds the quota."""
        if self.documents is not None and held >= self.documents:
            raise LimitReached(
                N_(
                    "You have {held} documents, and may have {documents}. Delete some that you no longer "
                    "need, then add this one again. {ask}",
                    held=held,
                    documents=self.documents,
                    ask=ASK,
                )
            )
        if self.megabytes is not None and held_bytes + size > self.megabytes * MEGABYTE:
            raise LimitReached(
                N_(
                    "Your documents take {held_bytes} MB and may take {megabytes}; this one has {size}. "
                    "Delete some that you no longer need, then add it again. {ask}",
                    held_bytes=f"{held_bytes / MEGABYTE:.1f}",
                    megabytes=self.megabytes,
                    size=f"{size / MEGABYTE:.1f}",
                    ask=ASK,
                )
            )

    def another_passages(self, held: int, more: int) -> None:
        """Raise LimitReached where a document of `more` passages beside `held` ones exceeds the quota."""
        if self.passages is not None and held + more > self.passages:
            raise LimitReached(
                N_(
                    "It would have {more} passages. Your other documents have {held}, and all together "
                    "may have {passages}. Delete some that you no longer need, then add it again. {ask}",
                    more=f"{more:,}",
                    held=f"{held:,}",
                    passages=f"{self.passages:,}",
                    ask=ASK,
                )
            )

    def embedding(self, seconds_today: float) -> None:
        """Raise LimitReached where today's minutes of embedding are used up."""
        most = self.embedding_minutes_a_day
        if most is not None and seconds_today >= 60 * most:
            raise LimitReached(
                N_(
                    "Making your documents searchable by meaning took {seconds_today} minutes today, and "
                    "may take {most}. Until tomorrow (UTC) this one is found by its words. {ask}",
                    seconds_today=f"{seconds_today / 60:,.0f}",
                    most=f"{most:,}",
                    ask=ASK,
                )
            )

    def answer(self, running: int, tokens_today: int) -> None:
        """Raise LimitReached where another answer exceeds the quota now or today."""
        if self.answers_at_once is not None and running >= self.answers_at_once:
            answers = N_("1 answer is") if running == 1 else N_("{running} answers are", running=running)
            raise LimitReached(
                N_(
                    "{answers} being written for you, and you may have {answers_at_once} at once. Ask "
                    "again when one is done. {ask}",
                    answers=answers,
                    answers_at_once=self.answers_at_once,
                    ask=ASK,
                )
            )
        self.tokens(tokens_today)

    def tokens(self, today: int) -> None:
        """Raise LimitReached where today's tokens are used up."""
        if self.tokens_a_day is not None and today >= self.tokens_a_day:
            raise LimitReached(
                N_(
                    "You used {today} tokens today, of the {tokens_a_day} that you may. Ask again "
                    "tomorrow (UTC). {ask}",
                    today=f"{today:,}",
                    tokens_a_day=f"{self.tokens_a_day:,}",
                    ask=ASK,
                )
            )


NAMES = tuple(field.name for field in fields(Limits))


class Quota:
    """Quota of one account: the limits of everyone, replaced by its own."""

    def __init__(self, account: Account, limits: Callable[[], Limits]):
        self._account = account
        self._limits = limits

    @property
    def limits(self) -> Limits:
        """Limits of this person."""
        return self._limits().but(self._account.limits())

    def document(self, sha256: str, size: int) -> None:
        """Raise LimitReached where this original exceeds the quota; one that the account has is free."""
        limits = self.limits
        if (limits.documents, limits.megabytes) == (None, None) or self._account.has(sha256):
            return
        held = self._account.holds()
        limits.document(held.documents, held.bytes, size)

    def passages(self, count: int, besides: Collection[str]) -> None:
        """Raise LimitReached where a document of `count` passages exceeds the quota.

        The documents `besides` are not counted: the document itself, and the one that it replaces.
        """
        limits = self.limits
        if limits.passages is not None:
            limits.another_passages(self._account.passages(besides), count)

    def embedding(self) -> None:
        """Raise LimitReached where today's minutes of embedding are used up."""
        limits = self.limits
        if limits.embedding_minutes_a_day is not None:
            limits.embedding(self._account.used().embedding_seconds)

    def embedded(self, seconds: float) -> None:
        """Count seconds of embedding, where they are limited; a failure is logged, so that work goes on."""
        if self.limits.embedding_minutes_a_day is not None:
            self._count(embedding_seconds=seconds)

    def answer(self, running: int) -> None:
        """Raise LimitReached where another answer beside those `running` exceeds the quota."""
        limits = self.limits
        if limits != Limits():
            limits.answer(running, self._account.used().tokens)

    def tokens(self) -> None:
        """Raise LimitReached where today's tokens are used up."""
        limits = self.limits
        if limits.tokens_a_day is not None:
            limits.tokens(self._account.used().tokens)

    def used(self, *, answers: int = 0, tokens: int = 0) -> None:
        """Count answers and tokens; a failure is logged, so that the answer is not lost."""
        self._count(answers=answers, tokens=tokens)

    def _count(self, *, answers: int = 0, tokens: int = 0, embedding_seconds: float = 0.0) -> None:
        try:
            self._account.count(answers=answers, tokens=tokens, embedding_seconds=embedding_seconds)
        except StorageError as error:
            log.warning("What was used was not counted. %s", error)
