"""A model of the time that a cluster takes: to read, compute, write, schedule; its store, its client.

    T = client + start * crowding + sum over stages of max( rounds * (read + compute + write) * crowding,
                                                            tasks * per_task,
                                                            bytes / bandwidth )

`rounds` is tasks / workers, rounded up: tasks are alike. `crowding` is the workers for each core, if there
are more workers than cores. The largest of the three says what limits a stage.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Stage:
    """Equal tasks, none of which waits for another: seconds of each on one worker, bytes of all."""

    tasks: int
    read: float
    compute: float
    write: float = 0.0
    bytes_read: float = 0.0
    bytes_written: float = 0.0

    @property
    def seconds(self) -> float:
        """What a task takes."""
        return self.read + self.compute + self.write


@dataclass(frozen=True)
class Cluster:
    """Who works, and what they have in common."""

    workers: int
    cores: int  # that the workers have together
    per_task: float = 0.0  # seconds that scheduler and client take for each task, one after another
    bandwidth: float = float("inf")  # bytes a second, of the store that all use
    start: float = 0.0  # seconds until workers have loaded what they need, once


@dataclass(frozen=True)
class Prediction:
    """How long it takes, how much of that the workers work, and what limits it."""

    seconds: float
    share: float
    limit: str


def predict(stages: Sequence[Stage], cluster: Cluster, *, client: float) -> Prediction:
    """Tell the time of stages, one after another, and of a client that works alone for so many seconds."""
    limits = [_limits(stage, cluster) for stage in stages]
    seconds = client + cluster.start * crowding(cluster) + sum(max(each.values()) for each in limits)
    longest = max(limits, key=lambda each: max(each.values()))
    busy = sum(stage.tasks * stage.seconds for stage in stages) * crowding(cluster)
    return Prediction(seconds, busy / (cluster.workers * seconds), max(longest, key=lambda k: longest[k]))


def crowding(cluster: Cluster) -> float:
    """Return how much longer a task takes if workers share cores."""
    return max(1.0, cluster.workers / cluster.cores)


def _limits(stage: Stage, cluster: Cluster) -> dict[str, float]:
    whole, rest = divmod(stage.tasks, cluster.workers)
    # The last round may leave cores to those that are at work.
    rounds = whole * crowding(cluster) + (max(1.0, rest / cluster.cores) if rest else 0.0)
    return {
        "workers": rounds * stage.seconds,
        "scheduler": stage.tasks * cluster.per_task,
        "store": (stage.bytes_read + stage.bytes_written) / cluster.bandwidth,
    }
