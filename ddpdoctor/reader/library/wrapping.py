"""Wrapping a model for data-parallel training, and what is done to it afterwards."""

import ast
from collections.abc import Callable
from typing import Any

from ddpdoctor.events import DATA_PARALLEL, ModelWrapped, StateLoaded, SyncBatchNormConverted
from ddpdoctor.reader.abstract import NONE, Abstract, Attribute, Items, Opaque, known, options
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.library.buffers import has_buffers
from ddpdoctor.reader.library.devices import use_device
from ddpdoctor.reader.library.idle import idle_parts
from ddpdoctor.reader.library.kinds import BATCH_NORMS, DDP_WRAPPERS, WRAPPERS
from ddpdoctor.reader.library.modules import wrapped_by
from ddpdoctor.reader.library.norms import mark_converted, unconverted_norms
from ddpdoctor.reader.library.parts import around, made_on_the_cpu, parts_of, sync_batch_norm_in
from ddpdoctor.reader.library.unshown import may_leave_parts_out
from ddpdoctor.reader.lowering import lower
from ddpdoctor.reader.objects import Made, Object
from ddpdoctor.reader.stored import loads_in
from ddpdoctor.reader.tags import NO_TAGS
from ddpdoctor.reader.trees import last_name, nodes_of
from ddpdoctor.reader.walk import Walk

_DDP_ARGUMENTS = ("module", "device_ids", "output_device", "dim", "broadcast_buffers", "process_group")


def _wrap(walk: Walk, call: Call) -> Abstract | None:
    model = call.argument("module", 0)
    if model is None:
        return None
    wrapper = walk.make(call, NO_TAGS)
    model = wrapper.inner = _stand_in(walk, model, call)
    given = {name: value for i, name in enumerate(_DDP_ARGUMENTS) if (value := call.argument(name, i)) is not None}
    given.update(call.kwargs)
    given.pop("module", None)
    if call.path in WRAPPERS:
        _use_devices(walk, given.get("device_ids"), call)
        kept = call.path in DDP_WRAPPERS and not _converts_by_a_setting(call)
        norms = tuple(unconverted_norms(walk, model)) if kept else ()
        walk.emit(
            ModelWrapped,
            call.node,
            wrapper=wrapper.ref,
            model=lower(model),
            how=call.path,
            options={name: lower(value) for name, value in given.items()},
            norms=norms,
            **_seen_in(walk, model) if call.path in DDP_WRAPPERS else {},
        )
    for when, option in options(model):
        here = walk.assuming_also(when)
        if here is not None and isinstance(option, (Made, Object)):
            option.wrappers.append((here, wrapper))
            walk.heard.clear()
            walk.layouts.setdefault(wrapper.ref, set()).update(walk.layouts.get(option.ref, ()))
    return wrapper


def _converts_by_a_setting(call: Call) -> bool:
    """Whether the function that wraps a model converts it first where a setting says so: ``if cfg.sync_bn: …``.

    That is an option too where a class of the project holds the settings, and the user writes the values there.
    """
    function = call.frame.function
    tests = [node for node in nodes_of(function.node) if isinstance(node, ast.If)] if function is not None else []
    return any(
        any(isinstance(part, (ast.Attribute, ast.Subscript)) for part in nodes_of(node.test))
        and any(last_name(part) in ("convert_sync_batchnorm", "convert_syncbn_model") for part in nodes_of(*node.body))
        for node in tests
    )


def _data_parallel(walk: Walk, call: Call) -> Abstract | None:
    """``data_parallel(module, inputs)``: the module's forward, on several GPUs of this process."""
    module = call.argument("module", 0)
    if module is None:
        return None
    wrapper = walk.make(call, NO_TAGS, DATA_PARALLEL)
    walk.emit(ModelWrapped, call.node, wrapper=wrapper.ref, model=lower(module), how=DATA_PARALLEL, options={})
    given = call.argument("inputs", 1)
    inputs = given.items if isinstance(given, Items) and given.kind == "tuple" else [given] if given else []
    return walk.call_with(module, *inputs, node=call.node)


def _seen_in(walk: Walk, model: Abstract) -> dict[str, Any]:
    """Return what the source shows of the parts of a model that is wrapped."""
    parts = tuple(parts_of(model))
    synced = sync_batch_norm_in(walk, parts)
    return {
        "buffers": has_buffers(parts),
        "synced": None if synced is None else synced.ref.place,
        "idle": tuple(idle_parts(walk, parts)),
        "unshown": may_leave_parts_out(parts),
        "parts": tuple(part.ref for part in parts),
        "inside": around(model),
        "on_cpu": made_on_the_cpu(walk, parts),
    }


def _stand_in(walk: Walk, model: Abstract, call: Call) -> Abstract:
    """Return the model that is wrapped; one that is not known becomes an object, so that ``.module`` is it again."""
    if all(isinstance(option, (Opaque, Attribute)) for _, option in options(model)):
        if loads_in(model):
            walk.emit(StateLoaded, call.node, into=lower(NONE), read=loads_in(model))
        return walk.make(call, NO_TAGS, "torch.nn.Module")
    return model


def _use_devices(walk: Walk, devices: Abstract | None, call: Call) -> None:
    before = walk.path
    for when, option in options(devices or NONE):
        here = walk.assuming_also(when)
        if here is not None and isinstance(option, Items) and option.items:
            walk.path = here
            use_device(walk, option.items[0], "DistributedDataParallel", call.node)
        walk.path = before


def _module_of(walk: Walk, value: Made, name: str, node: ast.AST) -> Abstract | None:
    if name in ("module", "_fsdp_wrapped_module"):
        return value.inner or Opaque("module")
    return None


def _convert(walk: Walk, call: Call) -> Abstract | None:
    model = call.argument("module", 0)
    if model is None:
        return None
    singles = [option for when, option in options(model) if walk.assuming_also(when) is not None]
    wrapped = any((isinstance(one, Made) and one.path in DDP_WRAPPERS) or _wrapped_in_ddp(walk, one) for one in singles)
    root = any(isinstance(one, Made) and one.path in BATCH_NORMS for one in singles)
    kept = call.node is not walk.discarded
    walk.emit(SyncBatchNormConverted, call.node, model=lower(model), wrapped=wrapped, kept=kept, root=root)
    if not root or kept:
        mark_converted(walk, model)
    if all(isinstance(one, (Made, Object)) for one in singles):
        return model
    return Opaque(f"converted {lower(model).text()}", model.tags)


def _wrapped_in_ddp(walk: Walk, value: Abstract) -> bool:
    """Whether DDP holds a model already on this very path: a wrap that another branch makes does not count."""
    return any(wrapper.path in DDP_WRAPPERS for wrapper in wrapped_by(walk, value))


def _named_block(kind: str) -> Callable[[Walk, Abstract, ast.AST], tuple[str, Abstract]]:
    def model(walk: Walk, manager: Abstract, node: ast.AST) -> tuple[str, Abstract]:
        return kind, manager

    return model


def _grad_mode(walk: Walk, manager: Abstract, node: ast.AST) -> tuple[str, Abstract] | None:
    enabled = known(manager.argument("mode", 0)) if isinstance(manager, Made) else None
    return ("no_grad", manager) if enabled is False else None


FUNCTIONS = {
    **dict.fromkeys(WRAPPERS, _wrap),
    "torch.nn.parallel.data_parallel": _data_parallel,
    "torch.nn.SyncBatchNorm.convert_sync_batchnorm": _convert,
    "torch.nn.SyncBatchNorm.convert_sync_batch_norm": _convert,
    "apex.parallel.convert_syncbn_model": _convert,
}
ATTRIBUTES = dict.fromkeys(WRAPPERS, _module_of)
CONTEXTS = {
    "torch.no_grad": _named_block("no_grad"),
    "torch.inference_mode": _named_block("no_grad"),
    "torch.autograd.no_grad": _named_block("no_grad"),
    "torch.set_grad_enabled": _grad_mode,
    "torch.autograd.set_grad_enabled": _grad_mode,
    "torch.distributed.algorithms.Join": _named_block("join"),
    "torch.distributed.algorithms.join.Join": _named_block("join"),
    "torch.autocast": _named_block("autocast"),
    "torch.amp.autocast": _named_block("autocast"),
    "torch.cuda.amp.autocast": _named_block("autocast"),
}
