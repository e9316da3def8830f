"""What calling each kind of value does."""

from collections.abc import Callable

from ddpdoctor.reader.abstract import Abstract, Attribute, Choice, External, Items, Known, Opaque, Table
from ddpdoctor.reader.attributes import class_attribute, origin_of
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.cells import choice
from ddpdoctor.reader.functions import call_function, instantiate
from ddpdoctor.reader.given import whose
from ddpdoctor.reader.library import called_model, function_model, method_model, reports
from ddpdoctor.reader.library.collectives import make_whole
from ddpdoctor.reader.library.kinds import DDP_WRAPPERS, is_local, is_module
from ddpdoctor.reader.library.modules import call_module, entered, goes_around, tagged, wrapped_by
from ddpdoctor.reader.library.own_batches import cut_by_hand, drawn_by_hand
from ddpdoctor.reader.library.training import is_optimizer, own_step
from ddpdoctor.reader.names import asked
from ddpdoctor.reader.objects import Bound, Class, Function, Made, Object, Partial, Super
from ddpdoctor.reader.settings import Settings
from ddpdoctor.reader.tags import Tags, measures, put_together
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Walk


def call_value(walk: Walk, callee: Abstract, call: Call) -> Abstract:
    """Return what calling a value gives."""
    caller = _CALLERS.get(type(callee))
    return unknown_call(walk, text(callee), callee, call) if caller is None else caller(walk, callee, call)


def _function(walk: Walk, callee: Function, call: Call) -> Abstract:
    return drawn_by_hand(walk, callee, call_function(walk, callee, call), call)


def _bound(walk: Walk, callee: Bound, call: Call) -> Abstract:
    receiver = callee.receiver
    bound = call.with_first(receiver)
    if isinstance(receiver, Object) and walk.in_forward == 0 and is_module(receiver) and wrapped_by(walk, receiver):
        return entered(walk, receiver, call, lambda: call_function(walk, callee.function, bound))
    if callee.function.name == "step" and isinstance(receiver, Object) and is_optimizer(receiver):
        return own_step(walk, receiver, call, lambda: call_function(walk, callee.function, bound))
    return cut_by_hand(walk, callee, call_function(walk, callee.function, bound), call)


def _partial(walk: Walk, callee: Partial, call: Call) -> Abstract:
    merged = call._replace(args=callee.args + call.args, kwargs={**callee.kwargs, **call.kwargs})
    return call_value(walk, callee.function, merged)


def _class(walk: Walk, callee: Class, call: Call) -> Abstract:
    return instantiate(walk, callee, call)


def _choice(walk: Walk, callee: Choice, call: Call) -> Abstract:
    """Call each of several possible functions under its condition.

    What may be a model in its wrapper is that model without: unknown as it is, its forward asks no other rank.
    """
    before, found = walk.path, []
    wrapped = any(isinstance(option, Made) and option.path in DDP_WRAPPERS for _, option in callee.options)
    for condition, option in callee.options:
        both = walk.assuming_also(condition)
        if both is None or isinstance(option, Known):
            continue
        walk.path = both
        bare = wrapped and isinstance(option, (Opaque, Made)) and not is_module(option)
        walk.in_forward += bare
        found.append((condition, call_value(walk, option, call)))
        walk.in_forward -= bare
        walk.path = before
    return choice(found) if found else Opaque(f"{text(callee)}()")


def _external(walk: Walk, callee: External, call: Call) -> Abstract:
    call = call._replace(path=callee.path)
    reports.of_function(walk, call)
    model = function_model(callee.path)
    found = model(walk, call) if model is not None else None
    if found is not None:
        return found
    told = None if call.given() else asked(walk, call.path.rpartition(".")[2], call.node)
    if told is not None:
        return told
    walk.unfollowed(call.path, call.given(), call.node)
    if call.path.startswith("torch.distributed."):
        for value in call.given():
            make_whole(value, "unknown")
    made = walk.make(call)
    if made.tags and not walk.in_forward and not is_local(call.path):  # a model's forward asks no other rank
        made.tags = _computed(walk, call.path, made.tags)
    return made


def _attribute(walk: Walk, callee: Attribute, call: Call) -> Abstract:
    receiver = callee.receiver
    if isinstance(receiver, Super):
        return _through_super(walk, receiver, callee.name, call)
    if isinstance(receiver, Class) and callee.name == "apply":
        forward = class_attribute(walk, receiver, "forward")
        if isinstance(forward, Function) and any(base.endswith("Function") for base in receiver.external_bases()):
            return call_function(walk, forward, call.with_first(Opaque("ctx")))
    made = receiver.inner if isinstance(receiver, Object) else receiver
    path = made.path if isinstance(made, Made) else ""
    call = call._replace(path=f"{path}.{callee.name}", receiver=receiver)
    reports.of_method(walk, call, callee.name)
    model = method_model(path, callee.name)
    found = model(walk, call) if model is not None else None
    if found is not None:
        return found
    if isinstance(receiver, Class) and callee.name == "__init__" and call.args and isinstance(call.args[0], Object):
        base_called(walk, call.args[0], call._replace(args=call.args[1:]))
        return Known(None)
    result = unknown_call(walk, f"{text(receiver)}.{callee.name}", receiver, call)
    return tagged(result, goes_around(walk, receiver, call)) if isinstance(receiver, Made) else result


def _through_super(walk: Walk, receiver: Super, name: str, call: Call) -> Abstract:
    """Call a method of a base outside the project through ``super()``."""
    target = receiver.receiver
    if name == "__init__" and isinstance(target, Object):
        base_called(walk, target, call)
        return Known(None)
    if isinstance(target, Object) and name != "__new__":
        if name == "__iter__" and target.inner is not None:
            return target.inner
        path = target.inner.path if isinstance(target.inner, Made) else ""
        model = method_model(path, name)
        found = model(walk, call._replace(path=f"{path}.{name}", receiver=target)) if model is not None else None
        if found is not None:
            return found
    return Opaque(f"super().{name}()", call.flow() | target.tags)


def base_called(walk: Walk, made: Object, call: Call) -> None:
    """Run the constructor of the base outside the project that an object has: a loader, a sampler, a wrapper …"""
    for path in made.cls.external_bases():
        model = function_model(path)
        if model is not None:
            inner = model(walk, call._replace(path=path, instance=made))
            if isinstance(inner, Made):
                made.inner = inner
                made.tags |= inner.tags
            elif isinstance(inner, Table):
                _fill(made, inner, call)
            return


def _fill(made: Object, table: Table, call: Call) -> None:
    """Give a dictionary of the project's own its items, which it often has as attributes too."""
    if call.args and isinstance(call.args[0], Settings):
        made.inner = call.args[0]
        return
    for key, cell in table.cells.items():
        made.attributes.setdefault(key, list(cell))


def _object(walk: Walk, callee: Object, call: Call) -> Abstract:
    method = class_attribute(walk, callee.cls, "__call__")
    if isinstance(method, Function):
        return call_function(walk, method, call.with_first(callee))
    if is_module(callee):
        return call_module(walk, callee, call)
    if isinstance(callee.inner, Made):
        return _made(walk, callee.inner, call)
    return unknown_call(walk, text(callee), callee, call)


def _made(walk: Walk, callee: Made, call: Call) -> Abstract:
    call = call._replace(path=callee.path, receiver=callee)
    model = called_model(callee.path)
    found = model(walk, call) if model is not None else None
    if found is not None:
        return found
    if is_module(callee):
        return call_module(walk, callee, call)
    return unknown_call(walk, text(callee), callee, call)


def unknown_call(walk: Walk, name: str, receiver: Abstract, call: Call) -> Abstract:
    """Return the result of a call that is not followed: unknown, touched by all that went in."""
    told = None if call.given() else asked(walk, name.rpartition(".")[2], call.node)
    if told is not None:
        return told
    walk.unfollowed(name, call.given(), call.node)
    if name.rpartition(".")[2] in MUTATORS:
        for value in call.given():
            if isinstance(value, (Items, Table)):
                value.open = True
        if isinstance(receiver, Made) and receiver.path == "builtins.list":
            receiver.tags |= frozenset().union(*map(whose, call.given()))
    flow = call.flow()
    own = measures(flow)
    if own and isinstance(receiver, (Made, Opaque)) and name.endswith("_"):
        receiver.tags |= own  # ``hits.add_(…)``
    elif own and not walk.in_forward and not measures(receiver.tags) and not _computes_alone(receiver):
        flow = _computed(walk, name, flow)
    return Opaque(f"{name}()", receiver.tags | flow, origin=origin_of(receiver))


def _computed(walk: Walk, name: str, flow: Tags) -> Tags:
    """Return what flows through something that is not followed: other ranks' numbers may come in.

    Not where a backward pass went through its result: DDP averages the gradients of losses that are each one rank's.
    """
    if name in walk.losses:
        return flow
    together = put_together(flow)
    asks = any(word in name.lower() for word in ASKING)
    return together if together is flow or asks else together | {("computed", name)}


ASKING = ("gather", "reduce", "sync", "dist", "all_", "average")
"""What is in the names of functions that may ask other ranks, and pass gradients through to them."""


def _computes_alone(receiver: Abstract) -> bool:
    """Whether a method of a value surely asks no other rank: one of a text, a tensor, or what numpy made."""
    return isinstance(receiver, (Known, Items, Table)) or (isinstance(receiver, Made) and is_local(receiver.path))


MUTATORS = frozenset({"update", "extend", "append", "fill", "shuffle"})

_CALLERS: dict[type[Abstract], Callable[[Walk, "Abstract", Call], Abstract]] = {
    Function: _function,  # type: ignore[dict-item]
    Bound: _bound,  # type: ignore[dict-item]
    Partial: _partial,  # type: ignore[dict-item]
    Class: _class,  # type: ignore[dict-item]
    Choice: _choice,  # type: ignore[dict-item]
    External: _external,  # type: ignore[dict-item]
    Attribute: _attribute,  # type: ignore[dict-item]
    Object: _object,  # type: ignore[dict-item]
    Made: _made,  # type: ignore[dict-item]
}
