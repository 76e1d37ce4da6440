"""Settings: from the environment, then `.streamlit/secrets.toml`, then the settings page, then defaults.

The environment wins, so that whoever runs a server decides; the page shows what is fixed there.
Settings are read once, in `ui/services.py` or `rag/cli/`, and passed on as values.
"""

import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from rag.errors import SettingsError
from rag.morphemes import Use
from rag.refusing import PREFIX, http_address, sentence
from rag.sources.ssrf import allowed

RetrieverName = Literal[
    "ensemble-cc", "ensemble-rrf", "similarity", "mmr", "bm25", "raptor-collapsed", "raptor-traversal"
]

RerankerName = Literal["none", "cross-encoder", "pointwise-logprob", "pointwise-score", "listwise", "remote"]

Listed = Annotated[tuple[str, ...], NoDecode]
LOCAL_OWNER = "local"  # the one user of an installation without sign-in
STORE_NAME = r"^(chroma|[A-Za-z_][\w.]*:[A-Za-z_]\w*)$"
SECRETS = Path(".streamlit/secrets.toml")
SAVED = "settings.json"
# What the settings page may change; the rest belongs to whoever starts the server.
_RERANKING = frozenset({"reranker", "rerank_model", "rerank_base_url", "rerank_api_key", "best_outside"})
EDITABLE = _RERANKING | frozenset(
    {
        "llm_base_url",
        "llm_api_key",
        "llm_model",
        "llm_context_tokens",
        "own_model",
        "embedding_model",
        "retriever",
        "k",
        "raptor",
    }
)


def default_model_cache() -> Path:
    """Return the folder that keeps embedding models, shared by all data directories of a user."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "footnote" / "models"


class Settings(BaseSettings):
    """Everything that can be set. In the environment each name is upper case after `FOOTNOTE_`.

    A language model is connected when `llm_model` is set; else `own_model` is used, the name or the path of a
    model that is served here. `OPENAI_BASE_URL` and `OPENAI_API_KEY`
    are read too, but alone they connect nothing: documents are sent nowhere unasked. `citation_judge` is
    "llm" for the connected model, or a cross-encoder's folder or hub id; empty for none. With a `reranker`
    `fetch_k` passages are found and `k` kept, those below `rerank_threshold` dropped; `rerank_model` is a
    cross-encoder's folder or hub id, or what the server at `rerank_base_url` calls its model. `raptor` builds
    trees over documents, their summaries "extractive" or by the connected "model", which reads all of them.

    `trusted_header` names who someone is, where one of the `trusted_proxies` (networks) sends it. Those
    `admitted` may enter (nobody named: all who sign in), `admins` see everyone's usage and these settings;
    both are ids, e-mail addresses or, as `@example.org`, domains. The `user_...` limits are each person's.
    The pages of a scan are recognised for `recognition_minutes`, and the rest is said to be missing.
    Sources reach the public internet and `private_hosts`, names and networks; they read folders that lie in
    `folder_roots`, or anywhere where none are named.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, extra="ignore", validate_by_name=True, frozen=True, allow_inf_nan=False
    )

    data: Path = Path("data")
    database_url: str | None = Field(None, validation_alias="DATABASE_URL")
    model_cache: Path = Field(default_factory=default_model_cache)
    llm_base_url: str = Field(
        "https://api.openai.com/v1", validation_alias=AliasChoices("FOOTNOTE_LLM_BASE_URL", "OPENAI_BASE_URL")
    )
    llm_api_key: SecretStr = Field(
        SecretStr(""), validation_alias=AliasChoices("FOOTNOTE_LLM_API_KEY", "OPENAI_API_KEY")
    )
    llm_model: str = Field("", validation_alias=AliasChoices("FOOTNOTE_LLM_MODEL", "OPENAI_MODEL"))
    llm_timeout: float = Field(120.0, gt=0)
    llm_idle_timeout: float = Field(60.0, gt=0)
    llm_rephrase_timeout: float = Field(5.0, gt=0)
    llm_context_tokens: int = Field(8192, ge=512)
    own_model: str = ""
    embedding_model: str = Field("multilingual-e5-small", min_length=1)
    embedding_base_url: str | None = None
    embedding_api_key: SecretStr = SecretStr("")
    vector_store: str = Field("chroma", pattern=STORE_NAME)
    vector_store_arguments: Annotated[dict[str, Any], NoDecode] = Field({}, repr=False)
    retriever: RetrieverName = "ensemble-cc"
    k: int = Field(6, ge=1, le=50)
    reranker: RerankerName = "none"
    rerank_model: str = ""
    rerank_base_url: str | None = None
    rerank_api_key: SecretStr = SecretStr("")
    rerank_seconds: float = Field(10.0, gt=0)
    rerank_threshold: float | None = None
    fetch_k: int = Field(20, ge=2, le=50)
    best_outside: bool = False
    max_upload_mb: int = Field(50, ge=1)
    private_hosts: Annotated[tuple[str, ...], NoDecode] = ()
    folder_roots: Annotated[tuple[str, ...], NoDecode] = ()
    recognition_minutes: float = Field(30.0, gt=0)
    stop_seconds: float = Field(10.0, ge=0, le=3600)
    metrics_token: SecretStr = SecretStr("")
    trusted_header: str = ""
    trusted_proxies: Listed = ()
    admitted: Listed = ()
    admins: Listed = ()
    sign_in_hours: float = Field(168.0, gt=0)
    user_documents: int | None = Field(None, ge=0)
    user_megabytes: int | None = Field(None, ge=0)
    user_answers_at_once: int | None = Field(None, ge=0)
    user_tokens_a_day: int | None = Field(None, ge=0)
    morphemes: Use = "auto"
    raptor: Literal["off", "extractive", "model"] = "off"
    citation_judge: str = ""

    @field_validator("llm_base_url", "embedding_base_url", "rerank_base_url")
    @classmethod
    def _is_http(cls, url: str | None) -> str | None:
        return url if url is None else http_address(url)

    @field_validator("trusted_proxies", "admitted", "admins", mode="before")
    @classmethod
    def _is_listed(cls, given: Any) -> Any:
        """Read the environment's text, parted by commas; the secrets file may have an array."""
        parts = given.split(",") if isinstance(given, str) else given
        return tuple(part.strip() for part in parts if part.strip()) if isinstance(parts, list) else parts

    @field_validator("vector_store_arguments", mode="before")
    @classmethod
    def _is_json_object(cls, given: Any) -> Any:
        """Read the environment's text; the secrets file has a table."""
        try:
            arguments = json.loads(given or "{}") if isinstance(given, str) else given
        except ValueError as error:
            raise ValueError(f"it is not JSON ({error})") from error
        if not isinstance(arguments, dict):
            raise ValueError('it must be a JSON object, such as {"path": "vectors"}')
        return arguments

    @field_validator("private_hosts", "folder_roots", mode="before")
    @classmethod
    def _is_a_list(cls, given: Any) -> Any:
        """Read the environment's text, separated by commas; the secrets file has an array."""
        parts = given.split(",") if isinstance(given, str) else given
        return [part.strip() for part in parts if part.strip()]

    @field_validator("private_hosts")
    @classmethod
    def _may_be_private(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        try:
            allowed(given)
        except SettingsError as error:
            raise ValueError(str(error)) from error
        return given

    @field_validator("folder_roots")
    @classmethod
    def _are_whole_paths(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        if not all(Path(root).expanduser().is_absolute() for root in given):
            raise ValueError("write whole paths, beginning with /, separated by commas")
        return given

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read only what `load` gives: arguments of the command first, then the environment."""
        del settings_cls, dotenv_settings, file_secret_settings
        return init_settings, env_settings

    @property
    def connected(self) -> bool:
        """Whether a language model on a server is set."""
        return bool(self.llm_model)


def load(arguments: Mapping[str, Any] | None = None, *, secrets: Path = SECRETS) -> Settings:
    """Read the settings; `arguments` come before the environment, files after it.

    Raises SettingsError naming the first wrong key and its value.
    """
    given = {name: value for name, value in (arguments or {}).items() if value is not None}
    try:
        fixed = Settings(**{**_absent_from_environment(_read_secrets(secrets)), **given})
        saved = _editable(_read_json(fixed.data / SAVED))
        free = {name: value for name, value in saved.items() if name not in fixed.model_fields_set}
        return Settings(**{**fixed.model_dump(include=fixed.model_fields_set), **free})
    except ValidationError as error:
        raise SettingsError(_sentence(error)) from error


def fixed_fields(*, secrets: Path = SECRETS) -> frozenset[str]:
    """Return the names that the environment or the secrets file decides, so the page cannot."""
    return frozenset(Settings().model_fields_set | _read_secrets(secrets).keys())


def check(settings: Settings, changes: Mapping[str, Any]) -> None:
    """Raise SettingsError when `settings` could not be read with these changes."""
    try:
        Settings(**{**settings.model_dump(), **_editable(changes)})
    except ValidationError as error:
        raise SettingsError(_sentence(error)) from error


def save(data: Path, changes: Mapping[str, Any]) -> None:
    """Keep what was set on the page in the data directory, readable by its owner only."""
    path = data / SAVED
    merged = {**_editable(_read_json(path)), **_editable(changes)}
    temporary = path.with_suffix(".tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(merged, file, indent=2)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def shareable(data: Path) -> dict[str, Any]:
    """Return what was set on the page without its secrets: no key, and no address with a password in it."""
    secret = {name for name, field in Settings.model_fields.items() if field.annotation is SecretStr}
    kept = _editable(_read_json(data / SAVED))
    return {name: value for name, value in kept.items() if name not in secret and "@" not in str(value)}


def _editable(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in EDITABLE}


def _absent_from_environment(secrets: Mapping[str, Any]) -> dict[str, Any]:
    decided = Settings().model_fields_set
    return {name: value for name, value in secrets.items() if name not in decided}


def _read_secrets(path: Path) -> dict[str, Any]:
    """Return the `[footnote]` table, whose keys are the settings' names in lower case."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("footnote", {})
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{path} cannot be read: {error}. Correct or remove it.") from error
    if not isinstance(table, dict):
        raise SettingsError(f"In {path} footnote is no table. Write its settings under [footnote].")
    unknown = table.keys() - Settings.model_fields.keys()
    if unknown:
        raise SettingsError(f"{path} has no setting called {min(unknown)!r}. Correct or remove it.")
    return dict(table)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path} cannot be read: {error}. Correct or remove it.") from error
    return values if isinstance(values, dict) else {}


def _sentence(error: ValidationError) -> str:
    return sentence(error, Settings.model_fields)
