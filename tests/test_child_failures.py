"""Whose fault an exception is, and what the script was missing."""

import asyncio
import os
import types

import pytest

from ddpdoctor import codec
from ddpdoctor.harness.child.failures import Failures, is_ours
from ddpdoctor.harness.child.frames import UserFrames
from ddpdoctor.harness.child.passing import through
from ddpdoctor.harness.child.recorder import Recorder
from ddpdoctor.harness.run_folder import PARTS, events_path


@pytest.fixture
def raise_in(tmp_path):
    """Execute a script's text and return the Raised event of what it raises; ``spent`` when its training was cut."""
    for part in PARTS:
        (tmp_path / part).mkdir()
    path = tmp_path / "train.py"
    frames = UserFrames(str(tmp_path), str(path))
    recorder = Recorder(str(tmp_path), 0.0, frames)
    raised = []

    def execute(text, *, spent=False, usage_error=None, **names):
        failures = Failures(recorder, frames, types.SimpleNamespace(cut_short=spent))
        failures.usage_error = usage_error
        try:
            exec(compile(text, str(path), "exec"), names)  # noqa: S102
        except BaseException as error:
            failures.raised(error)
            failures.raised(error)  # as it goes on
        with open(events_path(str(tmp_path), os.getpid()), encoding="utf-8") as file:
            written = list(map(codec.loads, file))
        raised.append(written[-1])
        assert len(written) == len(raised)
        return written[-1]

    return execute


def test_an_exception_of_the_scripts_own(raise_in):
    event = raise_in("def step():\n    return 1 / 0\nstep()\n")
    assert (event.type, event.message, event.place.line) == ("ZeroDivisionError", "division by zero", 2)
    assert [place.line for place in event.stack] == [3]
    assert not event.ours
    assert not event.caused_by_peer
    assert event.missing is None


def test_an_exception_raised_by_a_function_that_a_patch_passes_on_to(raise_in):
    event = raise_in("call(int, 'x')\n", call=through)
    assert event.type == "ValueError"
    assert not event.ours


def test_an_exception_of_ours(raise_in):
    event = raise_in("broken('no frame')\n", broken=UserFrames("/project", "/project/train.py").is_user)
    assert event.type == "AttributeError"
    assert event.ours
    assert event.place.line == 1, "it still says what the script was doing"


def test_an_exception_after_the_training_was_cut_says_so(raise_in):
    assert raise_in("1 / 0\n", spent=True).after_cut


def test_a_relative_path_is_told_as_the_script_meant_it(raise_in, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert raise_in("open('none')\n").foreign == f"[Errno 2] No such file or directory: '{tmp_path}/none'"


def function_of(module, text):
    """The function ``call`` of a module of that name that is not the script's."""
    names = {"__name__": module}
    exec(compile(f"def call(message):\n    {text}\n", f"/installed/{module}.py", "exec"), names)  # noqa: S102
    return names["call"]


GONE = "[../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:1234"


@pytest.mark.parametrize(
    "message",
    [
        GONE,
        "[pair.cc:545] Read error [127.0.0.1]:41088: Connection reset by peer. This is typically caused by",
        "Rank 1 successfully reached monitoredBarrier, but received errors: ... Socket closed",
        "[gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 1800000ms for recv operation to complete",
        "failed to recv, got 0 bytes. Connection was likely closed. Did the remote server shutdown or crash?",
        "writev [127.0.0.1]:36361: Broken pipe",
    ],
)
def test_an_exception_that_only_says_that_a_peer_is_gone(raise_in, message):
    of_torch = function_of("torch.distributed", "raise RuntimeError(message)")
    event = raise_in("call(message)\n", message=message, call=of_torch)
    assert event.caused_by_peer
    assert event.foreign == message
    event = raise_in("raise RuntimeError(message)\n", message=message)
    assert not event.caused_by_peer, "the script's own words, like any other"
    assert event.foreign is None


def test_a_work_that_the_script_waits_for_says_that_a_peer_is_gone(raise_in):
    """C++ has no frames: the innermost one is the script's, which raises nothing there by itself."""
    loop = asyncio.new_event_loop()
    work = asyncio.Future(loop=loop)  # written in C
    work.set_exception(RuntimeError(GONE))
    loop.close()
    event = raise_in("work.result()\n", work=work)
    assert event.caused_by_peer
    assert event.place.line == 1


@pytest.mark.parametrize(
    ("text", "echo"),
    [
        ("try:\n    call(message)\nexcept RuntimeError as error:\n    raise ValueError('lost') from error\n", True),
        ("try:\n    call(message)\nexcept RuntimeError:\n    raise ValueError('lost')\n", True),
        ("try:\n    call(message)\nexcept RuntimeError:\n    raise\n", True),
        ("try:\n    call(message)\nexcept RuntimeError:\n    raise ValueError('bad') from None\n", False),
        ("import os\nreading, writing = os.pipe()\nos.close(reading)\nos.write(writing, b'.')\n", False),
    ],
)
def test_an_exception_that_the_script_makes_of_another(raise_in, text, echo):
    """The last one is a pipe of the script's own, to a program that it had started."""
    event = raise_in(text, message=GONE, call=function_of("torch.distributed", "raise RuntimeError(message)"))
    assert event.caused_by_peer is echo


def test_a_librarys_exception_is_told_from_the_scripts_own(raise_in):
    message = "HTTPSConnectionPool: Max retries exceeded with url: /model"
    of_library = function_of("requests.adapters", "raise ConnectionError(message)")
    assert raise_in("call(message)\n", message=message, call=of_library).foreign == message
    assert raise_in("raise RuntimeError(message)\n", message=message).foreign is None
    assert raise_in("int(message)\n", message=message).foreign is None


def test_a_started_processs_exception_passed_on(raise_in):
    class ProcessRaisedException(Exception):
        pass

    text = "raise kind('-- Process 1 …')\n"
    assert not raise_in(text, kind=ProcessRaisedException).caused_by_peer, "a class of the script's own"
    ProcessRaisedException.__module__ = "torch.multiprocessing.spawn"
    ProcessRaisedException.__qualname__ = "ProcessRaisedException"
    assert raise_in(text, kind=ProcessRaisedException).caused_by_peer


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("import a_module_that_nobody_has\n", "a_module_that_nobody_has"),
        ("open('/nowhere/labels.csv')\n", "/nowhere/labels.csv"),
        ("import os\nos.listdir('/nowhere')\n", "/nowhere"),
    ],
)
def test_what_the_script_was_missing(raise_in, text, missing):
    assert raise_in(text).missing == missing


def test_what_argparse_wanted(raise_in):
    event = raise_in("raise SystemExit(2)\n", usage_error="the following arguments are required: --data")
    assert (event.type, event.message) == ("SystemExit", "the following arguments are required: --data")
    assert event.missing == "the following arguments are required: --data"


def test_a_file_that_does_not_parse_is_at_its_own_line(raise_in, tmp_path):
    other = tmp_path / "model.py"
    other.write_text("import os\ndef broken(:\n    pass\n")
    text = "compile(open(path).read(), path, 'exec')\n"
    event = raise_in(text, path=str(other))
    assert event.type == "SyntaxError"
    assert (event.place.file, event.place.line) == (str(other), 2)
    assert [place.line for place in event.stack] == [1]


@pytest.mark.parametrize(
    ("error", "ours"),
    [(ValueError(), False), (ModuleNotFoundError(name="apex"), False), (ModuleNotFoundError(name="ddpdoctor.x"), True)],
)
def test_an_exception_without_frames(error, ours):
    assert is_ours(error) is ours
