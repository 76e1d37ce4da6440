"""Object stores that cannot be used, each with its sentence."""

import re

import pytest
from pytest_httpserver import HTTPServer

from storage.errors import NotFound, ObjectStoreAway, StorageError
from storage.object_store import ObjectStore
from tests import s3
from tests.s3 import Link, new_address


def test_a_store_that_can_be_used_passes_its_check_and_is_left_as_it_was(s3_link: Link):
    store = ObjectStore.connect(new_address())
    store.check()
    assert not list(store.list("check"))


def test_a_store_that_overwrites_what_it_was_asked_not_to_is_refused(s3_link: Link):
    s3_link.replaced = (b"if-none-match: *", b"if-none-metch: *")
    with pytest.raises(StorageError, match="does not know conditional writes"):
        ObjectStore.connect(new_address()).check()


def test_an_object_is_created_once(s3_link: Link):
    store = ObjectStore.connect(new_address())
    assert store.create("a/b", b"first")
    assert not store.create("a/b", b"second")
    assert b"".join(store.read("a/b")) == b"first"
    store.replace("a/b", b"third")
    assert b"".join(store.read("a/b")) == b"third"


def test_a_folder_is_not_the_beginning_of_a_name(s3_link: Link):
    store = ObjectStore.connect(new_address())
    for key in ("one/a", "one/b", "one-more/c"):
        store.create(key, b"")
    assert sorted(found.key for found in store.list("one")) == ["one/a", "one/b"]


def test_deleting_takes_what_is_there(s3_link: Link):
    store = ObjectStore.connect(new_address())
    store.create("a", b"")
    store.delete(["absent", "a"])
    assert store.info("a") is None
    with pytest.raises(NotFound):
        list(store.read("a"))


@pytest.mark.parametrize("address", ["s3:", "nonsense", "ftp://host/folder", "s3://"])
def test_an_address_of_no_store_is_refused_with_those_that_are(address: str):
    with pytest.raises(StorageError, match=r"cannot be used.*s3://BUCKET/PREFIX"):
        ObjectStore.connect(address).check()


def test_a_bucket_that_is_not_there_is_named_as_missing(s3_link: Link):
    with pytest.raises(StorageError, match="There is no bucket"):
        ObjectStore.connect("s3://absent/prefix").check()
    with pytest.raises(StorageError, match="There is no bucket"):
        list(ObjectStore.connect("s3://absent/prefix").read("key"))


def test_a_store_that_is_away_is_said_to_be_without_its_host(s3_link: Link):
    s3_link.cut()
    with pytest.raises(ObjectStoreAway, match="does not answer") as raised:
        ObjectStore.connect(new_address()).check()
    assert "127.0.0.1" not in str(raised.value)


def test_refused_credentials_are_told_from_a_store_that_is_away(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
):
    for name, value in s3.environment(httpserver.port).items():
        monkeypatch.setenv(name, value)
    for status in (401, 403):
        httpserver.clear()
        denied = "<Error><Code>AccessDenied</Code></Error>"
        httpserver.expect_request(re.compile(".*")).respond_with_data(denied, status=status)
        with pytest.raises(StorageError, match="refuses the credentials"):
            ObjectStore.connect(new_address()).check()
