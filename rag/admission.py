"""Admission: who may use this installation, and who administers it, by the lists in the settings."""

from rag.settings import LOCAL_OWNER, Settings


def admits(settings: Settings, id_: str, email: str = "", called: str | None = None) -> bool:
    """Return True for a person who may enter: the local user, everyone, or those whom the settings name.

    `called` is the person's id at their sign-in service, by default as the id contains it.
    """
    if id_ == LOCAL_OWNER or not settings.allowed_users:
        return True
    called = called_at_sign_in(id_) if called is None else called
    return any(_is_named(names, id_, email, called) for names in (settings.admins, settings.allowed_users))


def administers(settings: Settings, id_: str, email: str = "", called: str | None = None) -> bool:
    """Return True for an administrator."""
    return _is_named(settings.admins, id_, email, called_at_sign_in(id_) if called is None else called)


def called_at_sign_in(id_: str) -> str:
    """Return a person's id at their sign-in service: the subject of a token, or the name from a proxy.

    >>> called_at_sign_in("https://issuer.example#7"), called_at_sign_in("proxy:ann")
    ('7', 'ann')
    """
    return id_.removeprefix("proxy:") if id_.startswith("proxy:") else id_.partition("#")[2]


def _is_named(names: tuple[str, ...], id_: str, email: str, called: str) -> bool:
    """Return True if ids, e-mail addresses or domains such as `@example.org` include the person."""
    folded = email.casefold()
    spelled = {id_, called, folded, folded[folded.rfind("@") :] if folded else ""} - {""}
    return any(name in spelled or name.casefold() in spelled - {id_, called} for name in names)
