"""Whatever the files are, a check-up ends in a clear answer: no crash, no hang, no memory without end."""

import json
import os
import sys
from pathlib import Path

import pytest
from reading import only, read
from unprivileged import as_others

from ddpdoctor import reader
from ddpdoctor.events import Collective, Unparsed
from ddpdoctor.reader.source import MAX_BYTES

HEAD = "import torch.distributed as dist\n\nrank = dist.get_rank()\n"
FAULT = "if rank == 0:\n    dist.barrier()\n"
POSIX = pytest.mark.skipif(os.name == "nt", reason="it is about POSIX files")
DEEP = 10_000
AS_DEEP_AS_PYTHON_GOES = 900


def nested(deep: int) -> dict[str, str]:
    """Return programs by what is nested in them."""
    numbers = range(deep)
    return {
        "parentheses": f"x = {'(' * deep}1{')' * deep}\n",
        "lists": f"x = {'[' * deep}{']' * deep}\n",
        "elifs": "if rank == 0:\n    pass\n" + "".join(f"elif rank == {i}:\n    x = {i}\n" for i in numbers),
        "attributes": f"x = rank{'.y' * deep}\n",
        "operators": f"x = rank{' + rank' * deep}\n",
        "powers": f"x = 1{' ** 1' * deep}\n",
        "negations": f"x = {'not ' * deep}rank\n",
        "comparisons": f"x = {' < '.join(f'a{i}' for i in numbers)}\n",
        "conjunctions": f"x = {' and '.join(f'a{i}' for i in numbers)}\n",
        "mixed": f"x = {' and a or '.join(f'b{i}' for i in range(deep // 25))}\n",
        "conditionals": f"x = {''.join(f'a{i} if rank else ' for i in numbers)}0\n",
        "lambdas": f"x = {'lambda: ' * deep}0\nx{'()' * 90}\n",
        "arguments": f"x = {'f(' * deep}1{')' * deep}\n",
        "calls": f"x = rank{'.f()' * deep}\n",
        "items": f"x = rank{'[0]' * deep}\n",
        "functions": "".join(f"def f{i}():\n    f{i + 1}()\n" for i in numbers) + f"def f{deep}():\n    pass\nf0()\n",
        "classes": "class C0: pass\n" + "".join(f"class C{i + 1}(C{i}): pass\n" for i in numbers) + f"C{deep}().f()\n",
        "decorators": "def d(f):\n    return lambda: f()\n" + "@d\n" * deep + "def f(): pass\nf()\n",
        "values": "x = []\n" + "x = [x]\n" * deep + "print(x)\n",
        "generators": "x = [1]\n" + "x = (y for y in x)\n" * deep + "for y in x: print(y)\n",
        "cases": "match rank:\n" + "".join(f"    case {i}:\n        x = {i}\n" for i in numbers),
        "assignments": "".join(f"x{i} = " for i in numbers) + "rank\n",
    }


@pytest.mark.parametrize("deep", [DEEP, AS_DEEP_AS_PYTHON_GOES])
def test_however_deep_a_program_is_nested_it_is_read_or_a_finding(command, project, deep):
    for name, text in nested(deep).items():
        (project / f"{name}.py").write_text(HEAD + text + FAULT)
        (project / f"imports_{name}.py").write_text(f"{HEAD}from {name} import *\nimport {name}\n{FAULT}")
    result = command("check", "--source-only", "--format", "json", "--jobs", "1", ".", cwd=project)
    assert (result.status, result.err) == (1, "")
    report = json.loads(result.out)
    assert {target["layers"]["source"]["state"] for target in report["targets"]} == {"checked"}
    broken = {finding["file"]: finding for finding in report["findings"] if finding["check"] == "syntax-error"}
    assert all("nested" in finding["message"] for finding in broken.values())
    if deep == AS_DEEP_AS_PYTHON_GOES:
        assert set(broken) <= {"parentheses.py", "lists.py", "arguments.py", "powers.py", "negations.py"}


def test_a_long_condition_does_not_take_memory_without_end(tmp_path):
    resource = pytest.importorskip("resource")
    program = read(tmp_path, f"x = {' and '.join(f'a{i}' for i in range(20_000))}\n", HEAD)
    assert not program.complete
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 1_500_000


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("try:\n    pass\nexcept* ValueError:\n    pass\n", (3, 11)),
        ("x = a[*b]\n", (3, 11)),
        ("type Point = tuple[float, float]\n", (3, 12)),
        ("def first[T](items: list[T]) -> T:\n    return items[0]\n", (3, 12)),
        ("class Stack[T]:\n    pass\n", (3, 12)),
        ("x = f'{f'{f'{y}'}'}'\n", (3, 12)),
        ("def first[T = int](items: list[T]) -> T:\n    return items[0]\n", (3, 13)),
        ("x = t'{y}'\n", (3, 14)),
        ("try:\n    pass\nexcept ValueError, TypeError:\n    pass\n", (3, 14)),
    ],
)
def test_syntax_of_a_newer_python_is_read_by_it_and_named_by_an_older_one(tmp_path, text, version):
    program = read(tmp_path, text)
    if sys.version_info >= version:
        assert program.of(Unparsed) == ()
    else:
        running = f"{sys.version_info[0]}.{sys.version_info[1]}"
        assert only(program.of(Unparsed)).cause == (
            f"this needs Python {version[0]}.{version[1]}; ddpdoctor runs under {running}"
        )


# --- bytes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + (HEAD + FAULT).encode(),
        b"# -*- coding: latin-1 -*-\nx = '\xe9'\n" + (HEAD + FAULT).encode(),
        (HEAD + FAULT).replace("\n", "\r").encode(),
        (HEAD + FAULT).replace("\n", "\r\n").encode(),
        (HEAD + "\f\n" + FAULT).encode().rstrip(),
    ],
    ids=["BOM", "latin-1", "CR", "CRLF", "form feed, no end"],
)
def test_bytes_are_read_as_python_reads_them(content):
    (program,) = reader.read("/-", "/", content)
    assert only(program.of(Collective)).op == "barrier"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (HEAD.encode() + b"x = '\0'\n", "null bytes"),
        (HEAD.encode("utf-16"), "null bytes"),
        (HEAD.encode() + b"x = '\xe9'\n", "not valid utf-8"),
        (HEAD.encode() + b"x = '''\n", "unterminated triple-quoted string"),
        (HEAD.encode() + b"x = 1 \\", "unexpected EOF"),
        (HEAD.encode() + b"x = " + b"9" * 5000, "Exceeds the limit"),
        (bytes(range(1, 256)) * 400, ""),
    ],
    ids=["null", "UTF-16", "latin-1 without saying so", "open string", "backslash", "digits", "all bytes"],
)
def test_bytes_that_python_refuses_are_a_finding(content, said):
    if said.startswith("Exceeds") and sys.version_info < (3, 10, 7):
        pytest.skip("older ones read any number")
    (program,) = reader.read("/-", "/", content)
    assert said in only(program.of(Unparsed)).message


def test_an_empty_file_is_right():
    for content in (b"", b"\n", b"# a comment", b"\xef\xbb\xbf"):
        (program,) = reader.read("/-", "/", content)
        assert program.events == ()


def test_a_file_of_ten_megabytes_is_not_read_and_that_is_said_where_it_matters(ran, project):
    comments = "# " + "x" * 98 + "\n"
    (project / "data.py").write_text(comments * (10_000_000 // 100))
    assert ran("check", "--source-only", "data.py") == (0, "No findings in 1 file (source only).\n", "")
    (project / "train.py").write_text(HEAD + comments * (10_000_000 // 100) + FAULT)
    result = ran("check", "--source-only", "--severity", "error", "train.py")
    assert (result.status, result.out.splitlines()) == (
        3,
        [
            "source: not-run (train.py): the file is larger than 4 MB and was not read",
            "No findings in 1 file; it was not read (source only).",
        ],
    )
    report = json.loads(ran("check", "--source-only", "--format", "json", "train.py").out)
    assert report["targets"][0]["layers"]["source"]["state"] == "not-run"
    assert ran("check", "--source-only", ".").out.endswith(
        "No findings in 2 files; 1 of them was not read (source only).\n"
    )
    (project / "main.py").write_text(HEAD + "import data\nfrom train import step\n\nstep()\n" + FAULT)
    result = ran("check", "--source-only", "main.py")
    assert (result.status, "main.py:9:5  error  rank-conditional-collective" in result.out) == (1, True)
    assert "source: checked (main.py): train.py: the file is larger than 4 MB and was not read" in result.out


def test_a_file_of_just_the_size_that_is_read_is_read(tmp_path):
    head = HEAD + FAULT
    program = read(tmp_path, "#" + "x" * (MAX_BYTES - len(head) - 2) + "\n", head)
    assert only(program.of(Collective)).op == "barrier"


# --- files -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def odd(project: Path) -> Path:
    """A folder with what is called like a Python file and is none, and a script that imports all of it."""
    os.mkfifo(project / "pipe.py")
    (project / "folder.py").mkdir()
    (project / "device.py").symlink_to("/dev/zero")
    (project / "loop.py").symlink_to("loop.py")
    (project / "gone.py").symlink_to("nowhere.py")
    (project / "deep").mkdir()
    (project / "deep" / "deeper").symlink_to("..")
    (project / "train.py").write_text(f"{HEAD}import pipe, folder, device, loop, gone, deep.deeper.deep\n{FAULT}")
    return project


@POSIX
def test_what_is_no_file_is_passed_over_in_a_folder_and_among_modules(command, odd):
    result = command("check", "--source-only", "--format", "json", ".", cwd=odd)
    report = json.loads(result.out)
    assert [target["path"] for target in report["targets"]] == ["train.py"]
    assert "rank-conditional-collective" in {finding["check"] for finding in report["findings"]}


@POSIX
@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("pipe.py", "'pipe.py' is not a file"),
        ("device.py", "'device.py' is not a file"),
        ("/dev/zero", "'/dev/zero' is not a file"),
        ("folder.py", "there is no Python file in the folder 'folder.py'"),
        ("loop.py", "'loop.py' is a link that leads nowhere"),
        ("gone.py", "'gone.py' is a link that leads nowhere"),
    ],
)
def test_what_is_no_file_is_wrong_usage_when_it_is_named(command, odd, path, line):
    assert command("check", "--source-only", path, cwd=odd) == (2, "", f"ddpdoctor: {line}\n")


def test_modules_that_import_each_other_and_a_package_that_imports_itself(command, project):
    package = project / "package"
    package.mkdir()
    lines = "import package\nfrom . import package\nfrom .package import *\nfrom package.package import x\n"
    (package / "__init__.py").write_text(lines)
    if os.name != "nt":
        (package / "package").symlink_to(".")
    (project / "one.py").write_text("from two import *\nimport two, train\nx = two.x\n")
    (project / "two.py").write_text("from one import *\nimport one\nx = one.x\n")
    text = f"{HEAD}import one, package.package.package.package\nfrom package import *\nprint(one.x, x)\n{FAULT}"
    (project / "train.py").write_text(text)
    result = command("check", "--source-only", "train.py", cwd=project)
    assert result.status == 1
    assert "train.py:8:5  error  rank-conditional-collective" in result.out


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no names like this")
@pytest.mark.parametrize("form", ["text", "json", "github"])
def test_a_name_that_is_not_unicode_is_escaped(command, project, form):
    Path(os.fsdecode(os.fsencode(project) + b"/n\xff.py")).write_text(HEAD + FAULT)
    result = command("check", "--source-only", "--format", form, ".", cwd=project)
    assert (result.status, result.err) == (1, "")
    assert "n\\udcff.py" in result.out


@POSIX
def test_a_file_and_a_folder_that_may_not_be_read_are_said_and_the_rest_is_checked(project):
    (project / "train.py").write_text(f"{HEAD}import secret, closed.part\n{FAULT}")
    (project / "secret.py").write_text("x = 1\n")
    (project / "closed").mkdir()
    (project / "closed" / "part.py").write_text("x = 1\n")
    (project / "secret.py").chmod(0)
    (project / "closed").chmod(0)
    try:
        done = as_others("check", "--source-only", "--format", "json", ".", cwd=project)
        named = as_others("check", "--source-only", "closed", cwd=project)
    finally:
        (project / "closed").chmod(0o755)
    report = json.loads(done.stdout)
    assert {target["path"]: target["layers"]["source"]["state"] for target in report["targets"]} == {
        "closed": "failed",
        "secret.py": "failed",
        "train.py": "checked",
    }
    reasons = {target["layers"]["source"].get("reason") for target in report["targets"]}
    assert reasons == {None, "it cannot be read: permission denied"}
    assert "rank-conditional-collective" in {finding["check"] for finding in report["findings"]}
    assert (done.returncode, done.stderr) == (1, "")
    assert (named.returncode, named.stderr) == (2, "ddpdoctor: 'closed' cannot be read: permission denied\n")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_disk_that_is_full_is_one_line_and_not_status_0(command, project):
    (project / "train.py").write_text("x = 1\n")
    result = command("check", "--source-only", "train.py", "--output", "/dev/full", cwd=project)
    assert (result.status, result.err) == (3, "ddpdoctor: '/dev/full' cannot be written: No space left on device\n")
    (project / "known.json").symlink_to("/dev/full")
    result = command("check", "--source-only", "train.py", "--baseline", "known.json", "--write-baseline", cwd=project)
    assert (result.status, result.err) == (
        2,
        "ddpdoctor: --baseline: 'known.json' cannot be read: it is no regular file\n",
    )
