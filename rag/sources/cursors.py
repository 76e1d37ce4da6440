"""What listings of changes alone must remember: when all was listed last, and by which settings."""

import hashlib
from datetime import datetime, timedelta
from typing import Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

WHOLE_AFTER = timedelta(days=1)


class Reached(BaseModel):
    """How far a source was read: all of it at the time `whole`, as settings of the digest `of` want it."""

    model_config = ConfigDict(frozen=True)

    of: str
    whole: AwareDatetime

    @classmethod
    def read(cls, cursor: str | None, of: str) -> Self | None:
        """Return what a cursor says, or nothing where it is of other settings, or says nothing."""
        try:
            reached = cls.model_validate_json(cursor or "")
        except ValidationError:
            return None
        return reached if reached.of == of else None

    def is_old(self, now: datetime) -> bool:
        """Whether it is time to list all again, for what no list of changes tells."""
        return now - self.whole >= WHOLE_AFTER


def digest(settings: BaseModel, *besides: str) -> str:
    """Return what stands for settings: another one where anything differs but the fields `besides`."""
    wanted = settings.model_dump_json(exclude=set(besides))
    return hashlib.sha256(wanted.encode()).hexdigest()[:16]
