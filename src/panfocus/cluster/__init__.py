"""Work on the machines of a Dask cluster: the little that is needed of it, loaded when it is used."""

from panfocus.cluster.connection import Cluster, connect, connected
from panfocus.cluster.on_worker import LeftToLargerError, memory_of_task

__all__ = ["Cluster", "LeftToLargerError", "connect", "connected", "memory_of_task"]
