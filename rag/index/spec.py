"""The vector store that the settings name: Chroma, or anyone's class, found, checked and opened."""

import hashlib
import importlib
import inspect
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from rag.errors import SettingsError

CHROMA = "chroma"
# What constructors of LangChain stores call the embedding model.
EMBEDDING_NAMES = ("embedding", "embeddings", "embedding_function", "embedding_model")


@dataclass(frozen=True)
class StoreSpec:
    """A store by name, "chroma" or "package.module:Class", and the arguments that the class is given.

    "{owner}" in a text among the arguments stands for the owner's folder name, so that each may have
    a collection or directory of their own.
    """

    name: str = CHROMA
    arguments: Mapping[str, Any] = field(default_factory=dict, repr=False)  # may hold a password

    @property
    def identity(self) -> str:
        """What tells this store from any other, without giving its arguments away.

        >>> StoreSpec().identity, StoreSpec("a.b:C", {"path": "x"}).identity
        ('chroma', 'a.b:C with arguments 55fb3416')
        """
        if not self.arguments:
            return self.name
        given = json.dumps(self.arguments, sort_keys=True, ensure_ascii=False)
        return f"{self.name} with arguments {hashlib.sha256(given.encode()).hexdigest()[:8]}"

    def check(self) -> None:
        """Raise SettingsError when there is no such class, or it is no store, or refuses the arguments."""
        if self.name != CHROMA:
            _ = self._takes_arguments_itself
        elif self.arguments:
            raise SettingsError(
                "FOOTNOTE_VECTOR_STORE_ARGUMENTS is set, but chroma takes none. "
                "Remove it, or name another store in FOOTNOTE_VECTOR_STORE."
            )

    def open(self, embeddings: Embeddings, owner: str) -> VectorStore | None:
        """Return the store, or None where it can only be made with its first texts: see `make`."""
        if self._takes_arguments_itself:
            arguments = _with_owner(self.arguments, owner)
            return self.store(**{_embedding_name(self.store) or "": embeddings}, **arguments)
        try:
            return self.make([], [], [], embeddings, owner)
        except (IndexError, ValueError, TypeError):  # such as FAISS, which reads its dimension off a vector
            return None

    def make(
        self,
        texts: list[str],
        metadatas: list[dict[str, Any]],
        ids: list[str],
        embeddings: Embeddings,
        owner: str,
    ) -> VectorStore:
        """Return the store with these texts in it."""
        named = {"ids": ids} if ids else {}
        arguments = {**_with_owner(self.arguments, owner), **named}
        return self.store.from_texts(texts, embeddings, metadatas, **arguments)

    def without_arguments(self, text: str) -> str:
        """Return a text in which the arguments' own texts, which may be secrets, are blotted out.

        >>> StoreSpec("a.b:C", {"url": "http://ann:pw@db"}).without_arguments("no host http://ann:pw@db")
        'no host …'
        """
        for value in _texts(self.arguments):
            text = text.replace(value, "…")
        return text

    @cached_property
    def store(self) -> type[VectorStore]:
        """The class; SettingsError when it cannot be had."""
        module, _, name = self.name.partition(":")
        found = getattr(_imported(module), name, None)
        if found is None:
            raise SettingsError(f"The module {module} has no {name}. Correct FOOTNOTE_VECTOR_STORE.")
        if not (inspect.isclass(found) and issubclass(found, VectorStore)):
            raise SettingsError(
                f"{self.name} is not a vector store of LangChain's kind. Correct FOOTNOTE_VECTOR_STORE."
            )
        return found

    @cached_property
    def _takes_arguments_itself(self) -> bool:
        """Whether the constructor takes the arguments, not from_texts; SettingsError if neither does."""
        constructor, from_texts = inspect.signature(self.store), inspect.signature(self.store.from_texts)
        name = _embedding_name(self.store)
        try:
            constructor.bind(**{name or "": None}, **self.arguments)
            return name is not None
        except TypeError as error:
            refused = error
        foreign = self.arguments.keys() - constructor.parameters.keys() - from_texts.parameters.keys()
        complete = name is not None and _required(constructor) <= {name, *self.arguments}
        if foreign and complete:
            raise self._refusal(refused) from refused
        try:
            from_texts.bind([], None, [], **self.arguments)
        except TypeError as error:
            raise self._refusal(error) from error
        return False

    def _refusal(self, error: TypeError) -> SettingsError:
        return SettingsError(
            f"{self.name} cannot be made with the arguments in FOOTNOTE_VECTOR_STORE_ARGUMENTS: {error}."
        )


def _imported(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        missing = (error.name or module).split(".")[0]
        raise SettingsError(
            f"The vector store's module {module} cannot be imported: {error}. "
            f"Install its package, as with `pip install {missing.replace('_', '-')}`, "
            "or correct FOOTNOTE_VECTOR_STORE."
        ) from error


def _embedding_name(store: type[VectorStore]) -> str | None:
    parameters = inspect.signature(store).parameters
    return next((name for name in EMBEDDING_NAMES if name in parameters), None)


def _required(signature: inspect.Signature) -> set[str]:
    return {
        name
        for name, parameter in signature.parameters.items()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }


def _with_owner(value: Any, owner: str) -> Any:
    """Put the owner's folder name in place of "{owner}": {"path": "db/{owner}"} -> {"path": "db/5f0c"}."""
    if isinstance(value, str):
        return value.replace("{owner}", owner)
    if isinstance(value, Mapping):
        return {key: _with_owner(item, owner) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_owner(item, owner) for item in value]
    return value


def _texts(value: Any) -> Iterator[str]:
    """Yield every text among arguments that is long enough to be a secret."""
    if isinstance(value, str):
        yield from [value] if len(value) > 3 else []
    elif isinstance(value, Mapping):
        yield from (text for item in value.values() for text in _texts(item))
    elif isinstance(value, list | tuple):
        yield from (text for item in value for text in _texts(item))
