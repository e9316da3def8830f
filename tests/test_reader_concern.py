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
        "import lab.engine\nlab.engine.fit()",
        "from lab import engine\nengine.fit()",
        "from lab import engine as e\nengines = {'plain': e}\n",
        "from lab.engine import fit\nfit()",
        "import os, lab.engine as e\ne.fit()",
        "from lab import (\n    data,\n    engine,\n)\nengine.fit()",
        "def main():\n    from lab.engine import fit\n    fit()",
        "from lab.facade import *\nfit()",
        "from lab.facade import fit as go\ngo()",
        "import lab\nlab.facade.fit()",
        "import lab.facade\ngetattr(lab.facade, 'f' + 'it')()",
        "from lab.trainer import Trainer\nTrainer().run()",
        "from lab.registry import TRAINERS\nTRAINERS['plain']().run()",
        "import lab.starts",
    ],
)
def test_a_word_in_a_module_is_enough_however_it_is_reached(tmp_path, importing):
    files = {
        "train.py": f"{importing}\n",
        "lab/__init__.py": "",
        "lab/data.py": "",
        "lab/facade.py": "from .engine import fit\n",
        "lab/engine.py": "import torch.distributed as dist\n\n\ndef fit():\n    dist.barrier()\n",
        "lab/trainer.py": "from .engine import fit\n\n\nclass Trainer:\n    def run(self):\n        fit()\n",
        "lab/registry.py": "from .trainer import Trainer\n\nTRAINERS = {\n    'plain': Trainer,\n}\n",
        "lab/starts.py": "from .engine import fit\n\nfit()\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert concerned(tmp_path / "train.py")
    (tmp_path / "lab/engine.py").write_text("import torch\n")
    os.utime(tmp_path / "lab/engine.py", ns=(1, 1))
    assert not concerned(tmp_path / "train.py")


@pytest.mark.parametrize(
    "script",
    [
        "from lab import Net\nNet()(1)",
        "import lab\nlab.Net()(1)",
        "from lab import *\nNet()(1)",
        "# lab.engine.fit is for several processes\nfrom lab.net import Net\nNet()",
        "from lab.net import Net\n\n\ndef main():\n    r'Not lab.engine.fit.'\n    Net()\n",
    ],
)
def test_what_a_program_does_not_come_to_is_of_no_concern(tmp_path, script):
    files = {
        "train.py": f"{script}\n",
        "lab/__init__.py": "from .net import Net\nfrom .engine import fit\n\n__all__ = ['Net', 'fit']\n",
        "lab/net.py": 'import torch\n\n\nclass Net(torch.nn.Module):\n    """Has no DataParallel in it."""\n',
        "lab/engine.py": "import torch.distributed as dist\n\n\ndef fit():\n    dist.barrier()\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
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


def test_a_module_that_does_not_speak_of_ranks_is_left_to_its_callers(tmp_path):
    trainer = "class Trainer:\n    def run(self, model):\n        {}\n"
    (tmp_path / "lab.py").write_text(
        f"import torch\n\n\n{trainer.format('dist.barrier()')}\nimport torch.distributed as dist\n"
    )
    (tmp_path / "mine.py").write_text("from lab import Trainer\n\n\nclass Mine(Trainer):\n    epochs = 3\n")
    (tmp_path / "ours.py").write_text("from lab import Trainer\n\n\nclass Ours(Trainer):\n    world_size = 3\n")
    (mine,) = reader.read(str(tmp_path / "mine.py"), str(tmp_path))
    (ours,) = reader.read(str(tmp_path / "ours.py"), str(tmp_path))
    assert ("Collective" in mine.kinds, "Collective" in ours.kinds) == (False, True)
