"""Calls of the project's own functions and classes: binding parameters, running bodies, gathering returns."""

import ast
from collections.abc import Callable

from ddpdoctor.atom import ALWAYS
from ddpdoctor.condition import as_formula, assume, negation
from ddpdoctor.consequences import since
from ddpdoctor.events import Within
from ddpdoctor.reader.abstract import NONE, Abstract, External, Items, Opaque, Table
from ddpdoctor.reader.attributes import class_attribute
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.cells import choice, same, write
from ddpdoctor.reader.frame import Frame
from ddpdoctor.reader.met_again import Met, met_again
from ddpdoctor.reader.names import hinted
from ddpdoctor.reader.objects import Class, Function, Generator, Made, Object
from ddpdoctor.reader.settings import Setting, Settings
from ddpdoctor.reader.tags import NO_TAGS, put_together
from ddpdoctor.reader.trees import nodes_of
from ddpdoctor.reader.walk import Walk
from ddpdoctor.world import Expression

MAX_DEPTH = 40
MAX_ACTIVE = 2
"""How many calls of one function may be running: one recursion is followed, a second is not."""
MAX_VISITS = 60
"""How often one function's body is interpreted."""
MAX_NESTED, MAX_SECTIONS = 6, 400
"""How deep a function calls itself to go down into a configuration, and for how many sections and values at most."""
FEW_VISITS = 4
MAX_SPENT = 8_000
"""How many steps are spent in one function, with what it calls, before more than a few visits are enough."""
FEW_ROOT_VISITS, MAX_ROOT_SPENT = 2, 1_000
"""The same where functions are called that nothing calls, with arguments of which nothing is known."""


def call_function(walk: Walk, function: Function, call: Call) -> Abstract:
    """Return what calling a function of the project gives; a generator's body does not run yet."""
    if walk.syntax.is_generator(function.node):
        return Generator(function, call)
    if walk.in_forward and walk.tables.is_silent(walk, function, call):
        walk.called.setdefault(function.node)
        return Opaque(f"{function.name}()", call.flow())
    return _on_first_rank(walk, function, call) if function.on_first_rank else run_body(walk, function, call)


def _on_first_rank(walk: Walk, function: Function, call: Call) -> Abstract:
    """Call a function that a decorator lets run on rank 0 only; the other ranks get ``None``."""
    before = walk.path
    first = walk.literal("rank == 0", "rank", Expression("==", (Expression("rank"), Expression("constant", (0,)))))
    here, elsewhere = walk.assuming(first), walk.assuming(negation(first))
    if here is None:
        return NONE
    walk.path = here
    result = run_body(walk, function, call)
    walk.path = before
    return result if elsewhere is None else choice([(since(here, before), result), (since(elsewhere, before), NONE)])


def run_body(
    walk: Walk, function: Function, call: Call, on_yield: Callable[[Abstract], Abstract] | None = None
) -> Abstract:
    """Interpret a function's body and return what it returns, or an unknown value where a bound is reached."""
    body = function.node
    visits, active = walk.visits.get(body, 0), walk.active.get(body, 0)
    few, most = (FEW_ROOT_VISITS, MAX_ROOT_SPENT) if walk.no_entry else (FEW_VISITS, MAX_SPENT)
    counted = on_yield is None or walk.no_entry  # a generator's steps are those of its loops too
    costly = counted and walk.spent.get(body, 0) > most
    tired = visits >= (few if costly else MAX_VISITS)
    deeper = active > 0 and _goes_deeper(call)
    bounded = visits >= MAX_SECTIONS or active >= MAX_NESTED if deeper else active >= MAX_ACTIVE or tired
    if len(walk.frames) > MAX_DEPTH or bounded:
        own = [frame.receiver for frame in walk.frames if frame.function is not None and frame.function.node is body]
        given = [value for value in call.given() if not any(value is one for one in own)]  # its code is being read
        walk.unfollowed(function.name, given, call.node)
        if body in walk.met and not active:
            met_again(walk, walk.met[body], call.node, function.module.file)
        if active and call.args and (isinstance(call.args[-1], Setting) or _is_section(call.args[-1])):
            return call.args[-1]  # what goes down into a configuration by calling itself makes another form of it
        answered = walk.called.get(body)
        if answered is not None and _asks_for_nothing(call):
            return answered
        flow = call.flow()  # a model's forward asks no other rank, however many layers of one kind it has
        return Opaque(f"{function.name}()", flow if walk.in_forward else put_together(flow))
    walk.visits[body], walk.active[body] = visits + 1, active + 1
    left = walk.steps_left
    walk.called.setdefault(body)
    frame = Frame(function.module, {}, function=function, parent=function.frame, owner=function.owner)
    frame.on_yield = on_yield
    blocks = tuple(Within(kind, walk.place(call.node)) for kind in function.within)
    before, dead = walk.path, walk.dead
    walk.frames.append(frame)
    try:
        with walk.calling(call.node, function.module.file), walk.inside(*blocks):
            _bind(walk, function, frame, call)
            if isinstance(body, ast.Lambda):
                return walk.evaluate(body.body, frame)
            met = Met(walk, before)
            walk.run(body.body, frame)
            met.keep(walk, body)
            if not walk.dead:
                frame.returns.append((walk.path, NONE))
    finally:
        walk.frames.pop()
        walk.active[body] = active
        walk.spent[body] = walk.spent.get(body, 0) + left - walk.steps_left
        walk.path, walk.dead = before, dead
    result = _returned(walk, frame, function)
    if _asks_for_nothing(call):
        walk.called[body] = result
    return result


def _asks_for_nothing(call: Call) -> bool:
    """Whether a function is given nothing that its result can hang on: ``is_main_process()``, ``get_rank()``."""
    return not call.args and not call.kwargs and not call.open


def _goes_deeper(call: Call) -> bool:
    """Whether a function that calls itself goes down into a configuration: each call has a section of it."""
    if call.kwargs:
        return all(isinstance(value, Setting) or _is_section(value) for value in call.kwargs.values())
    return bool(call.args) and _is_section(call.args[-1])


def _is_section(value: Abstract) -> bool:
    """Whether a value is a part of a configuration that has parts in turn."""
    return isinstance(value, Settings) or (
        isinstance(value, Items) and bool(value.items) and all(isinstance(item, Settings) for item in value.items)
    )


def _returned(walk: Walk, frame: Frame, function: Function) -> Abstract:
    """Return a body's value; where some of its paths left the program, the caller goes on under the others only."""
    before = walk.path
    for left in frame.exits:
        rest = assume(walk.path, negation(as_formula(since(left, before))))
        if rest is None:
            walk.dead = True
        else:
            walk.path = rest
    if walk.frames and frame.exits:
        walk.frames[-1].exits += frame.exits
    if not frame.returns:
        # every path raises: the model of the program is likelier wrong than the program
        return Opaque(f"{function.name}()")
    values = [value for _, value in frame.returns]
    if all(same(value, values[0]) for value in values):
        return values[0]
    return choice((since(when, before), value) for when, value in frame.returns)


def _bind(walk: Walk, function: Function, frame: Frame, call: Call) -> None:
    """Give a function's parameters their values: arguments, defaults, or unknown ones with what their names say."""
    spec = function.node.args
    names = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
    rest = dict(call.kwargs)
    if names and function.owner is not None and call.args:
        frame.receiver = call.args[0]
    first_default = len(names) - len(function.defaults)
    for i, name in enumerate(names):
        if i < len(call.args):
            value = call.args[i]
        elif name in rest:
            value = rest.pop(name)
        elif name in function.options:
            value = function.options[name]
        elif i >= first_default:
            default = function.defaults[i - first_default]
            value = _unknown(walk, function, name, call, default) if call.open else default
        else:
            value = _unknown(walk, function, name, call)
        frame.cells[name] = [(ALWAYS, value)]
    for arg, default_value in zip(spec.kwonlyargs, function.keyword_defaults, strict=True):
        given = rest.pop(arg.arg, None) or function.options.get(arg.arg) or default_value or hinted(arg.arg, NO_TAGS)
        frame.cells[arg.arg] = [(ALWAYS, given)]
    if spec.vararg is not None:
        items = Items(call.args[len(names) :], "tuple", more=call.open)
        items.extra = call.spread
        frame.cells[spec.vararg.arg] = [(ALWAYS, items)]
    if spec.kwarg is not None:
        named = {*names, *(arg.arg for arg in spec.kwonlyargs)}
        others = {name: value for name, value in function.options.items() if name not in named}
        table = Table({key: [(ALWAYS, value)] for key, value in {**others, **rest}.items()}, more=call.open)
        table.extra = call.spread
        frame.cells[spec.kwarg.arg] = [(ALWAYS, table)]


def _unknown(walk: Walk, function: Function, name: str, call: Call, default: Abstract | None = None) -> Opaque:
    """Return a parameter of which no more than its name is known, or that the function gives it away as the rank."""
    again = walk.active.get(function.node, 0) > 1  # another value than the one that the outer call has
    label = f"{name} given in {walk.line(call.node)}" if again else name
    if name in walk.syntax.given_as_rank(function.node):
        value = hinted("rank", call.spread, label=label)
    elif default is not None:
        value = Opaque(label, call.spread)
    else:
        value = hinted(name, call.spread, label=label)
    value.default = default
    return value


def instantiate(walk: Walk, cls: Class, call: Call) -> Abstract:
    """Return a new object of a class of the project."""
    creator = class_attribute(walk, cls, "__new__")
    made = Object(cls, walk.ref(type_of(cls), call.node))
    made.home = walk.project.name_of(made.ref.place.file)
    walk.holders.append(made)
    if isinstance(creator, Function) and creator.owner is cls and _returns_something(creator):
        found = call_function(walk, creator, call.with_first(cls))
        if isinstance(found, Object):
            return found
    initialiser = class_attribute(walk, cls, "__init__")
    if isinstance(initialiser, Function):
        call_function(walk, initialiser, call.with_first(made))
        return made
    fields = [field for ancestor in reversed(cls.resolution()) for field in ancestor.fields or ()]
    if fields:
        _fill_fields(walk, made, fields, call)
        after = class_attribute(walk, cls, "__post_init__")
        if isinstance(after, Function):
            call_function(walk, after, call._replace(args=(made,), kwargs={}))
        return made
    if _is_plain_dictionary(cls):
        return call.args[0] if call.args and isinstance(call.args[0], Settings) else walk.call(DICT, call)
    walk.tables.base_called(walk, made, call)
    return made


DICT = External("builtins.dict")


def _is_plain_dictionary(cls: Class) -> bool:
    """Whether a class is a dictionary that says at most what it holds of what it was not given: ``__missing__``."""
    bases = cls.external_bases()
    return (
        bool(bases)
        and all((base in ("builtins.dict", "dict", "collections.OrderedDict")) for base in bases)
        and all(set(one.attributes) <= {"__missing__", "__doc__"} for one in cls.resolution())
    )


def _returns_something(creator: Function) -> bool:
    return any(isinstance(inner, ast.Return) and inner.value is not None for inner in nodes_of(creator.node))


def type_of(cls: Class) -> str:
    """Return the dotted path by which a class of the project is named in a trace."""
    module = cls.module.name
    return cls.name if module == "__main__" else f"{module}.{cls.name}"


def _default(walk: Walk, value: Abstract) -> Abstract:
    """Return what a field is by default: ``field(default_factory=Options)`` makes one for each object."""
    if not isinstance(value, Made) or value.path.rpartition(".")[2] not in ("field", "Field"):
        return value
    factory = value.kwargs.get("default_factory") or value.kwargs.get("factory")
    if factory is not None and isinstance(value.node, ast.expr):
        return walk.call_with(factory, node=value.node)
    return value.kwargs.get("default") or value


def _given(name: str, default: Abstract) -> Abstract:
    """Return a field that a file may give, and the fields of a section, each of which it may give."""
    if not isinstance(default, Object):
        return Opaque(name, origin="configuration", default=default)
    for key, cell in default.attributes.items():
        if isinstance(key, str) and len(cell) == 1 and not isinstance(cell[0][1], Opaque):
            default.attributes[key] = [(cell[0][0], _given(f"{name}.{key}", cell[0][1]))]
    return default


def _fill_fields(walk: Walk, made: Object, fields: list[tuple[str, ast.expr | None]], call: Call) -> None:
    """Give a dataclass's fields their values: arguments, else defaults, which are then the user's to configure."""
    for i, (name, default) in enumerate(fields):
        value = call.args[i] if i < len(call.args) else call.kwargs.get(name)
        if value is None and default is not None:
            value = _default(walk, walk.evaluate(default, Frame(made.cls.module, {}, parent=made.cls.frame)))
            if call.open:
                value = _given(name, value)
        write(made.attributes, name, walk.path, value or hinted(name, NO_TAGS, origin="configuration"))
