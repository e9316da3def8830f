"""Programs that have nothing to do with distributed training are told by their text, and are not walked."""

import os
from pathlib import Path

import pytest
from test_examples import BAD

from ddpdoctor import reader
from ddpdoctor.reader.concern import may_concern
from ddpdoctor.reader.project import Project
from ddpdoctor.reader.source import load


def concerned(script: Path) -> bool:
    project = Project(str(script), str(script.parent))
    project.main.source = load(str(script))
    return may_concern(project)


@pytest.mark.parametrize("path", [path for path in BAD if path.suffix == ".py"], ids=lambda path: path.name)
def test_every_program_with_a_fault_has_one_of_the_words(path):
    if load(str(path)).tree is not None:
        assert concerned(path)


@pytest.mark.parametrize(
    "importing",
    [
        "import lab.engine",
        "from lab import engine",
        "from lab.engine import fit",
        "import os, lab.engine as e",
        "from lab import (\n    data,\n    engine,\n)",
        "def main():\n    from lab.engine import fit",
        "from lab.facade import *",
    ],
)
def test_a_word_in_a_module_is_enough_however_it_is_imported(tmp_path, importing):
    files = {
        "train.py": f"{importing}\n",
        "lab/__init__.py": "",
        "lab/data.py": "",
        "lab/facade.py": "from .engine import fit\n",
        "lab/engine.py": "import torch.distributed as dist\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert concerned(tmp_path / "train.py")
    (tmp_path / "lab/engine.py").write_text("import torch\n")
    os.utime(tmp_path / "lab/engine.py", ns=(1, 1))
    assert not concerned(tmp_path / "train.py")


def test_modules_that_import_each_other_come_to_an_end(tmp_path):
    (tmp_path / "train.py").write_text("import one\n")
    (tmp_path / "one.py").write_text("import two\nimport train\n")
    (tmp_path / "two.py").write_text("import one\nfrom .. import nothing\n")
    assert not concerned(tmp_path / "train.py")


def test_what_is_of_no_concern_has_an_empty_trace(tmp_path):
    script = tmp_path / "tool.py"
    script.write_text("import os\nos.environ['HOME'] = '/'\nopen('log.txt', 'w').write('x')\n")
    (trace,) = reader.read(str(script), str(tmp_path))
    assert (len(trace.kinds), trace.complete, trace.entered) == (0, True, True)
