"""Tree of errors; each message is a sentence for the user.

FootnoteError
├── StorageError ...              see storage/errors.py
├── SettingsError                 a setting is missing or wrong; names key and value
├── DocumentRefused               a file cannot be read; says why
├── QuestionRefused               a question cannot be asked; says why
├── ExportRefused                 a chat cannot be exported, or an export not be checked; says why
├── GridRefused                   a grid or a column cannot be made; says why
├── EmbeddingError
│   ├── ModelUnavailable          the model's files are not available or not the expected ones
│   └── IndexMismatch             the index was made by another embedding model
├── LLMError
│   ├── LLMUnreachable            refused, no such host, TLS, timeout
│   ├── LLMRejected               the server answered with an error status
│   │   └── LLMBusy               it limits how often it may be asked, or is overloaded
│   ├── LLMGarbled                the server's answer makes no sense
│   └── OwnModelUnusable          a local model is missing or broken, or could not be served
├── RetrievalError                no retriever could answer
│   ├── TreeMissing               a search of trees, where none is built
│   ├── IndexUnusable             an index on disk cannot be read or written
│   └── StoreFailed               an external vector store failed; says how
├── SourceError                   a source cannot be reached, or refused us; says which and why
│   ├── AddressRefused            a URL leads to a forbidden address
│   ├── ConnectionLost            no connection came about, or it broke off or fell silent
│   ├── RequestRejected           a host answered with an error status
│   ├── SourceEmptied             a source that had items is empty
│   └── ItemFailed                one item of a source cannot be fetched; the others can
│       └── ItemRefused           it is missing, forbidden or too large
├── RerankError                   passages could not be reranked
├── JudgeUnavailable              the model that judges citations is not available
├── EntryRefused                  sign-in is refused; says why
├── KeyRefused                    a request to the HTTP interface shows no key that is known here
├── ScopeRefused                  a key does not allow what is asked
├── ApiError                      a server's HTTP interface refused a request, or does not answer
├── LimitReached                  a person's quota is used up; says which
├── BackupRunning                 a backup that was asked for before is not written yet
└── Cancelled                     the user stopped it
"""

from storage.errors import FootnoteError as FootnoteError


class SettingsError(FootnoteError):
    """A setting is missing or wrong."""


class EntryRefused(FootnoteError):
    """Sign-in is refused."""


class KeyRefused(FootnoteError):
    """A request to the HTTP interface shows no key, or one that is unknown, revoked or expired."""


class ScopeRefused(FootnoteError):
    """A key does not allow what is asked."""


class ApiError(FootnoteError):
    """A server's HTTP interface refused a request, or does not answer; `status` is the one it gave."""

    def __init__(self, message: str, status: int):
        super().__init__(message)
        self.status = status


class LimitReached(FootnoteError):
    """A person's quota is used up."""


class BackupRunning(FootnoteError):
    """Another backup on request is being written."""


class DocumentRefused(FootnoteError):
    """A file cannot be read as a document."""


class QuestionRefused(FootnoteError):
    """A question cannot be asked as it stands."""


class ExportRefused(FootnoteError):
    """A chat cannot be exported, or an export cannot be checked."""


class GridRefused(FootnoteError):
    """A grid or one of its columns cannot be made as it stands."""


class EmbeddingError(FootnoteError):
    """Texts cannot be turned into vectors."""


class ModelUnavailable(EmbeddingError):
    """A model's files are not available, or are not the ones expected."""


class IndexMismatch(EmbeddingError):
    """The index was made by another embedding model."""


class LLMError(FootnoteError):
    """The language model did not answer."""


class LLMUnreachable(LLMError):
    """No connection to the model's server, or no answer in time."""


class LLMRejected(LLMError):
    """The model's server answered with an error."""


class LLMBusy(LLMRejected):
    """The model's server is overloaded or limits requests; `wait` are the seconds it asks for, if any."""

    def __init__(self, message: str, wait: float = 0.0):
        super().__init__(message)
        self.wait = wait


class LLMGarbled(LLMError):
    """The model's server sent something that is not an answer."""


class OwnModelUnusable(LLMError):
    """A local model is missing or broken, or could not be served."""


class JudgeUnavailable(FootnoteError):
    """The model that judges citations is not available."""


class RetrievalError(FootnoteError):
    """No retriever could answer."""


class TreeMissing(RetrievalError):
    """Summary trees are to be searched, and none is built yet."""


class IndexUnusable(RetrievalError):
    """An index on disk cannot be read or written."""


class StoreFailed(RetrievalError):
    """A vector store that the settings name could not be opened, searched or changed."""


class SourceError(FootnoteError):
    """A source of documents cannot be reached, or refused a request."""


class AddressRefused(SourceError):
    """A URL leads to an address that the network rules forbid."""


class ConnectionLost(SourceError):
    """A host could not be reached, broke the connection or did not answer; a retry may succeed."""


class RequestRejected(SourceError):
    """A host answered a request with an error; `status` is the one it gave."""

    def __init__(self, message: str, status: int):
        super().__init__(message)
        self.status = status


class SourceEmptied(SourceError):
    """A source that had items is empty now; a person has to confirm that."""


class ItemFailed(SourceError):
    """One item of a source cannot be fetched; the others can."""


class ItemRefused(ItemFailed):
    """An item is missing, forbidden or too large."""


class RerankError(FootnoteError):
    """Passages could not be reranked."""


class Cancelled(FootnoteError):
    """The user stopped what was running."""
