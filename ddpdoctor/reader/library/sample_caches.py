"""Files that drawing a sample makes where they are missing: a spectrogram beside its recording, say."""

import ast

from ddpdoctor.events import Event, FileUsed, SampleCached, Within
from ddpdoctor.reader.abstract import NONE, Abstract, Opaque, options
from ddpdoctor.reader.attributes import class_attribute
from ddpdoctor.reader.functions import run_body
from ddpdoctor.reader.objects import Bound, Class, Function, Generator, Made, Object
from ddpdoctor.reader.trees import nodes_of
from ddpdoctor.reader.walk import Walk
from ddpdoctor.value import Ref

MAX_DEPTH = 3
MAX_STEPS = 2_000
"""How far a method is interpreted: what draws one sample is short."""
WRITERS = frozenset({"save", "dump", "savez", "savez_compressed", "imwrite", "write_bytes", "to_pickle", "to_parquet"})
"""What the code of a class has to name, for what draws a sample to be asked whether it makes files."""
DRAWING = ("__getitem__", "__getitems__", "__iter__")


def look_for_sample_caches(walk: Walk, node: ast.AST, loader: Ref, dataset: Abstract, depth: int = 0) -> None:
    """Record the files that a loader's data set makes sample by sample and reads where they are there."""
    for _, option in options(dataset) if depth <= MAX_DEPTH else ():
        if isinstance(option, Object) and _names_a_writer(option.cls):
            for name in DRAWING:
                method = class_attribute(walk, option.cls, name)
                if isinstance(method, Function):
                    _record(walk, node, loader, _run(walk, node, Bound(method, option)))
                    break
        elif isinstance(option, Made) and option.path.startswith("torch.utils.data."):
            for part in option.args[:1]:
                look_for_sample_caches(walk, node, loader, part, depth + 1)


def _names_a_writer(cls: Class) -> bool:
    return any(
        isinstance(node, ast.Attribute) and node.attr in WRITERS
        for one in cls.resolution()
        for node in nodes_of(one.node)
    )


def _run(walk: Walk, node: ast.AST, method: Bound) -> list[FileUsed]:
    """Interpret a method aside, as a worker runs it, and return what it does with files."""
    happened: list[Event] = []
    with walk.aside(MAX_STEPS), walk.inside(Within("worker", walk.place(node))):
        begun = len(walk.events)
        try:
            walk.loops = ()
            result = walk.call_with(method, Opaque("sample"), node=node)
            if isinstance(result, Generator):
                run_body(walk, result.function, result.call, lambda _: NONE)
        finally:
            happened = walk.events[begun:]
    return [event for event in happened if isinstance(event, FileUsed)]


def _record(walk: Walk, node: ast.AST, loader: Ref, used: list[FileUsed]) -> None:
    told = set()
    for event in used:
        name = event.path.text()
        if event.op not in ("save", "write") or name in told or not _is_read_too(event, used):
            continue
        missing = any(one.atom.text == f"{name} exists" and not one.holds for one in event.when)
        if missing or event.is_within("except"):
            told.add(name)
            before, here = walk.path, walk.assuming_also(event.when)
            if here is not None:
                walk.path = here
                walk.emit(SampleCached, node, place=event.place, loader=loader, path=event.path)
                walk.path = before


def _is_read_too(written: FileUsed, used: list[FileUsed]) -> bool:
    return any(one.op == "load" and one.path.text() == written.path.text() for one in used)
