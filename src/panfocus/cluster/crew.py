"""The workers of a cluster: who is there, and who is left out."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from panfocus.cluster.on_worker import Unfit
from panfocus.errors import PanfocusError

if TYPE_CHECKING:
    from distributed import Client

SECONDS_BETWEEN_CALLS = 2.0  # in which the scheduler is asked which workers there are
SECONDS_TO_ANSWER = 10.0  # that a scheduler has


class Crew:
    """The workers that a scheduler has; `say` is told who is left out, and when nobody is there."""

    def __init__(self, address: str, say: Callable[[str], None]) -> None:
        self._address = address
        self._say = say
        self._threads: dict[str, int] = {}  # of each worker, by its address
        self._unfit: dict[str, str] = {}  # what is wrong with a worker, by its address
        self._had_fit = False  # one that has made something
        self._had_some = False
        self._waits = False
        self._next_look = 0.0

    def look_now_and_then(self, client: "Client") -> None:
        """Look, if that has not been done a moment ago."""
        if time.monotonic() > self._next_look:
            self.look(client)

    def look(self, client: "Client") -> None:
        """See who is there, and say if nobody is, or somebody is again."""
        self._ask(client)
        self._tell_if_none()

    def _ask(self, client: "Client") -> None:
        with suppress(Exception):  # a connection that is gone, of which the client will know soon
            self._threads = client.nthreads(callback_timeout=SECONDS_TO_ANSWER)
        self._next_look = time.monotonic() + SECONDS_BETWEEN_CALLS

    @property
    def fit(self) -> dict[str, int]:
        """How many threads workers have, by their addresses, but for those that are left out."""
        return {address: n for address, n in self._threads.items() if address not in self._unfit}

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
        line = f"workers on {unfit.host} are left out: one {unfit.fault}"
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
