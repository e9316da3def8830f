"""Modules in folders that a program puts on ``sys.path`` itself."""

import pytest
from reading import only, read

from ddpdoctor import reader
from ddpdoctor.events import GroupInit

MODULE = "import torch.distributed as dist\ndef start():\n    dist.init_process_group('nccl')\n"


@pytest.mark.parametrize(
    "lines",
    [
        "sys.path.append('library')",
        "sys.path.insert(0, os.path.join(os.path.dirname(__file__), 'library'))",
        "sys.path.append(os.path.dirname(os.path.abspath(__file__)) + '/library')",
        "sys.path.append(f'{os.path.dirname(os.path.realpath(__file__))}/library')",
        "sys.path.append(os.path.join(os.getcwd(), 'library'))",
        "sys.path.append(str(Path(__file__).resolve().parent / 'library'))",
        "sys.path.append(str(Path(__file__).absolute().parents[0] / 'library'))",
        "sys.path.append(os.path.join(os.path.abspath('.'), 'library'))",
        "here = os.path.realpath('.') + '/x'\nsys.path.append(here[: here.rindex('/')] + '/library')",
        "sys.path.append(os.path.dirname(os.path.abspath(__file__)).rsplit('/x', 1)[0] + '/library')",
        "sys.path.append(os.path.abspath(os.path.join(os.getcwd(), 'library')))",
        "def add(folder):\n    if folder not in sys.path:\n        sys.path.insert(0, folder)\nadd('library')",
    ],
)
def test_a_folder_on_the_path_has_modules(tmp_path, lines):
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "setup_ranks.py").write_text(MODULE)
    text = f"import os, sys\nfrom pathlib import Path\n{lines}\nfrom setup_ranks import start\nstart()\n"
    assert only(read(tmp_path, text).of(GroupInit)).place.file.endswith("setup_ranks.py")


@pytest.mark.parametrize(
    "lines",
    [
        "sys.path.append('../library')",
        "sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + '/library')",
        "sys.path.append(str(Path(__file__).resolve().parents[1] / 'library'))",
    ],
)
def test_a_script_in_a_folder_of_its_own(tmp_path, lines):
    for folder in ("library", "tools"):
        (tmp_path / folder).mkdir()
    (tmp_path / "library" / "setup_ranks.py").write_text(MODULE)
    script = tmp_path / "tools" / "train.py"
    script.write_text(
        f"import os, sys, torch.distributed\nfrom pathlib import Path\n{lines}\n"
        "import setup_ranks\nsetup_ranks.start()\n"
    )
    (program,) = reader.read(str(script), str(tmp_path))
    assert only(program.of(GroupInit)).place.file.endswith("setup_ranks.py")


def test_a_module_that_is_imported_for_the_path_alone(tmp_path):
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "setup_ranks.py").write_text(MODULE)
    (tmp_path / "paths.py").write_text(
        "import os.path as osp\nimport sys\ndef add(folder):\n    sys.path.insert(0, folder)\n"
        "add(osp.join(osp.dirname(__file__), 'library'))\n"
    )
    program = read(tmp_path, "import paths\nfrom setup_ranks import start\nstart()\n")
    assert len(program.of(GroupInit)) == 1


def test_what_is_not_on_the_path_is_not_found(tmp_path):
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "setup_ranks.py").write_text(MODULE)
    assert not read(tmp_path, "import sys\nfrom setup_ranks import start\nstart()\n").of(GroupInit)


def test_installed_packages_are_found_by_themselves_alone(tmp_path):
    installed = tmp_path / "site-packages"
    for name in ("ours", "other"):
        (installed / name).mkdir(parents=True)
        (installed / name / "__init__.py").write_text(MODULE if name == "other" else "")
    (installed / "ours" / "ranks.py").write_text(MODULE)
    script = installed / "ours" / "train.py"
    script.write_text("from .ranks import start\nstart()\n")
    programs = reader.read(str(script), str(installed))
    assert only(list(only(list(programs)).of(GroupInit))).place.file.endswith("ranks.py")
    script.write_text("from other import start\nimport torch.distributed\nstart()\n")
    assert not only(list(reader.read(str(script), str(installed)))).of(GroupInit)
