"""Worker processes: their events, how they end, and how dead ones are replaced."""

import asyncio
import os
import signal
import sys
import textwrap
from pathlib import Path

import pytest
from app_server import wait

from panfocus.app.worker_pool import TaskCancelled, TaskFailed, Worker, WorkerDied, WorkerPool

# Tasks for the tests, registered before the worker imports tasks.
TASKS = """
    import sys, types

    def task(run):
        module = types.ModuleType(run.__name__)
        module.run = run
        sys.modules[f"panfocus.app.tasks.{run.__name__}"] = module

    @task
    def echo(send, say):
        print("what a library prints")
        for number in range(3):
            send({"event": "progress", "done": number})
        return {"said": say}

    @task
    def sleep(send, seconds):
        import time
        try:
            send({"event": "asleep"})
            time.sleep(seconds)
        except KeyboardInterrupt:
            send({"event": "woken"})
            raise
        return {}

    @task
    def die(send, signal):
        import os
        os.kill(os.getpid(), signal)

    @task
    def leave(send):
        import os
        sys.stderr.write("first\\nthe disk is on fire\\n")
        sys.stderr.flush()
        os._exit(3)

    @task
    def refuse(send):
        from panfocus.errors import InputError
        raise InputError("too\\nfew frames")

    @task
    def err(send):
        return 1 / 0

    @task
    def devour(send):
        import numpy as np
        return {"sum": float(np.ones(1 << 45, np.uint8).sum())}
"""


@pytest.fixture
def with_tasks(tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text(textwrap.dedent(TASKS))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *filter(None, sys.path)]))


def with_worker(use):
    async def run():
        worker = await Worker.start()
        try:
            return await use(worker)
        finally:
            await worker.close()
            assert not worker.is_alive

    return asyncio.run(run())


def test_events_come_in_order_and_then_the_result(with_tasks):
    async def use(worker):
        events = []
        first = await worker.run({"task": "echo", "say": "Grüße"}, events.append)
        second = await worker.run({"task": "echo", "say": 2})
        return events, first, second

    events, first, second = with_worker(use)
    assert events == [{"event": "progress", "done": number} for number in range(3)]
    assert (first, second) == ({"said": "Grüße"}, {"said": 2})


def test_a_failed_task_gives_one_line_and_the_worker_continues(with_tasks):
    async def use(worker):
        lines = []
        for name in ("refuse", "err", "devour", "none"):
            with pytest.raises(TaskFailed) as caught:
                await worker.run({"task": name})
            lines.append(caught.value.message)
        await worker.run({"task": "echo", "say": 1})
        return lines

    lines = with_worker(use)
    for line, part in zip(lines, ("too few frames", "ZeroDivisionError", "emory", "none"), strict=True):
        assert part in line and "\n" not in line


@pytest.mark.parametrize(
    ("task", "parts"),
    [
        ({"task": "die", "signal": int(signal.SIGKILL)}, ["signal 9", "memory"]),
        ({"task": "die", "signal": int(signal.SIGSEGV)}, ["signal 11", "SIGSEGV"]),
        ({"task": "leave"}, ["code 3", "the disk is on fire"]),
    ],
)
def test_the_error_of_a_dead_worker_says_how_it_died(with_tasks, task, parts):
    async def use(worker):
        with pytest.raises(TaskFailed) as caught:
            await worker.run(task)
        assert not worker.is_alive
        return caught.value.message

    line = with_worker(use)
    assert all(part in line for part in parts)


def test_an_interrupted_task_cleans_up_and_the_worker_continues(with_tasks):
    async def use(worker):
        events = []

        def on_event(event):
            events.append(event["event"])
            if event["event"] == "asleep":
                worker.interrupt()

        with pytest.raises(TaskCancelled):
            await worker.run({"task": "sleep", "seconds": 60}, on_event)
        worker.interrupt()  # too late: the next task ignores it
        await asyncio.sleep(0.2)
        assert await worker.run({"task": "echo", "say": 1}) == {"said": 1}
        return events

    assert with_worker(use) == ["asleep", "woken"]


def test_a_task_that_is_interrupted_before_it_starts_does_not_start(with_tasks):
    async def use(worker):
        events = []
        await worker.run({"task": "echo", "say": "awake"})
        running = asyncio.create_task(worker.run({"task": "sleep", "seconds": 60}, events.append))
        await asyncio.sleep(0)  # sent, and perhaps not read yet
        worker.interrupt()
        await asyncio.sleep(0.5)
        worker.interrupt()  # the page may ask again
        with pytest.raises(TaskCancelled):
            await running

    with_worker(use)


def test_a_worker_ends_when_its_server_does(with_tasks):
    async def use(worker):
        begun = asyncio.Event()
        running = asyncio.create_task(worker.run({"task": "sleep", "seconds": 60}, lambda event: begun.set()))
        await asyncio.wait_for(begun.wait(), 20)
        worker._process.stdin.close()  # as when the server is killed
        with pytest.raises((TaskCancelled, TaskFailed)):
            await asyncio.wait_for(running, 10)

    with_worker(use)


def test_urgent_tasks_go_first_and_a_slow_or_dead_worker_is_replaced(with_tasks):
    async def run():
        workers = WorkerPool()
        await workers.start()
        order = []

        async def quick(name, **how):
            await workers.run_quick({"task": "echo", "say": name}, **how)
            order.append(name)

        try:
            await asyncio.gather(*(quick(n) for n in (1, 2, 3)), quick("urgent", urgent=True))
            with pytest.raises(TaskFailed) as caught:
                await workers.run_quick({"task": "sleep", "seconds": 60}, seconds=0.2)
            assert caught.value.facts["limit"] == 0.2
            await quick("after the slow one")
            with pytest.raises(WorkerDied):
                await workers.run_quick({"task": "die", "signal": 9})
            await quick("after the dead one")
            long = await workers.lend_long()
            assert await long.run({"task": "echo", "say": 1}) == {"said": 1}
        finally:
            await workers.stop()
        return order

    order = asyncio.run(run())
    assert order == [1, "urgent", 2, 3, "after the slow one", "after the dead one"]


def test_stop_ends_every_process_of_long_tasks_that_start_at_once(monkeypatch):
    started = []
    start = Worker.start

    async def counted(*arguments):
        started.append(await start(*arguments))
        return started[-1]

    monkeypatch.setattr(Worker, "start", counted)

    async def run():
        workers = WorkerPool()
        await workers.start()
        lent = await asyncio.gather(*(workers.lend_long() for _ in range(3)))
        await workers.stop()
        return lent, [worker.is_alive for worker in started]

    lent, alive = asyncio.run(run())
    assert len(set(lent)) == 3
    assert alive == [False] * 5  # three, the next, and the quick one


def test_a_quick_task_cannot_use_all_memory(with_tasks):
    async def run():
        worker = await Worker.start("--quick")
        try:
            with pytest.raises(TaskFailed) as caught:
                await worker.run({"task": "devour"})
            assert not isinstance(caught.value, WorkerDied)
        finally:
            await worker.close()

    asyncio.run(run())


def test_modules_are_not_imported_from_the_current_folder(with_tasks, tmp_path, monkeypatch):
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "numpy.py").write_text("raise SystemExit('evil')")
    monkeypatch.chdir(tmp_path / "pictures")

    async def use(worker):
        return await worker.run({"task": "echo", "say": 1})

    assert with_worker(use) == {"said": 1}


def test_the_server_survives_a_kill_of_the_process_that_scans_files(server):
    for pid in children_of(server.process.pid):
        if b"--quick" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)
    folder = str(server.root / "small")
    stack = server.client.post("/api/stacks", json={"folder": folder}).raise_for_status().json()["id"]
    assert [frame["state"] for frame in server.seen(stack)["frames"]] == ["ready"] * 3


def test_no_worker_outlives_the_server(server_of_its_own):
    pids = children_of(server_of_its_own.process.pid)
    assert len(pids) >= 2
    server_of_its_own.process.kill()
    for _ in wait(30):
        if not any(is_running(pid) for pid in pids):
            return
    raise AssertionError("workers are left")


@pytest.fixture
def server_of_its_own(tmp_path):
    from app_server import running_server

    (tmp_path / "pictures").mkdir()
    with running_server(tmp_path / "work", tmp_path / "pictures") as running:
        yield running


def children_of(pid):
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in children.split()]


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
