"""The names of the people whom a page mentions: a page itself holds only the ids of their accounts."""

import re

from rag.errors import ItemFailed
from rag.jobs import Cancel
from rag.sources.confluence_api import ConfluenceApi
from rag.sources.confluence_records import Person

_MENTION = re.compile(r'<ri:user\b[^>]*?\bri:(account-id|userkey)="([^"<>&]{1,128})"')
_PARAMETERS = {"account-id": "accountId", "userkey": "key"}
_MOST = 100  # people of one page who are asked for


class People:
    """Names by the ids of accounts, each asked for once."""

    def __init__(self, api: ConfluenceApi):
        self._api = api
        self._names: dict[str, str] = {}

    def mentioned(self, storage: str, cancelled: Cancel) -> dict[str, str]:
        """Return the names of those whom a page mentions, by their ids; who is not found is left out."""
        found = dict.fromkeys((kind, id_) for kind, id_ in _MENTION.findall(storage))
        named = {id_: self._name(kind, id_, cancelled) for kind, id_ in list(found)[:_MOST]}
        return {id_: name for id_, name in named.items() if name}

    def _name(self, kind: str, id_: str, cancelled: Cancel) -> str:
        if id_ not in self._names:
            asked = {_PARAMETERS[kind]: id_}
            try:
                person = self._api.read(Person, "/rest/api/user", asked, cancelled)
                self._names[id_] = person.display_name or person.public_name
            except ItemFailed:  # an account that was closed, or one that is nobody's business
                self._names[id_] = ""
        return self._names[id_]
