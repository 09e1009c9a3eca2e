import threading
import time

import pytest

from panfocus._threads import (
    available_cores,
    cancellable,
    check_cancelled,
    limit_threads,
    map_blocks,
    thread_count,
)
from panfocus.errors import InputError


def test_every_core_is_used_by_default():
    assert thread_count() == available_cores() >= 1


def test_limits_nest_and_end():
    with limit_threads(3):
        assert thread_count() == 3
        with limit_threads(1):
            assert thread_count() == 1
        with limit_threads(None):
            assert thread_count() == 3
        assert thread_count() == 3
    assert thread_count() == available_cores()


def test_limit_ends_after_an_error():
    with pytest.raises(KeyError), limit_threads(1):
        raise KeyError
    assert thread_count() == available_cores()


@pytest.mark.parametrize("threads", [0, -1])
def test_limit_below_1_is_rejected(threads):
    with pytest.raises(InputError) as caught, limit_threads(threads):
        pass
    assert caught.value.facts == {"setting": "threads", "got": threads}


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_results_are_in_the_order_of_the_blocks(threads):
    def work(i):
        time.sleep(0.002 * (i % 3 == 0))
        return i * i

    with limit_threads(threads):
        assert list(map_blocks(work, range(20))) == [i * i for i in range(20)]


def test_no_blocks_give_no_results():
    assert list(map_blocks(str, [])) == []


@pytest.mark.parametrize("threads", [1, 3])
def test_all_allowed_threads_work_at_once(threads):
    all_here = threading.Barrier(threads)
    names = set()

    def work(_):
        all_here.wait(timeout=300)  # passes only when that many are at work
        names.add(threading.current_thread().name)

    with limit_threads(threads):
        list(map_blocks(work, range(4 * threads)))
    assert len(names) == threads


def test_blocks_are_taken_only_as_results_are_consumed():
    taken = []

    def blocks():
        for i in range(100):
            taken.append(i)
            yield i

    with limit_threads(2):
        results = map_blocks(str, blocks())
        for i in range(5):
            assert next(results) == str(i)
            assert len(taken) <= i + 4
        results.close()
    assert len(taken) < 10


def test_error_in_a_block_is_raised_and_drops_later_blocks():
    begun = []

    def work(i):
        begun.append(i)
        if i == 3:
            raise ZeroDivisionError("block 3")
        return i

    arrived = []
    with limit_threads(1), pytest.raises(ZeroDivisionError, match="block 3"):
        arrived.extend(map_blocks(work, range(1000)))
    assert arrived == [0, 1, 2]
    assert len(begun) < 10


def test_leaving_early_drops_blocks_that_have_not_started():
    begun, may_end = [], threading.Event()

    def work(i):
        begun.append(i)
        if i > 0:
            may_end.wait(timeout=300)
        return i

    with limit_threads(2):
        results = map_blocks(work, range(100))
        assert next(results) == 0  # now 1 and 2 hold both threads, and 3 waits
        threading.Timer(0.3, may_end.set).start()
        results.close()
    assert 3 not in begun


def test_leaving_early_ends_all_threads():
    before = threading.active_count()
    with limit_threads(2):
        for result in map_blocks(lambda i: i, range(1000)):
            if result == 5:
                break
    deadline = time.monotonic() + 60
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == before


def test_check_ends_work_between_and_inside_blocks():
    begun, unwanted = [], threading.Event()

    def check():
        if unwanted.is_set():
            raise InterruptedError

    def work(i):
        begun.append(i)
        check_cancelled()
        if i == 3:
            unwanted.set()
            check_cancelled()
            begun.append("on")

    with limit_threads(2), cancellable(check), pytest.raises(InterruptedError):
        list(map_blocks(lambda i: list(map_blocks(work, [i])), range(1000)))
    assert "on" not in begun
    assert len(begun) < 10
    assert list(map_blocks(abs, [-1])) == [1]  # nobody asks any more
