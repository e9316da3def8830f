"""What a process writes down: places in the user's files, objects by where they were made, each event a line."""

import os
import sys
import types
from array import array

import pytest

from ddpdoctor import codec
from ddpdoctor.events import Cut, Substituted, Warned
from ddpdoctor.harness.child.device_log import DeviceLog, cuda_index
from ddpdoctor.harness.child.frames import UserFrames
from ddpdoctor.harness.child.objects import Objects
from ddpdoctor.harness.child.recorder import Recorder
from ddpdoctor.harness.run_folder import PARTS, events_path, indices_path
from ddpdoctor.place import Place


@pytest.fixture
def project(tmp_path):
    for part in PARTS:
        (tmp_path / "run" / part).mkdir(parents=True)
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@pytest.fixture
def frames(project):
    return UserFrames(str(project), str(project / "train.py"))


@pytest.fixture
def recorder(tmp_path, frames):
    return Recorder(str(tmp_path / "run"), 0.0, frames)


def written(recorder, pid=None):
    with open(events_path(recorder.folder, pid or os.getpid()), encoding="utf-8") as file:
        return [codec.loads(line) for line in file]


def module(path, text, **names):
    """Execute a module of the user's at a path."""
    made = types.ModuleType(path.stem)
    vars(made).update(names)
    exec(compile(text, str(path), "exec"), vars(made))  # noqa: S102
    return made


def test_an_event_stands_at_the_innermost_line_of_the_users(project, recorder):
    inner = "def save(model):\n    write()\n"
    outer = "def main():\n    pass\n    save(1)\nmain()\n"
    write = lambda: recorder.write(Warned, text="here")  # noqa: E731
    save = module(project / "saving.py", inner, write=write).save
    module(project / "train.py", outer, save=save)
    (event,) = written(recorder)
    assert event.place[:2] == (str(project / "saving.py"), 2)
    assert [(place.file, place.line) for place in event.stack] == [
        (str(project / "train.py"), 4),
        (str(project / "train.py"), 3),
    ]
    if sys.version_info >= (3, 11):
        assert (event.place.column, event.place.end_column) == (5, 12)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="code has lines only")
@pytest.mark.parametrize(
    ("encoding", "head", "text"),
    [
        ("utf-8", "", "name = 'ééé'; write('ü')\n"),
        ("utf-8", "# 日本\x0c語\n", "名前 = '日本語'; write(\n    'x')\n"),
        ("latin-1", "# coding: latin-1\n", "name = 'ééé'; write('ü')\n"),
        ("utf-8-sig", "", "name = 'ééé'; write('ü')\n"),
    ],
)
def test_columns_are_characters(project, recorder, encoding, head, text):
    """As the reader and people count them; the interpreter counts bytes of UTF-8."""
    path = project / "train.py"
    path.write_bytes((head + text).encode(encoding))
    write = lambda _: recorder.write(Warned, text="here")  # noqa: E731
    module(path, path.read_bytes(), write=write)
    (event,) = written(recorder)
    lines = text.splitlines()
    assert event.place.column == lines[0].index("write") + 1
    assert event.place.end_column == lines[-1].index(")") + 2


def test_installed_packages_and_this_one_are_not_the_users(project, frames):
    inside = project / ".venv" / "lib" / "site-packages" / "torch" / "nn.py"
    assert frames.path(str(inside)) is None
    assert frames.path(os.__file__) is None
    assert frames.path(sys.modules["ddpdoctor.codec"].__file__) is None
    assert frames.path("<string>") is None
    assert frames.path(str(project / "models" / "net.py")) == str(project / "models" / "net.py")


def test_without_any_frame_of_the_users_an_event_is_nowhere_in_the_script(project, recorder):
    recorder.write(Warned, text="from a library")
    assert written(recorder)[0].place == Place(str(project / "train.py"), 0)


def test_orders_rise_and_an_event_can_be_written_again_in_its_place(recorder):
    first = recorder.write(Warned, text="first")
    second = recorder.write(Warned, text="second")
    recorder.write(Warned, text="first, whole", order=first)
    assert second == first + 1
    assert [(event.order, event.text) for event in written(recorder)] == [
        (first, "first"),
        (second, "second"),
        (first, "first, whole"),
    ]


def test_what_is_said_once_is_written_once(recorder):
    for _ in range(3):
        recorder.cut("an epoch", "enough")
        recorder.substituted("nccl", "gloo")
    assert [type(event) for event in written(recorder)] == [Cut, Substituted]


def test_many_indices_go_to_a_file_of_their_own(tmp_path, recorder):
    order = recorder.next_order()
    recorder.write_indices(order, array("q", [5, 1 << 40]))
    with open(indices_path(recorder.folder, os.getpid(), order), "rb") as file:
        assert file.read() == b"".join(number.to_bytes(8, "little") for number in (5, 1 << 40))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system copies no processes")
def test_a_forked_process_writes_to_a_file_of_its_own(recorder):
    recorder.write(Warned, text="parent")
    pid = os.fork()
    if pid == 0:
        recorder.write(Warned, text="child")
        os._exit(0)
    os.waitpid(pid, 0)
    assert [event.text for event in written(recorder)] == ["parent"]
    assert [event.text for event in written(recorder, pid)] == ["child"]


def test_a_muted_process_writes_nothing(recorder):
    recorder.write(Warned, text="heard")
    recorder.muted = True
    recorder.write(Warned, text="unheard")
    recorder.write_indices(7, array("q", [1]))
    assert len(written(recorder)) == 1
    assert not os.path.exists(indices_path(recorder.folder, os.getpid(), 7))


def test_an_object_is_where_its_constructor_was_called(project, recorder, frames):
    objects = Objects(frames, recorder)

    class Library:
        def __init__(self):
            objects.made(self)

    text = """
class Loader(Library):
    def __init__(self):
        super().__init__()

def build():
    return Loader()

one = build()
two = build()
three = Loader()
"""
    user = module(project / "train.py", text, Library=Library)
    refs = [objects.ref(thing) for thing in (user.one, user.two, user.three)]
    assert [(ref.place.line, len(ref.stack), ref.n) for ref in refs] == [(7, 1, 0), (7, 1, 0), (11, 0, 0)]
    assert refs[0].stack != refs[1].stack
    assert refs[0].type == "train.Loader"


def test_objects_made_at_one_place_are_counted(project, recorder, frames):
    objects = Objects(frames, recorder)
    user = module(
        project / "train.py",
        "things = [Thing() for number in range(3)]\nfor thing in things:\n    made(thing)\n",
        Thing=type("Thing", (), {}),
        made=objects.made,
    )
    assert [objects.ref(thing).n for thing in user.things] == [0, 1, 2]
    assert objects.made(user.things[1]).n == 1, "known already"


def test_what_an_event_carries_for_a_thing(recorder, frames):
    objects = Objects(frames, recorder)
    assert objects.value(3).text() == "3"
    assert objects.value("gloo").text() == "'gloo'"
    assert objects.value(array("b")).text() == "array.array"


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        (None, (True, None)),
        ("cuda", (True, None)),
        ("cuda:1", (True, 1)),
        (1, (True, 1)),
        ("cpu", (False, None)),
        (True, (False, None)),
        (-1, (False, -1)),
        (types.SimpleNamespace(type="cuda", index=2), (True, 2)),
        (types.SimpleNamespace(type="cpu", index=None), (False, None)),
        (object(), (False, None)),
    ],
)
def test_the_ways_to_name_a_device(device, expected):
    assert cuda_index(device) == expected


def test_a_line_says_each_device_once(project, recorder, frames):
    devices = DeviceLog(recorder, frames)
    text = "for _ in range(3):\n    used('cuda:1', 'Tensor.to')\nused('cpu', 'Tensor.to')\nused(None, 'Tensor.cuda')\n"
    module(project / "train.py", text, used=devices.used)
    assert [(type(event).__name__, event.place.line) for event in written(recorder)] == [
        ("CudaTouched", 2),
        ("DeviceUsed", 2),
        ("CudaTouched", 4),
        ("DeviceUsed", 4),
    ]
    assert devices.used_cuda
