"""The root of the error tree, and what can go wrong with stored data.

Every message is a sentence fit to show a user: what happened, to what, and what to do.

    FootnoteError
    ├── StorageError
    │   ├── DataDirectoryLocked   another process holds the data directory
    │   ├── DatabaseDamaged       the ledger does not pass its check
    │   ├── DatabaseTooNew        written by a later version of Footnote
    │   ├── DiskFull              no space left to write
    │   ├── StorageBusy           the ledger stayed locked longer than we wait
    │   ├── AnswerPending         the conversation's last answer is still on its way
    │   ├── NameRefused           a name is taken already, or is none
    │   ├── AccountClosed         whoever asks signed out, or was removed
    │   └── NotFound              no such thing for this owner
    └── ...                       the rest of the tree is drawn in rag/errors.py
"""


class FootnoteError(Exception):
    """Anything Footnote tells its user about."""


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


class StorageBusy(StorageError):
    """The ledger stayed locked longer than we wait."""


class AnswerPending(StorageError):
    """An answer of this conversation is still on its way."""


class NotUnfinished(StorageError):
    """An answer that is whole, or has no words yet, cannot be gone on with."""


class NameRefused(StorageError):
    """Something of this owner has this name already, or it is no name."""


class AccountClosed(StorageError):
    """Whoever asks has signed out, was removed, or is being removed."""


class NotFound(StorageError):
    """Nothing with this id exists for this owner."""
