"""The door before a real server that says what it was told, asked from several addresses of this computer."""

import asyncio
import http.client
import json
import socket
import threading
from contextlib import contextmanager
from ipaddress import ip_network

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import JSONResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from streamlit.web.server.starlette.starlette_app_utils import create_signed_value
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from ui.auth.identity import LocalUser, OpenID, Proxy
from ui.auth.middleware import AUTH_MODE, PERSON, AuthMiddleware, Sessions

NEAR, FAR = "127.0.0.1", "127.0.0.2"  # two computers that are one
PROXY = Proxy("x-forwarded-user", (ip_network(f"{NEAR}/32"),))
SESSIONS = {"anns": "proxy:ann", "tokens": "https://id.example.org#7"}


async def told(request):
    return JSONResponse([[name, value] for name, value in request.headers.items()])


async def listened(websocket):
    await websocket.accept()
    await websocket.send_json([[name, value] for name, value in websocket.headers.items()])
    await websocket.close()


ROUTES = [
    Route("/{path:path}", told, methods=["GET", "PUT", "DELETE", "POST"]),
    WebSocketRoute("/_stcore/stream", listened),
]


@contextmanager
def standing(entrance, *, host=NEAR, origins=()):
    """Serve behind a door of its own; yields the port."""
    door = Middleware(AuthMiddleware, mode=entrance, owner_of=SESSIONS.get, origins=lambda: list(origins))
    listening = socket.create_server((host, 0))
    server = uvicorn.Server(uvicorn.Config(Starlette(routes=ROUTES, middleware=[door]), log_level="critical"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def ask(port, headers=(), *, path="/page", method="GET", peer=NEAR, to=NEAR):
    """Ask as a program at `peer` would; returns the status and what the application was told."""
    connection = http.client.HTTPConnection(to, port, source_address=(peer, 0))
    connection.putrequest(method, path)
    for name, value in headers:
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, json.loads(body) if answer.status == 200 else body.decode()


def people(port, headers=(), **how):
    status, told = ask(port, headers, **how)
    return [value for name, value in told if name == PERSON] if status == 200 else status


def test_what_a_proxy_says_of_a_person_is_passed_on():
    with standing(PROXY) as port:
        assert people(port, [("X-Forwarded-User", "ann")]) == ["ann"]
        assert people(port, [("X-Forwarded-User", "김민지".encode())]) == ["ê¹\x80ë¯¼ì§\x80"]


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("X-Forwarded-User", "")],
        [("X-Forwarded-User", "  ")],
        [("X-Forwarded-User", "ann"), ("X-Forwarded-User", "bob")],
        [("X-Forwarded-User", "a" * 256)],
        [("X-Forwarded-User", b"\xff")],
        [("X-Forwarded-User", "a\u200bb".encode())],
        [("X_Forwarded_User", "ann")],
        [("X-Footnote-Person", "ann")],
        [("X-Footnote-Person", "ann"), ("X-Footnote-Entrance", "alone")],
    ],
)
def test_one_whom_the_proxy_does_not_name_is_refused(headers):
    with standing(PROXY) as port:
        status, said = ask(port, headers)
    assert (status, "did not" in said) == (403, True)


@pytest.mark.parametrize(
    "more",
    [
        [],
        [("X-Forwarded-For", NEAR)],
        [("X-Forwarded-For", f"{NEAR}, {FAR}")],
        [("X-Real-IP", NEAR)],
        [("Forwarded", f"for={NEAR}")],
        [("X-Footnote-Person", "ann")],
    ],
)
def test_a_stranger_who_says_what_the_proxy_would_say_is_not_believed(more):
    with standing(PROXY) as port:
        assert people(port, [("X-Forwarded-User", "ann"), *more], peer=FAR) == 403


def test_a_program_on_this_computer_is_not_the_proxy_by_saying_so():
    elsewhere = Proxy("x-forwarded-user", (ip_network(f"{FAR}/32"),))
    with standing(elsewhere) as port:
        claimed = [("X-Forwarded-User", "ann"), ("X-Forwarded-For", FAR)]
        assert people(port, claimed, peer=NEAR) == 403
        assert people(port, [("X-Forwarded-User", "ann")], peer=FAR) == ["ann"]


def test_without_a_socket_to_look_at_an_address_that_may_be_made_up_is_not_believed():
    """A server may put what `X-Forwarded-For` says in the place of the peer's address."""

    def app(mode):
        return AuthMiddleware(Starlette(routes=ROUTES), mode, SESSIONS.get, list)

    with TestClient(app(PROXY), client=(NEAR, 5000)) as client:
        named = {"X-Forwarded-User": "ann"}
        assert client.get("/page", headers=named).status_code == 200
        assert client.get("/page", headers={**named, "X-Forwarded-For": NEAR}).status_code == 403
    with TestClient(app(PROXY), client=(FAR, 5000)) as client:
        assert client.get("/page", headers=named).status_code == 403


def test_a_proxy_may_say_where_the_person_is():
    with standing(PROXY) as port:
        assert people(port, [("X-Forwarded-User", "ann"), ("X-Forwarded-For", "203.0.113.9")]) == ["ann"]


def test_what_only_the_door_says_is_said_by_nobody_else():
    with standing(PROXY) as port:
        sent = [("X-Forwarded-User", "ann"), ("X-Footnote-Person", "bob"), ("X_Footnote_Person", "bob")]
        _, told = ask(port, [*sent, ("X-Footnote-Entrance", "alone")])
    known = [(name, value) for name, value in told if "footnote" in name or "user" in name]
    assert known == [(AUTH_MODE, "proxy"), (PERSON, "ann")]


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/_stcore/health"])
def test_whoever_watches_a_server_needs_no_name(path):
    with standing(PROXY) as port:
        assert ask(port, path=path, peer=FAR)[0] == 200
        assert ask(port, path=path + "/x", peer=FAR)[0] == 403


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_nothing_is_uploaded_into_a_session_that_is_not_ones_own(monkeypatch, method):
    monkeypatch.setattr("ui.auth.middleware.get_cookie_secret", lambda: SECRET)

    def upload(port, session, *headers):
        return ask(port, headers, path=f"/_stcore/upload_file/{session}/file", method=method)[0]

    with standing(PROXY) as port:
        assert upload(port, "anns", ("X-Forwarded-User", "ann")) == 200
        assert upload(port, "anns", ("X-Forwarded-User", "bob")) == 403
        assert upload(port, "nobodys", ("X-Forwarded-User", "ann")) == 403
        assert upload(port, "anns") == 403
    with standing(OpenID(("",))) as port:
        assert upload(port, "tokens", ("Cookie", signed_in("7"))) == 200
        assert upload(port, "tokens", ("Cookie", signed_in("8"))) == 403
        assert upload(port, "nobodys", ("Cookie", signed_in("7"))) == 403
        assert upload(port, "tokens") == 403
    with standing(LocalUser()) as port:
        assert upload(port, "anyones") == 200


def address_on_the_network():
    """This computer's address as others see it; nothing is sent to find it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        return probe.getsockname()[0]


def test_where_nobody_signs_in_only_this_computer_is_answered():
    with standing(LocalUser(), host="0.0.0.0") as port:  # noqa: S104 - the door is what is tried
        assert ask(port)[0] == 200
        own = address_on_the_network()
        if own is None:
            pytest.skip("this computer has no address but loopback: run it on one with a network")
        status, said = ask(port, peer=own, to=own)
    assert (status, "this computer only" in said) == (403, True)


def stream(port, **headers):
    """Open the page's websocket; returns what the application was told, or the status of the refusal."""

    async def listen():
        try:
            opening = connect(f"ws://{NEAR}:{port}/_stcore/stream", additional_headers=headers, proxy=None)
            async with opening as websocket:
                return json.loads(await websocket.recv())
        except InvalidStatus as refused:
            return refused.response.status_code

    return asyncio.run(listen())


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "http://localhost:{port}",
        "http://127.0.0.1:1",
        "http://127.0.0.1",
        "http://127.0.0.1:{port}.evil.example",
        "http://127.0.0.1:{port}@evil.example",
        "http://evil.example/127.0.0.1:{port}",
        "null",
        "",
        "file://",
    ],
)
def test_a_page_of_another_site_opens_no_websocket_and_changes_nothing(origin):
    with standing(LocalUser()) as port:
        sent = origin.replace("{port}", str(port))
        assert stream(port, Origin=sent) == 403
        assert ask(port, [("Origin", sent)], method="POST")[0] == 403


def test_ones_own_page_opens_a_websocket_and_so_do_pages_that_are_named():
    with standing(LocalUser(), origins=["https://docs.example.org"]) as port:
        for origin in (f"http://127.0.0.1:{port}", "https://docs.example.org"):
            assert [AUTH_MODE, "alone"] in stream(port, Origin=origin)
        assert [AUTH_MODE, "alone"] in stream(port)


def test_a_websocket_of_one_whom_the_proxy_does_not_name_is_refused():
    with standing(PROXY) as port:
        own = f"http://127.0.0.1:{port}"
        assert stream(port, Origin=own) == 403
        told = stream(port, **{"Origin": own, "X-Forwarded-User": "ann", "X-Footnote-Person": "bob"})
    assert [PERSON, "ann"] in told and [PERSON, "bob"] not in told


SECRET = "s" * 32


def resumed(port, session, **headers):
    """Connect as Streamlit's page does after a break; returns the session id that the application is told."""
    told = dict(stream(port, **{"Sec-WebSocket-Protocol": f"streamlit, xsrf, {session}", **headers}))
    return told["sec-websocket-protocol"].split(", ")[2:]


def signed_in(subject, secret=SECRET):
    claims = json.dumps({"iss": "https://id.example.org", "sub": subject, "origin": "http://localhost"})
    return f"{USER_COOKIE_NAME}={create_signed_value(secret, USER_COOKIE_NAME, claims).decode()}"


def test_a_session_is_resumed_only_by_the_person_whom_the_proxy_names_as_its_owner():
    with standing(PROXY) as port:
        assert resumed(port, "anns", **{"X-Forwarded-User": "ann"}) == ["anns"]
        assert resumed(port, "anns", **{"X-Forwarded-User": "bob"}) == []
        assert resumed(port, "nobodys", **{"X-Forwarded-User": "ann"}) == []
        assert resumed(port, "anns, anns", **{"X-Forwarded-User": "bob"}) == []
        new = {"Sec-WebSocket-Protocol": "streamlit, xsrf", "X-Forwarded-User": "ann"}
        assert ["sec-websocket-protocol", "streamlit, xsrf"] in stream(port, **new)


def test_a_session_is_resumed_only_with_the_sign_in_cookie_of_its_owner(monkeypatch):
    monkeypatch.setattr("ui.auth.middleware.get_cookie_secret", lambda: SECRET)
    with standing(OpenID(("",))) as port:
        assert resumed(port, "tokens", Cookie=signed_in("7")) == ["tokens"]
        assert resumed(port, "tokens", Cookie=signed_in("8")) == []
        assert resumed(port, "tokens", Cookie=signed_in("7", "x" * 32)) == []
        assert resumed(port, "tokens", Cookie=f"{USER_COOKIE_NAME}=chunks-9") == []
        assert resumed(port, "tokens") == []


def test_where_nobody_signs_in_every_session_is_resumed():
    with standing(LocalUser()) as port:
        assert resumed(port, "any") == ["any"]


def test_of_more_sessions_than_are_remembered_the_oldest_is_forgotten():
    sessions = Sessions()
    for number in range(10_000):
        sessions.admit(f"{number}", "ann")
    sessions.admit("0", "ann")
    assert sessions.owner_of("1") == "ann"
    sessions.admit("one more", "bob")
    assert sessions.owner_of("1") is None
    assert [sessions.owner_of(id_) for id_ in ("0", "2", "one more")] == ["ann", "ann", "bob"]
