"""Work on the machines of a Dask cluster: the little that is needed of it, loaded when it is used."""

from panfocus.parallel.connection import Cluster, check_dask, connect, connected
from panfocus.parallel.on_worker import LeftToLargerError, memory_of_task

__all__ = ["Cluster", "LeftToLargerError", "check_dask", "connect", "connected", "memory_of_task"]
