"""Work in several processes; that Ctrl-C ends it in two steps is tested with the command `compare`."""

import signal

import pytest

from panfocus.compare import processes


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
