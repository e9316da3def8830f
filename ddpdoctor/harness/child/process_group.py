"""Observes the process group: its beginning, its end, further groups, and the collectives of all of them."""

import inspect
from types import ModuleType
from typing import Any

from ddpdoctor.events import MEETING, GroupDestroyed, GroupInit
from ddpdoctor.harness.child import collectives, group_wrapper
from ddpdoctor.harness.child.observer import Observer
from ddpdoctor.harness.child.passing import through
from ddpdoctor.harness.child.patches import modules_of
from ddpdoctor.value import Constant, Group, Value


def install(observer: Observer, torch: ModuleType) -> None:
    """Observe ``torch.distributed``, where this build of torch has it."""
    if not torch.distributed.is_available():
        observer.recorder.cut("collectives", "this build of torch has no torch.distributed")
        return
    c10d, public = torch.distributed.distributed_c10d, torch.distributed
    group_wrapper.install(observer, torch)
    groups = Groups(observer, c10d)
    within = modules_of(public)  # device_mesh makes its groups by the new_group that it has imported by name
    observer.patches.wrap(c10d, "init_process_group", groups.initialised, also=within)
    observer.patches.wrap(c10d, "destroy_process_group", groups.destroyed, also=within)
    observer.patches.wrap(c10d, "new_group", groups.added, also=within)
    if hasattr(c10d, "split_group"):  # torch 2.5
        observer.patches.wrap(c10d, "split_group", groups.added, also=within)
    observer.patches.wrap(c10d, "monitored_barrier", groups.met, also=within)


class _Meeting:
    """The rendezvous of all ranks, which is waited for as a collective's work is."""

    over = False

    def is_completed(self) -> bool:
        return self.over


class Groups:
    """The process groups of this process."""

    def __init__(self, observer: Observer, c10d: Any) -> None:
        self._observer = observer
        self._c10d = c10d

    def initialised(self, original: Any) -> Any:
        """Make the replacement of ``init_process_group``."""
        signature = inspect.signature(original)

        def init_process_group(*args: Any, **kwargs: Any) -> Any:
            observer, recorder = self._observer, self._observer.recorder
            try:
                given = signature.bind_partial(*args, **kwargs).arguments
            except TypeError:
                given = {}
            asked = _words(given.get("backend"))
            rank = _own_rank(given)
            if rank is not None:
                recorder.rank = rank
            recorder.write(
                GroupInit,
                backend=Constant(value=asked),
                init_method=_constant(given.get("init_method")),
                group_rank=_constant(given.get("rank")),
                world_size=_constant(given.get("world_size")),
                device=_constant(getattr(given.get("device_id"), "index", given.get("device_id"))),
            )
            if asked is None or "nccl" in asked:
                observer.devices.touched("torch.distributed.init_process_group")
            observer.asked_backend = asked
            observer.doing = "waiting for the other ranks in init_process_group"
            meeting = _Meeting()
            observer.collectives.under_way(observer.collectives.begin(MEETING, [], None), meeting)
            try:
                result = through(original, *args, **kwargs)
            finally:
                meeting.over = True
            recorder.rank = self._c10d.get_rank()
            self._watch(self._c10d._get_default_group(), None)
            observer.doing = "running the script"
            return result

        return init_process_group

    def destroyed(self, original: Any) -> Any:
        """Make the replacement of ``destroy_process_group``."""

        def destroy_process_group(*args: Any, **kwargs: Any) -> Any:
            group = args[0] if args else kwargs.get("group")
            whole = group is None or group is self._c10d.GroupMember.WORLD
            if self._observer.trial is not None:
                return self._observer.trial.destroyed(whole=whole)
            if whole and self._c10d.is_initialized():
                self._observer.recorder.write(GroupDestroyed)
                self._observer.collectives.begin_anew()
            return through(original, *args, **kwargs)

        return destroy_process_group

    def added(self, original: Any) -> Any:
        """Make the replacement of a function that returns a further group."""

        def new_group(*args: Any, **kwargs: Any) -> Any:
            group = through(original, *args, **kwargs)
            if isinstance(group, self._c10d.ProcessGroup):
                self._watch(group, self._known(group))
            else:
                self._observer.objects.made_elsewhere()
            return group

        return new_group

    def met(self, original: Any) -> Any:
        """Make the replacement of ``monitored_barrier``, which the hooks of a group do not see."""

        def monitored_barrier(*args: Any, **kwargs: Any) -> Any:
            group = args[0] if args else kwargs.get("group")
            whole = group in (None, self._c10d.GroupMember.WORLD)
            if whole or self._observer.objects.ref(group) is not None:
                self._observer.collectives.begin("monitored_barrier", [], None if whole else self._known(group))
            return through(original, *args, **kwargs)

        return monitored_barrier

    def _known(self, group: Any) -> Group:
        """Return what events carry for a further group, which this process is a member of."""
        ref = self._observer.objects.made(group)
        name, ranks = self._c10d._get_process_group_name(group), self._c10d.get_process_group_ranks(group)
        return Group(**ref.__dict__, name=str(name), ranks=tuple(ranks))

    def _watch(self, group: Any, value: Value | None) -> None:
        log = self._observer.collectives
        if not collectives.watch(group, log, value) and not group_wrapper.watch(group, value):
            self._observer.recorder.cut("collectives", "this release of torch lets nobody see them")


def _own_rank(given: dict[str, Any]) -> int | None:
    rank = given.get("rank", -1)
    return rank if isinstance(rank, int) and rank >= 0 else None


def _words(backend: object) -> str | None:
    return None if backend is None else str(backend).lower()


def _constant(value: object) -> Value | None:
    return None if value is None else Constant(value=value if isinstance(value, (int, str)) else str(value))
