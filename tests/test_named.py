"""Named tuples of ours are to everybody what those of the standard library are."""

import copy
import pickle

import pytest

from ddpdoctor.named import NamedTuple


class Step(NamedTuple):
    """A step of an epoch."""

    epoch: int
    number: int = 0
    losses: tuple[float, ...] = ()

    def following(self) -> "Step":
        return self._replace(number=self.number + 1)


def test_fields_are_given_by_position_by_name_or_by_default():
    assert Step(2) == Step(epoch=2) == Step(2, losses=(), number=0) == (2, 0, ())
    assert Step(2, 5).following() == Step(2, 6)
    assert (Step(2, 5).epoch, Step(2, 5).number, Step(2, 5).losses) == (2, 5, ())
    assert hash(Step(2)) == hash((2, 0, ()))
    assert Step(2, 5)._asdict() == {"epoch": 2, "number": 5, "losses": ()}
    assert repr(Step(2)) == "Step(epoch=2, number=0, losses=())"
    epoch, number, losses = Step(2, 5, (0.5,))
    assert (epoch, number, losses) == (2, 5, (0.5,))


@pytest.mark.parametrize(
    ("values", "named"),
    [((), {}), ((1, 2, (), 4), {}), ((1,), {"epoch": 1}), ((1,), {"rank": 0}), ((1, 2, ()), {"x": 1})],
)
def test_each_field_is_given_once(values, named):
    with pytest.raises(TypeError):
        Step(*values, **named)


def test_no_field_can_be_changed_or_added():
    for name in ("epoch", "rank"):
        with pytest.raises(AttributeError):
            setattr(Step(1), name, 2)
    with pytest.raises(ValueError, match="rank"):
        Step(1)._replace(rank=0)


def test_another_process_gets_the_same():
    step = Step(1, 2, (0.5,))
    for same in (pickle.loads(pickle.dumps(step)), copy.deepcopy(step), copy.copy(step)):
        assert type(same) is Step
        assert same == step
