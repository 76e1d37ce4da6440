"""One tree of errors; each message is a sentence fit to show a user.

FootnoteError
├── StorageError ...              see storage/errors.py
├── SettingsError                 a setting is missing or wrong; names key and value
├── DocumentRefused               a file cannot be read; says why
├── QuestionRefused               a question cannot be asked; says why
├── ExportRefused                 a chat cannot be exported, or an export not be checked; says why
├── EmbeddingError
│   ├── ModelUnavailable          the model's files cannot be had or are not the expected ones
│   └── IndexMismatch             the index was made by another embedding model
├── LLMError
│   ├── LLMUnreachable            refused, no such host, TLS, timeout
│   ├── LLMRejected               the server answered with an error status
│   ├── LLMGarbled                the server's answer makes no sense
│   └── OwnModelUnusable          a model to serve here is missing or broken, or could not be served
├── RetrievalError                no retriever could answer
│   ├── IndexUnusable             an index on disk cannot be read or written
│   └── StoreFailed               a vector store of another's making failed; says how
├── SourceError                   a source cannot be reached, or refused us; says which and why
│   ├── AddressRefused            a URL leads where Footnote does not go
│   ├── ConnectionLost            no connection came about, or it broke off or fell silent
│   ├── RequestRejected           a host answered with an error status
│   ├── SourceEmptied             a source holds nothing, though it did: is that meant?
│   └── ItemFailed                one item of a source cannot be had; the others go on
│       └── ItemRefused           it will not be had any time soon: not there, not ours, too large
├── RerankError                   passages could not be put into a better order
├── EntryRefused                  whoever asks is not let in; says why
├── LimitReached                  a person has as much as they may have; says of what
└── Cancelled                     the user stopped it
"""

from storage.errors import FootnoteError as FootnoteError


class SettingsError(FootnoteError):
    """A setting is missing or wrong."""


class EntryRefused(FootnoteError):
    """Whoever asks is not let in."""


class LimitReached(FootnoteError):
    """A person has, or used, as much as they may."""


class DocumentRefused(FootnoteError):
    """A file cannot be read as a document."""


class QuestionRefused(FootnoteError):
    """A question cannot be asked as it stands."""


class ExportRefused(FootnoteError):
    """A chat cannot be exported, or an export cannot be checked."""


class EmbeddingError(FootnoteError):
    """Texts cannot be turned into vectors."""


class ModelUnavailable(EmbeddingError):
    """A model's files cannot be had, or are not the ones expected."""


class IndexMismatch(EmbeddingError):
    """The index was made by another embedding model."""


class LLMError(FootnoteError):
    """The language model did not answer."""


class LLMUnreachable(LLMError):
    """No connection to the model's server, or no answer in time."""


class LLMRejected(LLMError):
    """The model's server answered with an error."""


class LLMGarbled(LLMError):
    """The model's server sent something that is not an answer."""


class OwnModelUnusable(LLMError):
    """A model of one's own is missing or broken, or could not be served."""


class JudgeUnavailable(FootnoteError):
    """The model that should judge citations cannot be had."""


class RetrievalError(FootnoteError):
    """No retriever could answer."""


class IndexUnusable(RetrievalError):
    """An index on disk cannot be read or written."""


class StoreFailed(RetrievalError):
    """A vector store that the settings name could not be opened, searched or changed."""


class SourceError(FootnoteError):
    """A source of documents cannot be reached, or refused what was asked of it."""


class AddressRefused(SourceError):
    """A URL leads to an address where Footnote does not go."""


class ConnectionLost(SourceError):
    """A host could not be reached, broke off, or fell silent: asked again it may well answer."""


class RequestRejected(SourceError):
    """A host answered a request with an error; `status` is the one it gave."""

    def __init__(self, message: str, status: int):
        super().__init__(message)
        self.status = status


class SourceEmptied(SourceError):
    """A source that held something holds nothing now; whether that is meant is for a person to say."""


class ItemFailed(SourceError):
    """One item of a source cannot be had; the others are not concerned."""


class ItemRefused(ItemFailed):
    """An item cannot be had as it is: it is not there, or not given to us, or too large."""


class RerankError(FootnoteError):
    """Passages could not be put into a better order."""


class Cancelled(FootnoteError):
    """The user stopped what was running."""
