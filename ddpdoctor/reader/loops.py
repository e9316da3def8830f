"""Loops and comprehensions: one round says what every round does, after what they change has been widened."""

import ast
from collections.abc import Callable

from ddpdoctor.atom import Condition
from ddpdoctor.condition import as_formula, together
from ddpdoctor.events import FileAwaited, Loop
from ddpdoctor.reader.abstract import Abstract, Choice, Known, Opaque, derived, options
from ddpdoctor.reader.cuts import uneven_cut
from ddpdoctor.reader.displays import drawn_or_not
from ddpdoctor.reader.epochs import begin_epochs, own_iterator
from ddpdoctor.reader.frame import Frame
from ddpdoctor.reader.functions import run_body
from ddpdoctor.reader.iteration import (
    count_of,
    generator_in,
    item_of,
    listed,
    loaders_in,
    rounds_of,
    yielded_through,
)
from ddpdoctor.reader.leaving import awaits_a_file, end_by_its_test, has_break, leave_in_the_next_round
from ddpdoctor.reader.names import assign
from ddpdoctor.reader.objects import Generator
from ddpdoctor.reader.places import header
from ddpdoctor.reader.tags import measures
from ddpdoctor.reader.trees import nodes_of
from ddpdoctor.reader.walk import Walk
from ddpdoctor.reader.yields import drawing, of_the_round_before, own_item
from ddpdoctor.truth import holds_for
from ddpdoctor.world import WORLDS, Expression, constant

MAX_UNROLLED = 4
"""A loop over so few known things (phases, models) is interpreted once for each."""
MAX_YIELDS = 3
"""How many of a generator's yields are followed into the loop's body."""


def run_for(walk: Walk, node: "ast.For | ast.AsyncFor", frame: Frame) -> None:
    """``for``: the iterated value decides what a round sees."""
    iterated = walk.evaluate(node.iter, frame)
    before = walk.path

    def body(item: Abstract) -> None:
        assign(walk, node.target, item, frame)
        walk.run(node.body, frame)

    rounds(walk, node, iterated, frame, body, kind="for")
    walk.path, walk.dead = before, False
    walk.run(node.orelse, frame)


def run_while(walk: Walk, node: ast.While, frame: Frame) -> None:
    """``while``: its body runs under its condition; ``while True`` ends where a break is."""
    before, outer = walk.path, walk.loops
    loop = Loop(place=header(walk.place(node), None), kind="while")
    walk.loops = (*outer, loop)
    widen(walk, node, frame)
    formula = walk.test(node.test, frame)
    inside = walk.assuming(formula)
    if inside is not None:
        walk.path = inside
        frame.loops.append((loop, before))
        walk.run(node.body, frame)
        end_by_its_test(walk, node, frame, before)
        leave_in_the_next_round(walk, node, frame, before)
        frame.loops.pop()
    walk.loops = outer
    walk.path, walk.dead = before, False
    if awaits_a_file(formula):
        walk.emit(FileAwaited, node)
    endless = isinstance(node.test, ast.Constant) and bool(node.test.value) and not has_break(node)
    if endless:
        walk.dead = True
    else:
        walk.run(node.orelse, frame)


def rounds(
    walk: Walk, node: ast.AST, iterated: Abstract, frame: Frame, body: Callable[[Abstract], None], kind: str
) -> None:
    """Interpret the rounds of a loop over a value."""
    before, outer = walk.path, walk.loops
    for condition, option in _iterables(iterated):
        here = together(before, condition)
        if here is None:
            continue
        walk.path, walk.dead = here, False
        _rounds_over(walk, node, option, frame, body, kind)
        walk.loops = outer
    walk.path, walk.dead = before, False


def _iterables(value: Abstract) -> list[tuple[Condition, Abstract]]:
    found = [(when, option) for when, option in options(value) if not isinstance(option, Known) or option.value]
    if len(found) > 1 and any(measures(option.tags) for _, option in found):
        # what a rank keeps to itself where it is alone does not come among what it gathers from the others
        found = [(when, option) for when, option in found if not measures(option.tags) or _has_company(when)] or found
    return drawn_or_not(found) or [(frozenset(), value)]


def _has_company(condition: Condition) -> bool:
    """Whether a condition can hold on a rank that is not the only one."""
    formula = as_formula(condition)
    members = (member for world in WORLDS.values() for member in world if len(world) > 1)
    return any(holds_for(formula, member) is not False for member in members)


def _rounds_over(
    walk: Walk, node: ast.AST, iterated: Abstract, frame: Frame, body: Callable[[Abstract], None], kind: str
) -> None:
    outer, before = walk.loops, walk.path
    iterated = own_iterator(walk, iterated, node, frame)
    copies = sets_attributes(node)
    all_of_them = listed(walk, iterated, known_ones=copies)
    if all_of_them is not None and len(all_of_them.items) <= (MAX_COPIED if copies else _unrolled(kind)):
        for item in all_of_them.items:
            walk.path, walk.dead = before, False
            frame.loops.append((None, before))
            body(item)
            frame.loops.pop()
        return
    generator = generator_in(iterated)
    if generator is not None:
        _rounds_of_generator(walk, node, iterated, generator, frame, body, kind)
        return
    loaders = loaders_in(iterated)
    place = walk.place(node)
    if isinstance(node, (ast.For, ast.AsyncFor)):
        place = header(place, walk.place(node.iter))
    cut = None if loaders else uneven_cut(iterated)
    early = isinstance(node, (ast.For, ast.AsyncFor)) and bool(loaders or cut) and has_break(node)
    loop = Loop(
        place=place,
        kind=kind,
        loaders=loaders,
        rounds=rounds_of(iterated),
        count=count_of(iterated),
        left_early=early,
        cut=cut,
    )
    begin_epochs(walk, iterated, node, frame, place)
    walk.loops = (*outer, loop)
    widen(walk, node, frame)
    drawn = own_item(walk, iterated, node, loop)
    if drawn is not None:
        walk.loops = drawing(walk.loops, len(outer), drawn[0])
    frame.loops.append((loop, before))
    body(item_of(walk, iterated, node, loop) if drawn is None else drawn[1])
    if isinstance(node, (ast.For, ast.AsyncFor)):
        leave_in_the_next_round(walk, node, frame, before)
    frame.loops.pop()


def sets_attributes(node: ast.AST) -> bool:
    """Whether a loop does little more than copy an item a round: ``setattr(new, key, value)``, ``new[key] = …``.

    So does one that declares an option a round, of a table of options or of tables of them.
    """
    if not isinstance(node, ast.For) or len(node.body) > MAX_STATEMENTS:
        return False
    inner = [part for statement in node.body for part in nodes_of(statement)]
    if any(isinstance(part, ast.Attribute) and part.attr == "add_argument" for part in inner):
        return True
    calls = [part.func.id for part in inner if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)]
    copies = "setattr" in calls or any(_is_copied(node.target, part) for part in inner)
    return copies and not any(isinstance(part, (ast.For, ast.While)) for part in inner)


def _is_copied(target: ast.expr, part: ast.AST) -> bool:
    """Whether a statement gives a dictionary an item under the key that the round is about: ``for key, value in …``."""
    if not isinstance(target, ast.Tuple) or not isinstance(part, ast.Assign):
        return False
    key, given = target.elts[0], part.targets[0]
    if not isinstance(key, ast.Name) or not isinstance(given, ast.Subscript):
        return False
    return isinstance(given.slice, ast.Name) and given.slice.id == key.id


MAX_STATEMENTS = 4
MAX_COPIED = 128
"""How many items of a configuration are made attributes of an object, one by one."""


def _unrolled(kind: str) -> int:
    return MAX_UNROLLED if kind == "for" else 2 * MAX_UNROLLED


def _rounds_of_generator(
    walk: Walk,
    node: ast.AST,
    iterated: Abstract,
    generator: Generator,
    frame: Frame,
    body: Callable[[Abstract], None],
    kind: str,
) -> None:
    """Run a generator of the project with the loop's body at its yields: order and contexts are then right.

    It may be iterated through ``enumerate`` or a progress bar. The loop is around the body once a round, but around
    what the generator does only as the one that draws from it: that is begun once, not once a round.
    """
    outer, file, stack, frames = walk.loops, walk.file, walk.stack, walk.frames
    loop = Loop(place=walk.place(node), kind=kind, loaders=loaders_in(generator), rounds=rounds_of(iterated))
    seen: list[Abstract] = []

    def deliver(value: Abstract) -> Abstract:
        seen.append(value)
        if len(seen) <= MAX_YIELDS:
            saved = walk.file, walk.stack, walk.path, walk.frames, walk.within, walk.loops
            value = of_the_round_before(value, walk.loops[len(outer) :])
            walk.loops = drawing((*outer, loop, *walk.loops[len(outer) + 1 :]), len(outer), value)
            walk.file, walk.stack, walk.frames = file, stack, [*frames]
            frame.loops.append((loop, walk.path))
            body(yielded_through(walk, iterated, value, node, loop))
            frame.loops.pop()
            walk.file, walk.stack, walk.path, walk.frames, walk.within, walk.loops = saved
            walk.dead = False
        return Opaque("sent value")

    walk.loops = (*outer, loop.with_(kind="drawing"))
    widen(walk, node, frame)
    run_body(walk, generator.function, generator.call, deliver)
    if not seen:
        item = Opaque(f"item of {generator.function.name}()", generator.tags)
        body(yielded_through(walk, iterated, item, node, loop))


def widen(walk: Walk, node: ast.AST, frame: Frame) -> None:
    """Forget the numbers of variables that a loop changes: they have one value before it and others inside."""
    if not isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
        return
    for name in walk.syntax.assigned_in(node):
        cell = frame.cells.get(name)
        if cell is None:
            continue
        for i, (when, value) in enumerate(cell):
            if isinstance(value, Known) and isinstance(value.value, (int, float, str)):
                count = (
                    None if isinstance(value.value, (str, bool)) else _counted(walk, node, name, constant(value.value))
                )
                cell[i] = (when, Opaque(f"{name} in {walk.line(node)}", default=value, expression=count))
            elif isinstance(value, Opaque) and (
                value.expression in _counters(name) or walk.syntax.only_counts(node, name)  # from a checkpoint, say
            ):
                count = _counted(walk, node, name, Expression("named", (name,)))
                label = f"{name} in {walk.line(node)}"
                cell[i] = (when, Opaque(label, value.tags, default=value.default, expression=count))
            elif isinstance(value, Choice) and walk.syntax.only_counts(node, name):  # from 0, or from a checkpoint
                label = f"{name} in {walk.line(node)}"
                count = _counted(walk, node, name, Expression("named", (name,)))
                cell[i] = (when, Opaque(label, value.tags, expression=count))


def _counted(walk: Walk, node: "ast.For | ast.AsyncFor | ast.While", name: str, start: Expression) -> Expression | None:
    """Return the number that a variable has in a round: one more in each where the loop does nothing else to it."""
    if not walk.loops or not walk.syntax.counts_up(node, name):
        return _counters(name)[walk.syntax.sets(node, name)]
    return derived("+", start, Expression("round", (walk.loops[-1].place,)))


def _counters(name: str) -> tuple[Expression, Expression]:
    """Return what stands for a number that a loop changes: one that it only adds to, and one that it sets anew."""
    return Expression("counter", (name, False)), Expression("counter", (name, True))
