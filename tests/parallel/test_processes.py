"""Work in several processes; that Ctrl-C ends it in two steps is tested with the command `compare`."""

import logging
import os
import signal

import pytest

from panfocus.parallel import processes


def double(number):
    return 2 * number


def doubled(numbers):
    return processes.in_processes(double, [(n,) for n in numbers], 2, on_leaving=lambda: None)


def test_every_task_is_done_once():
    assert sorted(doubled(range(5))) == [(i, 2 * i) for i in range(5)]


def test_ctrl_c_does_not_come_in_the_middle_of_a_look_at_the_futures(monkeypatch):
    """There it would leave a lock held, and the end of the pool would wait for that for ever."""
    looks = []

    def interrupted_wait(*arguments, **options):
        if not looks:
            signal.raise_signal(signal.SIGINT)
        looks.append("ended as usual")
        return real_wait(*arguments, **options)

    real_wait = processes.wait
    monkeypatch.setattr(processes, "wait", interrupted_wait)
    with pytest.raises(KeyboardInterrupt):
        list(doubled(range(5)))
    assert looks


def test_the_way_of_ctrl_c_is_left_as_it_was():
    handler = signal.getsignal(signal.SIGINT)
    list(doubled(range(2)))
    assert signal.getsignal(signal.SIGINT) is handler


def die_once(mark, number):
    """Kill this process unless the mark says that one was killed already."""
    if number == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * number


def die(number):
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * number


def test_a_task_whose_process_was_killed_is_begun_again(tmp_path):
    tasks = [(tmp_path / "killed", n) for n in range(6)]
    done = list(processes.in_processes(die_once, tasks, 2, on_leaving=lambda: None, attempts=3))
    assert (tmp_path / "killed").exists()
    assert sorted(done) == [(i, 2 * i) for i in range(6)]


def test_a_task_that_kills_every_process_is_lost_and_no_other():
    found = dict(
        processes.in_processes(die, [(n,) for n in range(6)], 2, on_leaving=lambda: None, attempts=3)
    )
    assert found == {i: 2 * i if i != 3 else processes.Lost(3) for i in range(6)}


def limits():
    return [os.environ.get(name) for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")]


def test_libraries_are_told_how_many_threads_to_start():
    found = processes.in_processes(limits, [()], 1, on_leaving=lambda: None, threads=1)
    assert list(found) == [(0, ["1", "1"])]


def compile_something(number):
    logging.getLogger("panfocus._numba").info("compiling for this machine")
    return number


def test_it_is_told_once_that_processes_compile(caplog):
    caplog.set_level(logging.INFO, "panfocus._numba")
    list(processes.in_processes(compile_something, [(n,) for n in range(4)], 2, on_leaving=lambda: None))
    assert [record.getMessage() for record in caplog.records] == ["compiling for this machine"]


def test_what_was_cancelled_is_not_said_to_have_died():
    assert processes.Lost(3).reason == "3 worker processes died at it, perhaps for lack of memory"
    assert processes.Lost(0).reason == "it was cancelled on the cluster"
