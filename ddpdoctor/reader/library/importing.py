"""Modules that are imported by a name: ``import_module``, ``__import__``."""

from ddpdoctor.reader.abstract import NONE, Abstract, Choice, External, Known, Opaque, is_none, known
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.chosen import under_the_first
from ddpdoctor.reader.formulas import by_default
from ddpdoctor.reader.module import Module
from ddpdoctor.reader.objects import Package
from ddpdoctor.reader.settings import Setting
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Walk

MAX_IMPORTED = 40
"""How many modules of a package are imported where a name that is not known says which."""
MAX_CHOSEN = 12
"""Of so many modules each can be the one that is named."""


def _import_module(walk: Walk, call: Call) -> Abstract | None:
    """``import_module(name)``; of a name whose last part is not known, every module of the package is imported.

    That is how packages have their registries filled. What is done with the one that is named is done with each, under
    the test that it is; what an option's default names is the one.
    """
    given = call.argument("name", 0) or NONE
    package = known(call.argument("package", 1))
    name = known(by_default(given))
    of_files = isinstance(given, Opaque) and any(isinstance(part, Setting) for part in given.parts)
    if not isinstance(name, str) or name.endswith(".") or of_files:  # the option can be empty by default
        modules = _all_named(walk, given, package)
        for module in modules:
            walk.load(module)
        if modules and len(modules) <= MAX_CHOSEN:
            return _one_of(walk, modules, given)
        if not isinstance(name, str) or name.endswith("."):
            return None
    if name.startswith(".") and isinstance(package, str):
        name = f"{package}{name}"
    found = walk.project.find(name)
    return Package(found) if found is not None else External(name)


def _all_named(walk: Walk, name: Abstract, package: object) -> list[Module]:
    """Return the modules of the package in which a name that is put together, ``f"models.{name}"``, can be found."""
    first = known(name.parts[0]) if isinstance(name, Opaque) and 1 < len(name.parts) < 4 else None
    if not isinstance(first, str) or not first.endswith("."):
        return []
    whole = f"{package}{first}" if first.startswith(".") and isinstance(package, str) else first
    holder = walk.project.find(whole[:-1])
    if holder is None:
        return []
    modules = walk.project.submodules(holder, _ending(name) if _ending(name).startswith(".") else "")
    return [module for module in modules if module.name.endswith(_ending(name))][:MAX_IMPORTED]


def _ending(name: Abstract) -> str:
    """Return what comes after the part that is not known: ``f"models.{name}_model"``, ``f"tasks.{name}.train"``."""
    last = known(name.parts[2]) if isinstance(name, Opaque) and len(name.parts) > 2 else ""
    return last if isinstance(last, str) else "?"


def _one_of(walk: Walk, modules: list[Module], name: Abstract) -> Abstract:
    assert isinstance(name, Opaque)
    last = name.parts[1]
    usual = known(by_default(last))
    tests = []
    for module in modules:
        own = module.name.removesuffix(_ending(name)).rpartition(".")[2]
        by_option = own == usual if isinstance(usual, str) else None
        named = walk.literal(f"{text(last)} == {own!r}", "configuration", by_default=by_option)
        tests.append((named, Package(module)))
    found = under_the_first(walk, tests)
    return Choice(tuple(found)) if found else NONE


def _import_by_name(walk: Walk, call: Call) -> Abstract | None:
    """``__import__("a.b", fromlist=["x"])`` is ``a.b``; without ``fromlist`` it is ``a``."""
    inner = call._replace(args=call.args[:1], kwargs={})
    listed = call.argument("fromlist", 3)
    name = known(call.argument("name", 0))
    if not is_none(listed) and not (isinstance(listed, Known) and not listed.value):
        return _import_module(walk, inner)
    return (
        _import_module(walk, inner._replace(args=(Known(name.partition(".")[0]),))) if isinstance(name, str) else None
    )


FUNCTIONS = {"importlib.import_module": _import_module, "builtins.__import__": _import_by_name}
