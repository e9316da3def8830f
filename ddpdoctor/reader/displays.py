"""Progress displays: a loop over one goes over the items of what it is given, on whichever ranks it is drawn."""

from ddpdoctor.atom import ALWAYS, AllOf, Condition, Literal
from ddpdoctor.condition import any_of, as_formula
from ddpdoctor.reader.abstract import Abstract, Known, Opaque
from ddpdoctor.reader.objects import Made
from ddpdoctor.reader.texts import text

BARS = ("tqdm", "track")
"""How the paths of the calls end that only draw: ``tqdm.tqdm``, ``tqdm.auto.tqdm``, ``rich.progress.track``."""
RANGES = ("trange", "tnrange")
"""How those end that draw and make the range too."""


def drawn_or_not(iterables: list[tuple[Condition, Abstract]]) -> list[tuple[Condition, Abstract]]:
    """Return what a loop can go over, with the same items once where they are drawn on some ranks only.

    ``if rank == 0: steps = tqdm(steps)`` gives every rank the same rounds: two walks of the body, one for each, would
    set apart what the ranks do in common.
    """
    groups: list[list[tuple[Condition, Abstract]]] = []
    for when, value in iterables:
        of_it = next((group for group in groups if _same_items(group[0][1], value)), None)
        if of_it is None:
            groups.append([(when, value)])
        else:
            of_it.append((when, value))
    if len(groups) == len(iterables):
        return iterables
    if len(groups) == 1:
        return [(ALWAYS, _bare(groups[0][0][1]))]
    return [(_any_of(group), _bare(group[0][1])) if len(group) > 1 else group[0] for group in groups]


def _any_of(group: list[tuple[Condition, Abstract]]) -> Condition:
    formula = any_of(as_formula(when) for when, _ in group)
    if isinstance(formula, AllOf):
        return formula.parts
    return frozenset({formula}) if isinstance(formula, Literal) else ALWAYS


def _bare(value: Abstract) -> Abstract:
    """Return what a progress display draws."""
    while isinstance(value, Made) and value.args and value.path.rpartition(".")[2] in BARS:
        value = value.args[0]
    return value


def _same_items(one: Abstract, other: Abstract, depth: int = 4) -> bool:
    one, other = _bare(one), _bare(other)
    if one is other:
        return True
    if isinstance(one, Known) and isinstance(other, Known):
        return one.value == other.value
    if isinstance(one, Made) and isinstance(other, Made):
        if not one.args or len(one.args) != len(other.args) or _what(one) != _what(other) or depth == 0:
            return False
        return all(_same_items(*pair, depth - 1) for pair in zip(one.args, other.args, strict=True))
    both_named = isinstance(one, Opaque) and isinstance(other, Opaque)
    return both_named and text(one) == text(other) and one.tags == other.tags


def _what(value: Made) -> str:
    """Return what a call makes that is made anew for each loop: a number of its arguments."""
    last = value.path.rpartition(".")[2]
    if last in RANGES or value.path == "builtins.range":
        return "range"
    return last if value.path in AROUND else f"{value.path} of its own at {value.ref}"


AROUND = ("builtins.enumerate", "builtins.zip", "builtins.iter")
