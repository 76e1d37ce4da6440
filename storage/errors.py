"""The root of the error tree, and the errors of stored data.

Every message is a sentence fit to show a user: what happened, to what, and what to do.

    FootnoteError
    ├── StorageError
    │   ├── DataDirectoryLocked   another process holds the data directory
    │   ├── DatabaseDamaged       the ledger does not pass its check
    │   ├── DatabaseTooNew        written by a later version of Footnote
    │   ├── DiskFull              no space left to write
    │   ├── ObjectStoreAway       the store of the originals does not answer
    │   ├── StorageBusy           the ledger stayed locked longer than we wait
    │   ├── AnswerPending         the conversation's last answer is not complete yet
    │   ├── NotUnfinished         a complete or empty answer cannot be continued
    │   ├── KeyReused             an idempotency key came with another request before
    │   ├── NameRefused           a name is taken already, or is none
    │   ├── LeaseLost             another worker has taken the job, or it was ended
    │   ├── AccountClosed         the account signed out, or was removed
    │   ├── OriginalDamaged       an original has other bytes than were saved
    │   └── NotFound              no such thing for this owner
    └── ...                       the rest of the tree is drawn in rag/errors.py
"""

import sqlite3


class FootnoteError(Exception):
    """Base of the errors that Footnote shows to its user."""


class StorageError(FootnoteError):
    """The ledger or the originals cannot be read or written."""


class DataDirectoryLocked(StorageError):
    """Another process holds the data directory."""


class DatabaseDamaged(StorageError):
    """The ledger does not pass its own check."""


class DatabaseTooNew(StorageError):
    """The ledger was written by a later version of Footnote."""


class DiskFull(StorageError):
    """There is no space left to write."""


class ObjectStoreAway(StorageError):
    """The object store does not answer; what is in it is safe."""


class StorageBusy(StorageError):
    """The ledger stayed locked longer than we wait."""


class AnswerPending(StorageError):
    """An answer of this conversation is not complete yet."""


class NotUnfinished(StorageError):
    """A complete or empty answer cannot be continued."""


class KeyReused(StorageError):
    """An idempotency key came with another request before."""


class NameRefused(StorageError):
    """A name is empty, or this owner uses it already."""


class LeaseLost(StorageError):
    """The job was taken by another worker, or ended, since its worker last renewed its lease."""


class AccountClosed(StorageError):
    """The account has signed out, was removed, or is being removed."""


class OriginalDamaged(StorageError):
    """An original in the object store has other bytes than were saved."""


class NotFound(StorageError):
    """Nothing with this id exists for this owner."""


class OriginalRemoved(NotFound):
    """An original that another process removed before the ledger named it."""


class UnreadableValue(sqlite3.DatabaseError):
    """Value that is not as it was written, which no check of SQLite's finds."""
