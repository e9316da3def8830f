"""Conditions: what follows, what contradicts, and which ranks of which world meet them."""

import time

import pytest

from ddpdoctor.atom import ALWAYS, Atom, Literal
from ddpdoctor.condition import (
    all_of,
    any_of,
    as_formula,
    asks_for_group,
    assume,
    compact,
    compatible,
    negation,
    together,
)
from ddpdoctor.consequences import since
from ddpdoctor.facts.group_ends import _refused
from ddpdoctor.facts.rounds import Round, holds_in
from ddpdoctor.place import Place
from ddpdoctor.truth import divides_ranks, holds_by_default, holds_for
from ddpdoctor.world import SINGLE, UNKNOWN, WORLDS, Expression, constant, evaluate

A, B, C, D = (Literal(Atom(name), True) for name in "abcd")
RANK_0 = Literal(Atom("rank == 0", "rank", Expression("==", (Expression("rank"), constant(0)))), True)
LOCAL_0 = Literal(Atom("local_rank == 0", "rank", Expression("==", (Expression("local_rank"), constant(0)))), True)


def assuming(*formulas):
    condition = ALWAYS
    for formula in formulas:
        condition = assume(condition, formula)
        if condition is None:
            return None
    return condition


def test_a_literal_and_its_negation_contradict_each_other():
    assert assuming(A, negation(A)) is None
    assert assuming(A, B) == {A, B}


def test_what_remains_of_a_disjunction_follows():
    assert B in assuming(any_of([A, B]), negation(A))
    assert assuming(any_of([A, B]), negation(A), negation(B)) is None


def test_what_was_tested_since_a_condition_is_without_its_consequences():
    data = Literal(Atom("the loss is finite", "data"), True)
    base = assuming(any_of([RANK_0, data]), any_of([negation(RANK_0), A]))
    assert since(assume(base, negation(RANK_0)), base) == {negation(RANK_0)}
    assert since(assume(base, RANK_0), base) == {RANK_0}
    assert since(assuming(all_of(base), B, negation(RANK_0)), base) == {B, negation(RANK_0)}


def test_what_does_not_follow_from_the_rest_was_tested():
    base = assuming(any_of([A, B]))
    assert since(assuming(all_of(base), C, D), base) == {C, D}
    assert since(base, base) == ALWAYS


def test_a_disjunction_has_an_exact_negation():
    either = any_of([all_of([A, B]), C])
    assert assuming(either, negation(either)) is None
    assert negation(negation(either)) == either
    neither = assuming(negation(either))
    assert negation(C) in neither
    assert not compatible(neither, frozenset({A, B}))
    assert compatible(neither, frozenset({A}))


def test_equal_disjunctions_are_one():
    assert any_of([A, all_of([B, C])]) == any_of([all_of([C, B]), A])


def test_an_alternative_that_another_implies_is_left_out():
    assert any_of([A, all_of([A, B])]) == A


def test_a_conjunction_of_opposites_is_false_and_their_disjunction_true():
    assert all_of([A, negation(A)]) is False
    assert any_of([A, negation(A)]) is True
    assert any_of([]) is False and all_of([]) is True


def test_a_conjunction_that_leaves_no_alternative_of_a_disjunction_is_false():
    assert all_of([any_of([A, B]), negation(A), negation(B)]) is False
    assert all_of([any_of([A, B]), negation(A)]) is not False


def test_a_disjunction_of_very_many_is_left_open():
    many = any_of(Literal(Atom(f"x{i}"), True) for i in range(40))
    assert assuming(many) is not None and assuming(negation(many)) is not None


def test_together_is_what_holds_under_both():
    first, second = frozenset({A}), assuming(any_of([negation(A), B]))
    assert B in together(first, second)


@pytest.mark.parametrize(
    ("literal", "world", "expected"),
    [
        (RANK_0, "torchrun", [0]),
        (negation(RANK_0), "torchrun", [1, 2, 3]),
        (LOCAL_0, "torchrun", [0, 2]),
        (LOCAL_0, "spawn", [0]),
    ],
)
def test_which_ranks_meet_a_test(literal, world, expected):
    assert [member.rank for member in WORLDS[world] if holds_for(literal, member)] == expected


def test_only_a_test_that_some_ranks_fail_divides_them():
    assert divides_ranks(frozenset({RANK_0})) == "spawn"
    distributed = Literal(Atom("ws > 1", "world", Expression("<", (constant(1), Expression("world_size")))), True)
    assert divides_ranks(frozenset({distributed})) is None
    assert divides_ranks(frozenset({A})) is None
    assert divides_ranks(assuming(any_of([RANK_0, A]))) is None


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (Expression("environment", ("RANK", constant(-1))), -1),
        (Expression("environment_has", ("WORLD_SIZE",)), False),
        (Expression("initialized"), False),
        (Expression("environment", ("HOME", None)), UNKNOWN),
        (Expression("%", (Expression("rank"), constant(0))), UNKNOWN),
    ],
)
def test_what_a_single_process_makes_of_an_expression(expression, value):
    found = evaluate(expression, SINGLE[0])
    assert found is value if value is UNKNOWN else found == value


def test_the_rank_of_the_second_node_is_worked_out_from_its_parts():
    product = Expression("*", (Expression("node"), Expression("local_world_size")))
    rank = Expression("+", (product, Expression("local_rank")))
    assert [evaluate(rank, member) for member in WORLDS["torchrun"]] == [0, 1, 2, 3]


def test_what_no_option_decides_is_left_open():
    usual = Literal(Atom("args.x", "configuration", by_default=False), True)
    assert holds_by_default(as_formula(frozenset({usual}))) is False
    assert holds_by_default(as_formula(frozenset({negation(usual), A}))) is None


def test_two_alternatives_that_differ_in_one_answer_are_one():
    assert any_of([all_of([A, B]), all_of([A, negation(B)])]) == A
    assert any_of([all_of([A, B]), all_of([A, negation(B)]), C]) == any_of([A, C])
    parts = [all_of([A, B]), all_of([A, negation(B)]), all_of([negation(A), B]), all_of([negation(A), negation(B)])]
    assert any_of(parts) is True


def test_an_alternative_with_a_disjunction_that_cannot_hold_is_none():
    inner = any_of([A, B])
    outer = any_of([all_of([inner, C]), all_of([D, C])])
    assert assume(frozenset({negation(A), negation(B), negation(D)}), outer) is None
    left = assume(frozenset({negation(A), negation(B)}), outer)
    assert left is not None and {C, D} <= left


def test_an_alternative_that_refuses_what_holds_is_none():
    outer = any_of([all_of([negation(any_of([A, B])), C]), all_of([D, C])])
    assert assume(frozenset({A, negation(D)}), outer) is None


def test_a_condition_that_was_packed_says_what_is_in_it():
    packed = compact(frozenset({A, B, C, D}))
    assert together(packed, frozenset({negation(A)})) is None
    assert assume(packed, any_of([negation(B), negation(C)])) is None


def tangled(depth=40):
    """Two tests, each made of two others, which are made of the same two, and so on."""
    first, second = A, B
    for _ in range(depth):
        ways = [all_of([negation(first), C]), all_of([negation(second), D])]
        others = [all_of([negation(first), negation(C)]), all_of([negation(second), negation(D)])]
        first, second = any_of(ways), any_of(others)
    return first


ASKED = {
    "for the group": asks_for_group,
    "by default": holds_by_default,
    "in a round": lambda formula: holds_in(formula, Round(Place("train.py", 1), 0, 1, 1)),
    "by the options": lambda formula: list(_refused(frozenset({formula}))),
    "for a rank": lambda formula: holds_for(formula, WORLDS["torchrun"][0]),
}


@pytest.mark.parametrize("what", ASKED)
def test_what_is_in_many_others_is_asked_once(what):
    formula = tangled()
    assert isinstance(formula, Literal) and formula.atom.depth == 40
    begun = time.process_time()
    assert not ASKED[what](formula)
    assert time.process_time() - begun < 5  # each way down by itself would take years
