"""Settings: from the environment, then `.streamlit/secrets.toml`, then the settings page, then defaults.

The environment wins, so that the operator of a server decides; the page shows which settings are fixed.
Settings are read once, when the server or a command starts, and passed on as values.
"""

import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from platformdirs import user_data_path
from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from rag.connectors.ssrf import parse_allowed
from rag.errors import SettingsError
from rag.i18n import N_

PREFIX = "FOOTNOTE_"
NEVER_SHOWN = frozenset({"vector_store_arguments"})  # a class may be given keys in any of them
_PERSON = re.compile(r"[^/\s@]*@")  # user and password of an address


def error_sentence(error: ValidationError, known: Mapping[str, FieldInfo]) -> str:
    """Return the first error as a sentence that names key and value; `known` are the settings' fields."""
    first = error.errors(include_url=False)[0]
    name = str(first["loc"][0]) if first["loc"] else "settings"
    field = next((one for one in known if name in _keys(one, known[one])), name)
    value = "(hidden)" if _is_secret(field, known.get(field)) else redacted(first["input"])
    reason = str(first["msg"]).removeprefix("Value error, ")
    return f"The setting {_given(field, known)} is {value}, which cannot be used: {reason}."


def redacted(value: object) -> str:
    """Return a value for an error message, without the user and password of an address.

    >>> redacted("ftp://ann:secret@host/"), redacted(-1)
    ("'ftp://…@host/'", '-1')
    """
    return _PERSON.sub("…@", repr(value))


def http_address(url: str) -> str:
    """Return the address of a server; raises ValueError where it is not usable."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError as error:
        raise ValueError(f"it is no address ({error})") from error
    if not usable:
        raise ValueError("must start with http:// or https:// and name a host")
    return url


def _given(field: str, known: Mapping[str, FieldInfo]) -> str:
    """Return the environment variable that gives a setting, else its first name."""
    keys = [key for key in _keys(field, known.get(field)) if key.isupper()]
    return next((key for key in keys if key in os.environ), keys[0])


def _keys(field: str, info: FieldInfo | None) -> list[str]:
    alias = info.validation_alias if info else None
    if isinstance(alias, AliasChoices):
        named: Iterable[Any] = alias.choices
    else:
        named = [alias] if alias else [f"{PREFIX}{field.upper()}"]
    return [*map(str, named), field]


def _is_secret(field: str, info: FieldInfo | None) -> bool:
    return field in NEVER_SHOWN or (info is not None and info.annotation is SecretStr)


AnalyzerUse = Literal["auto", "off"]
RetrieverName = Literal[
    "ensemble-cc",
    "ensemble-rrf",
    "similarity",
    "similarity_score_threshold",
    "mmr",
    "bm25",
    "raptor-collapsed",
    "raptor-traversal",
]
RerankerName = Literal[
    "auto", "none", "cross-encoder", "pointwise-logprob", "pointwise-score", "listwise", "remote"
]
Listed = Annotated[tuple[str, ...], NoDecode]
LOCAL_OWNER = "local"  # the only user of an installation without sign-in
STORE_NAME = r"^(chroma|lance|lance-objects|[A-Za-z_][\w.]*:[A-Za-z_]\w*)$"
OBJECTS = r"^$|^(s3|s3a|gs|az|adl|azure|abfs|abfss)://[^/?#]|^file:///."
SECRETS = Path(".streamlit/secrets.toml")
SAVED = "settings.json"
RENAMED = {
    "own_model": "local_model",
    "best_outside": "lost_in_the_middle_order",
    "folder_roots": "allowed_folders",
    "recognition_minutes": "ocr_minutes",
    "stop_seconds": "shutdown_seconds",
    "admitted": "allowed_users",
    "morphemes": "korean_japanese_analyzers",
}
"""Present name of each renamed setting by its earlier one, which keeps working everywhere."""

# Settings that the settings page may change; the operator decides the others
EDITABLE = frozenset(
    {
        *("llm_base_url", "llm_api_key", "llm_model", "llm_context_tokens", "local_model", "offer_model"),
        *("embedding_model", "retriever", "k", "raptor", "describe_figures"),
        *("score_threshold", "mmr_fetch_k", "mmr_lambda_mult"),
        *("reranker", "rerank_model", "rerank_base_url", "rerank_api_key", "lost_in_the_middle_order"),
    }
)


def default_model_cache() -> Path:
    """Return the folder that keeps embedding models, shared by all data directories of a user."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "footnote" / "models"


def _renamed(earlier: str) -> AliasChoices:
    return AliasChoices(f"{PREFIX}{RENAMED[earlier].upper()}", f"{PREFIX}{earlier.upper()}")


def default_data() -> Path:
    """Return the data directory: `data` where the code lies in a clone, else the platform's."""
    if (Path(__file__).parents[1] / "pyproject.toml").exists():
        return Path("data")
    return user_data_path("footnote", appauthor=False)


class Settings(BaseSettings):
    """All settings. In the environment each name is upper case after `FOOTNOTE_`.

    The field descriptions make the table in docs/operator/settings.md (`python scripts/settings_page.py`).
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, extra="ignore", validate_by_name=True, frozen=True, allow_inf_nan=False
    )

    data: Path = Field(
        default_factory=default_data,
        description="Data directory: the ledger, the original files and the search indexes. One process "
        "uses it at a time. Where Footnote is installed without a clone, the default is the platform's: "
        "`~/.local/share/footnote`, on macOS `~/Library/Application Support/footnote`.",
    )
    database_url: str | None = Field(
        None,
        validation_alias="DATABASE_URL",
        description="SQLAlchemy URL of the ledger. None is SQLite in the data directory.",
    )
    objects: str = Field(
        "",
        pattern=OBJECTS,
        description="Place of the original files, such as `s3://bucket/prefix`, `gs://…`, `az://…`, or "
        "`file:///folder` for a folder that servers share. Empty is the data directory. See "
        "[object stores](objects.md).",
    )
    objects_cache_mb: int = Field(
        2000,
        ge=1,
        description="Megabytes of copies of original files in the data directory, where these are in an "
        "object store.",
    )
    index_copies_mb: int = Field(
        20_000,
        ge=1,
        description="Megabytes of copies of index tables in the data directory, where these are in an object "
        "store, beside the tables in use.",
    )
    model_cache: Path = Field(
        default_factory=default_model_cache,
        description="Folder for downloaded models. All data directories of a user share it.",
    )
    model_hub: str = Field(
        "https://huggingface.co",
        validation_alias=AliasChoices("FOOTNOTE_MODEL_HUB", "HF_ENDPOINT"),
        description="Address of the hub that local language models are installed from, or of a mirror of it.",
    )
    llm_base_url: str = Field(
        "https://api.openai.com/v1",
        validation_alias=AliasChoices("FOOTNOTE_LLM_BASE_URL", "OPENAI_BASE_URL"),
        description="Address of an OpenAI-compatible server.",
    )
    llm_api_key: SecretStr = Field(
        SecretStr(""),
        validation_alias=AliasChoices("FOOTNOTE_LLM_API_KEY", "OPENAI_API_KEY"),
        description="API key for that server. A key alone connects no model.",
    )
    llm_model: str = Field(
        "",
        validation_alias=AliasChoices("FOOTNOTE_LLM_MODEL", "OPENAI_MODEL"),
        description="Name of the language model on that server. Setting it connects the model: questions "
        "and passages go there.",
    )
    llm_timeout: float = Field(
        120.0, gt=0, description="Seconds that one request to the language model may take."
    )
    llm_idle_timeout: float = Field(
        60.0, gt=0, description="Seconds without a byte after which a request to the language model fails."
    )
    llm_rephrase_timeout: float = Field(
        5.0,
        gt=0,
        description="Seconds that the language model may take to rewrite a follow-up (15 by default for a "
        "local model). Then the follow-up is completed by rule.",
    )
    llm_context_tokens: int = Field(
        8192, ge=512, description="Context length of the language model, in tokens."
    )
    local_model: str = Field(
        "",
        validation_alias=_renamed("own_model"),
        description="Language model that runs on this computer: its name, or the path of a GGUF file. "
        "Used when llm_model is not set. See [language models](../user/models.md).",
    )
    offer_model: bool = Field(
        True,
        description="The start page offers administrators to set up a language model while there is none. "
        "“Use search only” turns this off.",
    )
    embedding_model: str = Field(
        "multilingual-e5-small",
        min_length=1,
        description="Embedding model: a name, a folder, a Hugging Face id, or `openai:MODEL`. See "
        "[embedding models](embeddings.md).",
    )
    embedding_base_url: str | None = Field(
        None, description="Address of the embedding server for `openai:MODEL`."
    )
    embedding_api_key: SecretStr = Field(SecretStr(""), description="API key for the embedding server.")
    vector_store: str = Field(
        "chroma",
        pattern=STORE_NAME,
        description="Vector store: `chroma`; `lance`, which holds the words, too; `lance-objects`, the same "
        "in the object store or the shared folder of `FOOTNOTE_OBJECTS`; or the class of a LangChain vector "
        "store as `package.module:Class`. See [vector stores](vector-stores.md).",
    )
    vector_store_arguments: Annotated[dict[str, Any], NoDecode] = Field(
        {}, repr=False, description="Arguments of that class, as a JSON object."
    )
    retriever: RetrieverName = Field(
        "ensemble-cc", description="Search mode. See [search](../user/search.md)."
    )
    k: int = Field(6, ge=1, le=50, description="Passages that an answer is made from.")
    score_threshold: float = Field(
        0.8,
        ge=0,
        le=1,
        description="Least relevance, a cosine, of a passage in the search mode "
        "`similarity_score_threshold`. It suits multilingual-e5-small; other models need less.",
    )
    mmr_fetch_k: int = Field(
        50, ge=2, le=500, description="Passages among which the search mode `mmr` chooses different ones."
    )
    mmr_lambda_mult: float = Field(
        0.5,
        ge=0,
        le=1,
        description="Weight of relevance against difference in the search mode `mmr`: 1 is relevance alone.",
    )
    reranker: RerankerName = Field(
        "auto",
        description="Reranker, which puts the passages that were found in a better order. `auto` is the "
        "server at `rerank_base_url`, or the cross-encoder where there is a GPU and its model, else none. "
        "See [rerankers](rerankers.md).",
    )
    rerank_model: str = Field(
        "",
        description="Cross-encoder as a folder or Hugging Face id, or the name of the model on a "
        "reranking server.",
    )
    rerank_base_url: str | None = Field(
        None, description="Address of a reranking server. Question and passages go there."
    )
    rerank_api_key: SecretStr = Field(SecretStr(""), description="API key for the reranking server.")
    conversation_tokens: int = Field(
        2000,
        ge=0,
        le=100_000,
        description="Tokens of the newest turns that the answering model is shown with a follow-up, at most "
        "a quarter of its context. 0 shows none. A small local model is shown none.",
    )
    steps_seconds: float = Field(
        30.0,
        gt=0,
        description="Seconds in which the steps of a question with several parts are searched. Steps after "
        "that are left out.",
    )
    steps_requests: int = Field(
        6,
        ge=0,
        description="Requests to the language model for the steps of one question: to plan them, to complete "
        "one with what another found, to search again. With 0 they are planned by rule.",
    )
    reading_requests: int = Field(
        8,
        ge=0,
        le=1000,
        description="Requests to the language model that reading a whole scope begins without being asked "
        "for: “summarise this”, “list all”. Where it takes more, reading all is offered with its cost.",
    )
    reading_requests_most: int = Field(
        100,
        ge=1,
        le=1000,
        description="Requests of one such answer. Of a larger scope, evenly spread passages are read, and "
        "the answer says how many.",
    )
    rerank_seconds: float = Field(
        10.0,
        gt=0,
        description="Seconds that a question waits for the reranker. Then the order of the search stays.",
    )
    rerank_threshold: float | None = Field(
        None, description="Passages with a lower reranker score are dropped. The scale is the reranker's own."
    )
    fetch_k: int = Field(
        20,
        ge=2,
        le=50,
        description="Passages that the search gives to the reranker, which keeps `k` of them.",
    )
    lost_in_the_middle_order: bool = Field(
        False,
        validation_alias=_renamed("best_outside"),
        description="Put the best passages first and last in the prompt, the weakest in the middle.",
    )
    max_upload_mb: int = Field(50, ge=1, description="Largest file that can be added, in megabytes.")
    private_hosts: Listed = Field(
        (),
        description="Private hosts and networks that sources and webhooks may reach, such as "
        "`wiki.corp,10.0.0.0/8`. See [sources](../user/sources.md#network-rules).",
    )
    allowed_folders: Listed = Field(
        (),
        validation_alias=_renamed("folder_roots"),
        description="Folders that folder sources may read, as absolute paths. Empty means any folder, or "
        "none where people sign in.",
    )
    document_passages: int = Field(
        90_000,
        ge=1,
        description="Passages that one document may have; one with more is refused. 50 MB of plain text "
        "have 60,000 to 85,000.",
    )
    describe_figures: bool = Field(
        True,
        description="Have the connected model describe the figures of new PDF, DOCX and PPTX files, where it "
        "takes pictures: one request per figure. See [files](../user/files.md#figures).",
    )
    figures_per_document: int = Field(
        20, ge=1, le=1000, description="Figures of one document that the model describes at most."
    )
    ocr_minutes: float = Field(
        30.0,
        validation_alias=_renamed("recognition_minutes"),
        gt=0,
        description="Minutes of text recognition (OCR) for one file. Pages that are left out are named on "
        "the page.",
    )
    workers: int | None = Field(
        None,
        ge=0,
        le=64,
        description="Documents that this process reads at once; it embeds half as many. 0 leaves both to "
        "`footnote work`. None reads two and embeds one.",
    )
    drain_seconds: float = Field(
        0.0,
        ge=0,
        le=3600,
        description="Seconds for which a server goes on serving after SIGTERM. `/readyz` answers 503 "
        "meanwhile, so that a proxy sends people elsewhere.",
    )
    shutdown_seconds: float = Field(
        10.0,
        validation_alias=_renamed("stop_seconds"),
        ge=0,
        le=3600,
        description="Seconds that answers may continue after the server is told to stop. Then they are "
        "marked as interrupted.",
    )
    allowed_hosts: Listed = Field(
        (),
        description="Host names under which `footnote serve --no-ui` is reached, such as `docs.corp`. "
        "Addresses and localhost need not be named. The app with its page has `server.allowedHosts`.",
    )
    metrics_token: SecretStr = Field(
        SecretStr(""),
        description="Bearer token for `/metrics`. Without it only this computer may read them. See "
        "[operating](operating.md#metrics).",
    )
    trusted_header: str = Field(
        "", description="Request header in which a proxy names the user. See [sign-in](sign-in.md)."
    )
    trusted_proxies: Listed = Field((), description="Networks of the proxies whose header is believed.")
    allowed_users: Listed = Field(
        (),
        validation_alias=_renamed("admitted"),
        description="People who may enter: ids, e-mail addresses or `@domains`. Empty means everyone who "
        "signs in.",
    )
    admins: Listed = Field(
        (), description="Administrators, written in the same way. They see usage and change settings."
    )
    sign_in_hours: float = Field(168.0, gt=0, description="Hours that a sign-in lasts.")
    user_documents: int | None = Field(
        None, ge=0, description="Documents that each person may have. None is no limit."
    )
    user_megabytes: int | None = Field(
        None, ge=0, description="Megabytes of original files that each person may have."
    )
    user_passages: int | None = Field(
        None, ge=0, description="Passages that the documents of each person may have together."
    )
    user_embedding_minutes_a_day: int | None = Field(
        None,
        ge=0,
        description="Minutes a day (UTC) in which each person's documents are embedded. The rest is found by "
        "its words until the next day.",
    )
    user_answers_at_once: int | None = Field(
        None, ge=0, description="Answers that may be in progress for each person at the same time."
    )
    user_tokens_a_day: int | None = Field(
        None, ge=0, description="Language-model tokens that each person may use in a day (UTC)."
    )
    backup_folder: Path | None = Field(
        None,
        description="Folder for backups by the clock, one of its own. None makes none. See "
        "[backup](backup.md#by-the-clock).",
    )
    backup_hours: float = Field(24.0, ge=0.1, description="Hours between two backups by the clock.")
    backup_keep: int = Field(
        7, ge=1, description="Backups by the clock that are kept; older ones are removed."
    )
    backup_passphrase: SecretStr = Field(
        SecretStr(""), description="Passphrase that backups are encrypted with. Empty encrypts none."
    )
    audit_days: int = Field(
        365,
        ge=30,
        description="Days that entries of the audit log are kept. See [operating](operating.md#audit-log).",
    )
    korean_japanese_analyzers: AnalyzerUse = Field(
        "auto",
        validation_alias=_renamed("morphemes"),
        description="Morphological analysers for Korean and Japanese: `auto` uses those that are installed.",
    )
    raptor: Literal["auto", "off", "extractive", "model"] = Field(
        "auto",
        description="Summary trees over documents. `auto` builds extractive ones in the background where a "
        "model is connected, the documents are more than a prompt has room for, and it takes minutes. "
        "`model` has the language model write the summaries, and sends it all documents. See "
        "[summary trees](../user/summary-trees.md).",
    )
    citation_judge: str = Field(
        "llm",
        description="Help for statements that the citation checker leaves open: `llm` asks the connected "
        "model for the words they rest on, `off` nothing, a folder or Hugging Face id is a cross-encoder. "
        "See [citations](../user/citations.md).",
    )
    citation_seconds: float = Field(
        20.0, gt=0, le=600, description="Seconds that the connected model may take for the open statements."
    )

    @field_validator("llm_base_url", "embedding_base_url", "rerank_base_url")
    @classmethod
    def _is_http(cls, url: str | None) -> str | None:
        return url if url is None else http_address(url)

    @field_validator(
        "allowed_hosts",
        "trusted_proxies",
        "allowed_users",
        "admins",
        "private_hosts",
        "allowed_folders",
        mode="before",
    )
    @classmethod
    def _is_listed(cls, given: Any) -> Any:
        """Split text of the environment at commas; the secrets file may have an array."""
        parts = given.split(",") if isinstance(given, str) else given
        return tuple(part.strip() for part in parts if part.strip()) if isinstance(parts, list) else parts

    @field_validator("vector_store_arguments", mode="before")
    @classmethod
    def _is_json_object(cls, given: Any) -> Any:
        """Parse JSON text of the environment; the secrets file has a table."""
        try:
            arguments = json.loads(given or "{}") if isinstance(given, str) else given
        except ValueError as error:
            raise ValueError(f"it is not JSON ({error})") from error
        if not isinstance(arguments, dict):
            raise ValueError('it must be a JSON object, such as {"path": "vectors"}')
        return arguments

    @field_validator("private_hosts")
    @classmethod
    def _may_be_private(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        try:
            parse_allowed(given)
        except SettingsError as error:
            raise ValueError(str(error)) from error
        return given

    @field_validator("allowed_folders")
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
        """Read the arguments of `load`, then the environment, and nothing else."""
        del settings_cls, dotenv_settings, file_secret_settings
        return init_settings, env_settings

    @property
    def connected(self) -> bool:
        """True where a language model on a server is set."""
        return bool(self.llm_model)


def load(arguments: Mapping[str, Any] | None = None, *, secrets: Path = SECRETS) -> Settings:
    """Read the settings; `arguments` come before the environment, files after it.

    Raises SettingsError naming the first wrong key and its value.
    """
    given = {name: value for name, value in (arguments or {}).items() if value is not None}
    try:
        stored, decided = _read_secrets(secrets), Settings().model_fields_set
        stored = {name: value for name, value in stored.items() if name not in decided}
        fixed = Settings(**{**stored, **given})
        saved = _editable(_read_json(fixed.data / SAVED))
        free = {name: value for name, value in saved.items() if name not in fixed.model_fields_set}
        return Settings(**{**fixed.model_dump(include=fixed.model_fields_set), **free})
    except ValidationError as error:
        raise SettingsError(error_sentence(error, Settings.model_fields)) from error


def fixed_fields(*, secrets: Path = SECRETS) -> frozenset[str]:
    """Return the settings given by the environment or the secrets file, which the page cannot change."""
    return frozenset(Settings().model_fields_set | _read_secrets(secrets).keys())


def check(settings: Settings, changes: Mapping[str, Any]) -> None:
    """Raise SettingsError when `settings` could not be read with these changes."""
    try:
        Settings(**{**settings.model_dump(), **_editable(changes)})
    except ValidationError as error:
        raise SettingsError(error_sentence(error, Settings.model_fields)) from error


def save(data: Path, changes: Mapping[str, Any]) -> None:
    """Save settings of the page in the data directory, readable by its owner only."""
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
    """Return the saved settings without secrets: no key, and no address with a password."""
    secret = {name for name, field in Settings.model_fields.items() if field.annotation is SecretStr}
    kept = _editable(_read_json(data / SAVED))
    return {name: value for name, value in kept.items() if name not in secret and "@" not in str(value)}


def _editable(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in _by_present_name(values).items() if name in EDITABLE}


def _by_present_name(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        RENAMED.get(name, name): values[name] for name in sorted(values, key=lambda name: name not in RENAMED)
    }


def _read_secrets(path: Path) -> dict[str, Any]:
    """Return the `[footnote]` table, whose keys are the settings' names in lower case."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("footnote", {})
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(
            N_("{path} cannot be read: {reason}. Correct or remove it.", path=path, reason=error)
        ) from error
    if not isinstance(table, dict):
        raise SettingsError(
            N_("In {path} footnote is no table. Write its settings under [footnote].", path=path)
        )
    unknown = table.keys() - Settings.model_fields.keys() - RENAMED.keys()
    if unknown:
        raise SettingsError(
            N_(
                "{path} has no setting called {unknown}. Correct or remove it.",
                path=path,
                unknown=repr(min(unknown)),
            )
        )
    return _by_present_name(table)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):  # whoever opens the directory says so
        return {}
    except (OSError, ValueError) as error:
        raise SettingsError(
            N_("{path} cannot be read: {reason}. Correct or remove it.", path=path, reason=error)
        ) from error
    return values if isinstance(values, dict) else {}
