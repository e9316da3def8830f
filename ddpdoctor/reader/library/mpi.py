"""MPI beside or in the place of torch.distributed: its ranks and collectives."""

from ddpdoctor.events import Collective
from ddpdoctor.reader.abstract import (
    Abstract,
    Opaque,
)
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.library.collectives import uniform, way_of
from ddpdoctor.reader.library.groups import leaf_of
from ddpdoctor.reader.walk import Walk


def _rank() -> Abstract:
    return leaf_of("MPI rank", "rank", rank=True)


def _size() -> Abstract:
    return leaf_of("MPI size", "world_size", rank=False)


def _get_rank(walk: Walk, call: Call) -> Abstract:
    return _rank()


def _get_size(walk: Walk, call: Call) -> Abstract:
    return _size()


_COMMUNICATORS = ("mpi4py.MPI.COMM_WORLD",)


_MPI_COLLECTIVES = [
    "barrier",
    "Barrier",
    "bcast",
    "Bcast",
    "allreduce",
    "Allreduce",
    "allgather",
    "Allgather",
    "gather",
    "Gather",
    "reduce",
    "Reduce",
    "scatter",
    "Scatter",
]


def _mpi_collective(walk: Walk, call: Call) -> Abstract:
    """A collective of MPI: every rank has to call it as well, and gets the same."""
    walk.emit(Collective, call.node, op=f"MPI {call.path.rpartition('.')[2]}")
    return Opaque(call.path, uniform(call.flow(), way_of(call.path)))


FUNCTIONS = {
    **{f"{name}.Get_rank": _get_rank for name in _COMMUNICATORS},
    **{f"{name}.Get_size": _get_size for name in _COMMUNICATORS},
    **{f"{name}.{op}": _mpi_collective for name in _COMMUNICATORS for op in _MPI_COLLECTIVES},
}
VALUES = {
    **{f"{name}.rank": _rank for name in _COMMUNICATORS},
    **{f"{name}.size": _size for name in _COMMUNICATORS},
}
