"""Import statements, and looking names up in the project's modules."""

import ast

from ddpdoctor.atom import ALWAYS
from ddpdoctor.reader.abstract import Abstract, Choice, External
from ddpdoctor.reader.cells import choice, read, write
from ddpdoctor.reader.frame import Frame
from ddpdoctor.reader.module import Module
from ddpdoctor.reader.objects import Import, Package
from ddpdoctor.reader.paths import canonical, exported
from ddpdoctor.reader.syntax import counted_attributes
from ddpdoctor.reader.walk import Walk


def run_import(walk: Walk, node: ast.Import, frame: Frame) -> None:
    """``import a.b, c as d``."""
    for alias in node.names:
        module = _find(walk, alias.name, node)
        if alias.asname:
            _bind(walk, frame, alias.asname, Package(module) if module else External(canonical(alias.name)))
        else:
            top = alias.name.partition(".")[0]
            first = walk.project.find(top)
            _bind(walk, frame, top, Package(first) if first else External(top))


def run_import_from(walk: Walk, node: ast.ImportFrom, frame: Frame) -> None:
    """``from a import b as c``, relative ones and ``*`` too."""
    name = node.module
    if node.level:
        name = walk.project.absolute(frame.module, node.level, node.module)
    module = _find(walk, name, node) if name else None
    for alias in node.names:
        if alias.name == "*":
            frame.module.stars.append(module or canonical(name or ""))
            continue
        bound = alias.asname or alias.name
        submodule = None
        if module is None or module.is_package:
            submodule = (
                walk.project.find(f"{name}.{alias.name}" if name else alias.name) if module or node.level else None
            )
        if module is not None:
            _bind(walk, frame, bound, Import(module, alias.name, submodule))
        elif submodule is not None:
            _bind(walk, frame, bound, Package(submodule))
        else:
            _bind(walk, frame, bound, External(canonical(f"{name}.{alias.name}" if name else alias.name)))


def _bind(walk: Walk, frame: Frame, name: str, value: Abstract) -> None:
    cells = frame.module.cells if name in frame.globals else frame.cells
    write(cells, name, walk.path, value)


def _find(walk: Walk, name: str, node: ast.AST) -> Module | None:
    """Return a module of the project and interpret it now if its import has effects that matter."""
    module = walk.project.find(name)
    if module is not None and module.state == "new" and module.has_effects():
        with walk.calling(node, walk.file):
            walk.load(module)
    return module


def resolved(walk: Walk, value: Abstract) -> Abstract:
    """Return what an imported name stands for, looked up now if it was not yet."""
    if isinstance(value, Import):
        found = search_module(walk, value.module, value.name)
        if found is not None:
            return found
        if value.submodule is not None:
            return Package(value.submodule)
        return External(f"{value.module.name}.{value.name}")
    if isinstance(value, Choice) and any(isinstance(option, Import) for _, option in value.options):
        return choice((condition, resolved(walk, option)) for condition, option in value.options)
    return value


def search_module(walk: Walk, module: Module, name: str) -> Abstract | None:
    """Return the value of a name at a module's top level, its star imports included, or ``None``.

    Modules that import each other in a circle are asked once for a name.
    """
    walk.load(module)
    if (module, name) in walk.searched:
        return None
    walk.searched.add((module, name))
    try:
        cell = module.cells.get(name)
        found = None if cell is None else resolved(walk, read(cell, walk.path))
        return found if found is not None else _search_stars(walk, module, name)
    finally:
        walk.searched.discard((module, name))


def _search_stars(walk: Walk, module: Module, name: str) -> Abstract | None:
    for star in reversed(module.stars):
        if isinstance(star, Module):
            found = None if name.startswith("_") else search_module(walk, star, name)
            if found is not None:
                return found
        elif exported(star, name):
            return External(canonical(f"{star}.{name}"))
    return None


def module_attribute(walk: Walk, module: Module, name: str) -> Abstract:
    """Return an attribute of a module of the project: a name of its own, else a submodule."""
    found = search_module(walk, module, name)
    if found is not None:
        return found
    submodule = walk.project.find(f"{module.name}.{name}") if module.is_package else None
    return Package(submodule) if submodule else External(f"{module.name}.{name}")


def load_module(walk: Walk, module: Module) -> None:
    """Interpret a module's top level, once, as Python does when it is imported: under no condition, in no loop."""
    if module.state != "new":
        return
    module.state = "running"
    fault = module.parse()
    if fault is not None:
        walk.fail(fault)
        module.state = "done"
        return
    assert module.source is not None
    tree = module.source.tree
    frame = Frame(module, module.cells)
    walk.holders.append(frame)
    saved = walk.file, walk.path, walk.loops, walk.within, walk.dead, walk.in_wrapper, walk.in_forward
    walk.file, walk.loops, walk.within, walk.dead, walk.in_wrapper, walk.in_forward = module.file, (), (), False, 0, 0
    walk.path = ALWAYS
    walk.frames.append(frame)
    try:
        if tree is not None:
            module.widened = counted_attributes(module.source.text)
            walk.run(tree.body, frame)
    finally:
        walk.frames.pop()
        walk.file, walk.path, walk.loops, walk.within, walk.dead, walk.in_wrapper, walk.in_forward = saved
        module.state = "done"
