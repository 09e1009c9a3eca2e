"""A model of the time of a cluster: reading, computing, writing, scheduling, storage and client.

    T = client + start * crowding + sum over stages of max( rounds * (read + compute + write) * crowding,
                                                            tasks * per_task,
                                                            bytes / bandwidth )

`rounds` is tasks / workers, rounded up, because tasks are alike. `crowding` is the number of workers per
core, if there are more workers than cores. The largest of the three terms limits a stage.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Stage:
    """Equal, independent tasks: seconds of one task on one worker, bytes of all tasks."""

    tasks: int
    read: float
    compute: float
    write: float = 0.0
    bytes_read: float = 0.0
    bytes_written: float = 0.0

    @property
    def seconds(self) -> float:
        """Seconds of one task."""
        return self.read + self.compute + self.write


@dataclass(frozen=True)
class Cluster:
    """Workers and shared resources."""

    workers: int
    cores: int  # of all workers together
    per_task: float = 0.0  # seconds of scheduler and client per task, sequential
    bandwidth: float = float("inf")  # bytes per second of the shared store
    start: float = 0.0  # seconds to start the workers, once


@dataclass(frozen=True)
class Prediction:
    """Time, share of it that the workers are busy, and the limiting resource."""

    seconds: float
    share: float
    limit: str


def predict(stages: Sequence[Stage], cluster: Cluster, *, client: float) -> Prediction:
    """Predict the time of consecutive stages, plus `client` seconds of the client alone."""
    limits = [_limits(stage, cluster) for stage in stages]
    seconds = client + cluster.start * crowding(cluster) + sum(max(each.values()) for each in limits)
    longest = max(limits, key=lambda each: max(each.values()))
    busy = sum(stage.tasks * stage.seconds for stage in stages) * crowding(cluster)
    return Prediction(seconds, busy / (cluster.workers * seconds), max(longest, key=lambda k: longest[k]))


def crowding(cluster: Cluster) -> float:
    """Return the factor by which tasks slow down if workers share cores."""
    return max(1.0, cluster.workers / cluster.cores)


def _limits(stage: Stage, cluster: Cluster) -> dict[str, float]:
    whole, rest = divmod(stage.tasks, cluster.workers)
    # In the last round, fewer workers share the cores.
    rounds = whole * crowding(cluster) + (max(1.0, rest / cluster.cores) if rest else 0.0)
    return {
        "workers": rounds * stage.seconds,
        "scheduler": stage.tasks * cluster.per_task,
        "store": (stage.bytes_read + stage.bytes_written) / cluster.bandwidth,
    }
