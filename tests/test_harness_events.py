"""Events come home as they were written, and what is no event is left aside."""

import pytest

from ddpdoctor import codec
from ddpdoctor.events import Collective, GroupInit
from ddpdoctor.place import Place
from ddpdoctor.value import Constant, Group

HERE = Place("/p/train.py", 7, 5, 7, 9)


def test_a_collective_keeps_its_group() -> None:
    group = Group(type="torch.distributed.ProcessGroup", place=HERE, n=1, name="2", ranks=(0, 3))
    event = Collective(place=HERE, stack=(HERE,), rank=3, order=4, time=0.5, op="all_reduce", group=group)
    read = codec.loads(codec.dumps(event))
    assert isinstance(read, Collective) and isinstance(read.group, Group)
    assert (read.place, read.stack, read.rank, read.order, read.time) == (HERE, (HERE,), 3, 4, 0.5)
    assert read.group == group
    assert read.group.identity == ("2", (0, 3))


@pytest.mark.parametrize(
    "line",
    [
        "",
        "3",
        "[]",
        '"GroupInit"',
        '{"is":"GroupIn',
        '{"map":[]}',
        '{"map":{}}',
        '{"set":[[1]]}',
        '{"set":7}',
        '{"is":"Ended","map":3}',
        '{"is":"Ended"}',
        '{"is":["Ended"]}',
        '{"is":"NoSuchEvent"}',
        '{"is":"Constant","value":1}',
        '{"is":"GroupInit","place":5}',
        '{"is":"GroupInit","place":{"is":"Place","file":7,"line":1}}',
        '{"is":"GroupInit","place":{"is":"Place","file":"a.py","line":"1"}}',
        '{"is":"GroupInit","place":{"is":"Place","file":"a.py","line":1},"rank":"0"}',
        '{"is":"GroupInit","place":{"is":"Place","file":"a.py","line":1},"time":null}',
        '{"is":"GroupInit","place":{"is":"Place","file":"a.py","line":1},"stack":[3]}',
        '{"is":"GroupInit","place":{"is":"Place","file":"a.py","line":1},"stack":3}',
        '{"is":"GroupInit","place":{"is":"Place","file":"a.py","line":1},"colour":1}',
        "[" * 100_000,
        '{"map":{"a":' * 100_000,
    ],
    ids=lambda line: line[:40],
)
def test_what_is_no_event_is_refused_in_one_way(line: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        codec.loads(line)


def test_the_least_event_is_one() -> None:
    event = codec.loads('{"is":"GroupInit","place":{"is":"Place","file":"a.py","line":1}}')
    assert isinstance(event, GroupInit) and event.rank is None
    assert isinstance(codec.loads(codec.dumps(event.with_(backend=Constant(value="nccl")))), GroupInit)
