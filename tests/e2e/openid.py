"""A small OpenID provider on this computer that signs in whom it is told to, at once and without a page."""

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT = ("footnote", "the client's secret")


@dataclass
class Provider:
    """What it says is in `who`, claims of the next ID token; `stranger` has another key sign it: `forged`."""

    url: str = ""
    who: dict[str, Any] = field(default_factory=dict)
    stranger: bool = False
    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "one"}))
    asked: list[str] = field(default_factory=list)
    forged: list[str] = field(default_factory=list)
    _codes: dict[str, dict[str, str]] = field(default_factory=dict)

    def discovery(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/jwks",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "code_challenge_methods_supported": ["S256"],
        }

    def authorized(self, query: dict[str, str]) -> str:
        """Return where the browser goes on, with a code that is good once."""
        code = secrets.token_urlsafe()
        self._codes[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def token(self, form: dict[str, str]) -> dict[str, Any] | None:
        """Exchange a code; None where it is not the client's, or its verifier does not fit."""
        query = self._codes.pop(form.get("code", ""), None)
        if query is None or query["redirect_uri"] != form["redirect_uri"]:
            return None
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        if base64.urlsafe_b64encode(digest).decode().rstrip("=") != query["code_challenge"]:
            return None
        now = int(time.time())
        claims = {"iss": self.url, "aud": CLIENT[0], "iat": now, "exp": now + 600, "nonce": query["nonce"]}
        key = RSAKey.generate_key(2048, {"kid": "one"}) if self.stranger else self.key
        signed = jwt.encode({"alg": "RS256", "kid": "one"}, claims | self.who, key)
        if self.stranger:
            self.forged.append(signed)
        return {"access_token": "a", "token_type": "Bearer", "expires_in": 600, "id_token": signed}


@contextmanager
def provider() -> Iterator[Provider]:
    """Serve a provider of one's own."""
    known = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known.asked.append(self.path)
            at = urlsplit(self.path)
            if at.path == "/authorize":
                query = {name: values[0] for name, values in parse_qs(at.query).items()}
                self.send_response(302)
                self.send_header("Location", known.authorized(query))
                self.end_headers()
                return
            keys = {"keys": [known.key.as_dict(private=False)]}
            pages = {"/.well-known/openid-configuration": known.discovery(), "/jwks": keys}
            self.tell(pages.get(at.path))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            basic = base64.b64encode(":".join(CLIENT).encode()).decode()
            form = {name: values[0] for name, values in parse_qs(body).items()}
            known_client = self.headers["Authorization"] == f"Basic {basic}"
            self.tell(known.token(form) if known_client else None)

        def tell(self, told: dict[str, Any] | None) -> None:
            self.send_response(200 if told else 400)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(told or {"error": "invalid_request"}).encode())

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    known.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield known
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
