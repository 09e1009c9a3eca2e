"""The workers of a cluster: who is there, and who is left out."""

import platform
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from panfocus.errors import PanfocusError
from panfocus.parallel import on_worker
from panfocus.parallel.on_worker import Unfit

if TYPE_CHECKING:
    from distributed import Client

SECONDS_BETWEEN_CALLS = 2.0  # in which the scheduler is asked which workers there are
SECONDS_TO_ANSWER = 10.0  # that a scheduler has
LIBRARIES = ("numpy", "numba", "llvmlite")  # on whose versions the last bits of results may depend


class Crew:
    """The workers that a scheduler has; `say` is told who is left out, and when nobody is there."""

    def __init__(self, address: str, say: Callable[[str], None]) -> None:
        self._address = address
        self._say = say
        self._threads: dict[str, int] = {}  # of each worker, by its address
        self._asked: set[str] = set()  # addresses of workers that were asked for panfocus
        self._other_libraries: set[str] = set()  # what was said of them
        self._unfit: dict[str, str] = {}  # what is wrong with a worker, by its address
        self._memory: dict[str, int] = {}  # bytes that a task has on a worker, of those that have too few
        self._had_fit = False  # one that has made something
        self._had_some = False
        self._waits = False
        self._next_look = 0.0

    def look_now_and_then(self, client: "Client") -> None:
        """Look, if that has not been done a moment ago."""
        if time.monotonic() > self._next_look:
            self.look(client)

    def look(self, client: "Client") -> None:
        """See who is there and can load panfocus, and say if nobody is, or somebody is again."""
        self._ask(client)
        new = self._threads.keys() - self._asked
        self._leave_out_who_cannot_load(new, client)
        self._tell_of_other_libraries(new & self.fit.keys(), client)
        self._tell_if_none()

    def _ask(self, client: "Client") -> None:
        with suppress(Exception):  # a connection that is gone, of which the client will know soon
            self._threads = client.nthreads(callback_timeout=SECONDS_TO_ANSWER)
        self._next_look = time.monotonic() + SECONDS_BETWEEN_CALLS

    def _leave_out_who_cannot_load(self, new: Iterable[str], client: "Client") -> None:
        """Ask those that are new: a worker that is given what it cannot load loses its scheduler."""
        answers = _answers(client, new, import_module, on_worker.__name__)
        self._asked.update(answers)
        faults = {address: answer for address, answer in answers.items() if isinstance(answer, ImportError)}
        hosts = _answers(client, faults, platform.node)
        for address, error in faults.items():
            host = str(hosts.get(address, address))
            self.leave_out(Unfit(address, host, f"cannot load panfocus ({error})"), client)

    def _tell_of_other_libraries(self, new: Iterable[str], client: "Client") -> None:
        """Say once which versions some workers have of what results depend on; they are fit all the same."""
        found = {name: _answers(client, new, version, name) for name in LIBRARIES}
        here = {name: version(name) for name in LIBRARIES}
        for address in new:
            there = {name: found[name].get(address) for name in LIBRARIES}
            others = [n for n in LIBRARIES if isinstance(there[n], str) and there[n] != here[n]]
            said = ", ".join(f"{name} {there[name]} (here {here[name]})" for name in others)
            if said and said not in self._other_libraries:
                self._other_libraries.add(said)
                host = _answers(client, [address], platform.node).get(address, address)
                self._say(
                    f"a worker on {host} has {said}: its results, and those of others like it, "
                    "may differ in their last bits"
                )

    @property
    def fit(self) -> dict[str, int]:
        """How many threads workers have, by their addresses, but for those that are left out."""
        return {address: n for address, n in self._threads.items() if address not in self._unfit}

    def with_memory(self, needed: int) -> dict[str, int]:
        """Return those of the fit ones that may have so many bytes for a task."""
        return {address: n for address, n in self.fit.items() if self._memory.get(address, needed) >= needed}

    def note_memory(self, address: str, n_bytes: int) -> None:
        """Note how many bytes a task has on a worker."""
        self._memory[address] = n_bytes

    @property
    def all_fit(self) -> bool:
        """Whether nobody is left out that is there."""
        return len(self.fit) == len(self._threads)

    def has_made_something(self) -> None:
        """Note that a worker is fit: should it go, others like it may come."""
        self._had_fit = True

    def leave_out(self, unfit: Unfit, client: "Client") -> None:
        """Note that a worker is to get nothing more; raise if there is no other, and never was."""
        if unfit.address in self._unfit:
            return
        line = f"a worker on {unfit.host} is left out, and so are others like it: it {unfit.fault}"
        known = line in self._unfit.values()
        self._unfit[unfit.address] = line
        self._ask(client)
        if self._threads and not self.fit and not self._had_fit:
            raise PanfocusError(
                f"--scheduler {self._address}: no worker is fit for the work; "
                f"one on {unfit.host} {unfit.fault}"
            )
        if not known:
            self._say(line)

    def _tell_if_none(self) -> None:
        waited, self._waits = self._waits, not self.fit
        if self._waits and not waited:
            which = "workers" if self.all_fit else "fit workers"
            since = "any more" if self._had_some else "yet"
            self._say(f"the scheduler at {self._address} has no {which} {since}; waiting for them")
        elif waited and not self._waits:
            self._say("there are workers; the work goes on")
        self._had_some |= not self._waits


def _answers(
    client: "Client", workers: Iterable[str], function: Callable[..., object], *arguments: object
) -> dict[str, Any]:
    """Return what a function of Python's own library, which every worker has, gives or raises on each."""
    if not (chosen := [*workers]):
        return {}
    with suppress(Exception):  # a connection that is gone
        return dict(
            client.run(
                function, *arguments, workers=chosen, on_error="return", callback_timeout=SECONDS_TO_ANSWER
            )
        )
    return {}
