"""The benchmark's own sums: what counts as growth, and what as a leak."""

import pytest

from benchmarks.soak import Sample, all_growth, growth, leaks


def test_growth_is_what_line_and_medians_agree_on():
    seconds = [float(second) for second in range(100)]
    steady, rising = [100.0] * 100, [100.0 + second for second in range(100)]
    peak = [500.0 if second == 50 else 100.0 for second in range(100)]
    assert growth("memory_mb", seconds, steady).level and growth("memory_mb", seconds, peak).level
    grown = growth("memory_mb", seconds, rising)
    assert not grown.level and grown.grew == pytest.approx(90, abs=1) and grown.line == pytest.approx(99)


@pytest.mark.parametrize(("more", "level"), [(2, True), (12, False)])
def test_a_few_threads_may_come_and_many_may_not(more: int, level: bool):
    values = [20.0] * 50 + [20.0 + more] * 50
    assert growth("threads", [float(second) for second in range(100)], values).level is level


def test_the_warm_up_is_left_out():
    samples = [Sample(float(at), 900.0 if at > 10 else 100.0, 20, 50, 2, 4.0) for at in range(100)]
    assert all(one.level for one in all_growth(samples))
    with pytest.raises(ValueError, match="longer"):
        all_growth(samples[:1])


def test_a_name_in_the_log_and_two_in_a_prompt_are_leaks():
    assert leaks("read, embedded", ["person1-2 said", "person2-1 said", "hello"]) == []
    assert len(leaks("could not read person1-2.md", ["person1-2, person11-2"])) == 2
