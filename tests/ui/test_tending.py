import pytest

from storage.errors import DiskFull, NotFound
from ui.tending import do_all


def test_work_is_done_though_others_fail_and_the_first_failure_is_told():
    done = []

    def fail(error: Exception) -> None:
        raise error

    with pytest.raises(DiskFull):
        do_all([lambda: fail(DiskFull("full")), lambda: fail(NotFound("gone")), lambda: done.append(1)])
    assert done == [1]
    do_all([lambda: done.append(2)])
    assert done == [1, 2]
