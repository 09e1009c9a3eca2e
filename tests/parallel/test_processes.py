"""Tasks in several processes. That Ctrl-C stops them in two steps is tested with `panfocus compare`."""

import logging
import os
import signal
import subprocess
import sys

import pytest

from panfocus.parallel import LostTaskError, processes, run_tasks


def double(number):
    return 2 * number


def double_all(numbers):
    return run_tasks(double, [(n,) for n in numbers], processes=2)


@pytest.fixture
def default_sigint():
    """Make Ctrl-C work here, even if the parent process ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("default_sigint")
def test_ctrl_c_does_not_interrupt_a_wait_for_futures(monkeypatch):
    """It could leave a lock held, and closing the pool would wait for that lock forever."""
    waits = []

    def interrupted_wait(*arguments, **options):
        if not waits:
            signal.raise_signal(signal.SIGINT)
        waits.append("not interrupted")
        return real_wait(*arguments, **options)

    real_wait = processes.wait
    monkeypatch.setattr(processes, "wait", interrupted_wait)
    with pytest.raises(KeyboardInterrupt):
        list(double_all(range(5)))
    assert waits
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


SLEEP = """
import signal, sys, time
from panfocus.parallel import run_tasks

def terminate(*_):
    raise SystemExit(3)

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, terminate)
    print(list(run_tasks(time.sleep, [(1,)] * 4, processes=2, on_stop=lambda: print("stop", flush=True))))
"""


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
def test_sigterm_stops_a_run_that_ignores_sigint(tmp_path):
    """As with `nohup panfocus batch ... &`."""
    script = tmp_path / "sleep.py"
    script.write_text(SLEEP + "\n")
    process = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    watcher = subprocess.Popen(
        [sys.executable, "-c", WAIT_FOR_CHILD, str(process.pid)], stdout=subprocess.PIPE, text=True
    )
    watcher.wait(timeout=300)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=300)
    assert (process.returncode, out) == (3, "stop\n")


WAIT_FOR_CHILD = """
import psutil, sys, time
while len(psutil.Process(int(sys.argv[1])).children(recursive=True)) < 3:
    time.sleep(0.05)
"""


def die_once(mark, number):
    """Kill this process, unless one was killed before."""
    if number == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * number


def die(number):
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * number


def test_task_of_a_killed_process_is_repeated(tmp_path):
    results = run_tasks(die_once, [(tmp_path / "killed", n) for n in range(6)], processes=2)
    assert sorted(results) == [(i, 2 * i) for i in range(6)]
    assert (tmp_path / "killed").exists()


def test_only_the_task_that_kills_its_processes_is_lost():
    results = dict(run_tasks(die, [(n,) for n in range(6)], processes=2))
    lost = results.pop(3)
    assert isinstance(lost, LostTaskError)
    assert lost.facts == {"deaths": 3}
    assert results == {i: 2 * i for i in range(6) if i != 3}


def thread_limits():
    return [os.environ.get(name) for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")]


def test_libraries_get_the_number_of_threads():
    assert list(run_tasks(thread_limits, [()], processes=1, threads=1)) == [(0, ["1", "1"])]


def compile_code(number):
    logging.getLogger("panfocus._numba").info("compiling")
    return number


def test_compiling_is_reported_once(caplog):
    caplog.set_level(logging.INFO, "panfocus._numba")
    list(run_tasks(compile_code, [(n,) for n in range(4)], processes=2))
    assert [record.getMessage() for record in caplog.records] == ["compiling"]
