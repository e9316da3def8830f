"""Objects that are not the project's own, or not under the name that they are imported by."""

import pytest
from reading import only, read

from ddpdoctor import reader
from ddpdoctor.events import DeviceSelected, DeviceUsed, GroupInit, ModelHandedOver, StateLoaded
from ddpdoctor.facts.gpus import indices
from ddpdoctor.world import WORLDS


def numbers(event: DeviceUsed | DeviceSelected) -> list[int | None]:
    """Return the number of the GPU that each rank of two nodes names."""
    assert event.index is not None
    return [index for _, index in indices(event.index, event.when, WORLDS["torchrun"])]


def test_what_an_unknown_object_is_given_is_read_back(tmp_path):
    """``CFG.rank = int(os.environ["RANK"])``, where CFG is an attribute of a module that an option names."""
    program = read(
        tmp_path,
        """
        import argparse, importlib
        options = argparse.ArgumentParser().parse_args()
        CFG = getattr(importlib.import_module(options.config), "Config")
        CFG.rank = int(os.environ["RANK"])
        CFG.own.local = int(os.environ["LOCAL_RANK"])

        def train(config):
            torch.cuda.set_device(config.rank)
            torch.cuda.set_device(config.own.local)

        dist.init_process_group("nccl")
        train(CFG)
        """,
    )
    assert [numbers(event) for event in program.of(DeviceSelected)] == [[0, 1, 2, 3], [0, 1, 0, 1]]


def test_an_attribute_that_holds_what_it_was_is_no_endless_chain(tmp_path):
    """Written under a test, an attribute is what it was before otherwise: itself, as far as is known."""
    program = read(
        tmp_path,
        """
        import argparse
        options = argparse.ArgumentParser().parse_args()
        if options.debug:
            options.model.width = 1
        options.model.width.value.more
        dist.init_process_group("nccl")
        """,
    )
    assert program.complete
    assert only(program.of(GroupInit)).backend.text() == "'nccl'"


def test_a_package_is_found_in_a_checkout_of_another_name(tmp_path):
    """The script is in the package that it imports by name, and the folder is called as the download was."""
    folder = tmp_path / "owner-lines-main"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "launch.py").write_text(
        "import torch.distributed as dist\ndef begin():\n    dist.init_process_group('gloo')\n"
    )
    script = folder / "train.py"
    script.write_text("from lines.launch import begin\nbegin()\n")
    (program,) = reader.read(str(script), str(folder))
    assert only(program.of(GroupInit)).place.file.endswith("launch.py")


def test_no_other_package_is_taken_for_the_one_that_the_script_is_in(tmp_path):
    """``utils`` of another distribution is not the folder that the script is in."""
    folder = tmp_path / "owner-lines-main"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "launch.py").write_text(
        "import torch.distributed as dist\ndef begin():\n    dist.init_process_group('gloo')\n"
    )
    script = folder / "train.py"
    script.write_text("import torch.distributed\nfrom words.launch import begin\nbegin()\n")
    (program,) = reader.read(str(script), str(folder))
    assert program.of(GroupInit) == ()


def test_accelerate_says_which_rank_this_is(tmp_path):
    """``process_index`` is the global rank, ``local_process_index`` that on the node."""
    program = read(
        tmp_path,
        """
        from accelerate import Accelerator
        accelerator = Accelerator()
        torch.zeros(1, device=accelerator.process_index)
        torch.zeros(1, device=accelerator.local_process_index)
        """,
    )
    assert [numbers(event) for event in program.of(DeviceUsed)] == [[0, 1, 2, 3], [0, 1, 0, 1]]


LIGHTNING = """
from lightning.pytorch.strategies import DDPStrategy, FSDPStrategy
import lightning.pytorch as pl

class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)

pl.Trainer({options}).fit(Model())
"""


def test_lightning_replicates_where_an_object_or_all_gpus_say_so(tmp_path):
    """A strategy can be an object of its class, and ``devices=-1`` means all that there are."""
    for options, replicated in (
        ("strategy=DDPStrategy(find_unused_parameters=False)", True),
        ("devices=-1", True),
        ("devices=1, strategy=DDPStrategy()", False),
        ("strategy=FSDPStrategy(), devices=4", False),
    ):
        program = read(tmp_path, LIGHTNING.format(options=options))
        assert bool(program.of(ModelHandedOver)) is replicated, options


def test_a_loop_over_the_keys_of_a_dictionary_gives_each_a_new_value(tmp_path):
    """Whatever keys there are."""
    program = read(
        tmp_path,
        """
        from elsewhere import more
        names = {"first": os.environ["RANK"], "second": os.environ["LOCAL_RANK"]}
        names.update({key: 1 for key in more()})
        for key in names:
            names[key] = "gloo"
        dist.init_process_group(names["first"])
        """,
    )
    assert only(program.of(GroupInit)).backend.text() == "'gloo'"


@pytest.mark.parametrize(
    "test",
    [
        "type(model) == DDP",
        "type(model) is DDP",
        "type(model) in (nn.DataParallel, DDP)",
        "model.__class__ is DDP",
        "type(model) is not Net",
        "not type(model) == Net",
    ],
)
def test_the_class_of_a_model_is_known(tmp_path, test):
    program = read(
        tmp_path,
        f"""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2, 2)

def bare(model):
    return model.module if {test} else model

net = Net()
bare(net).load_state_dict(torch.load("net.pt"))
bare(DDP(net)).load_state_dict(torch.load("net.pt"))
""",
    )
    loaded = program.of(StateLoaded)
    assert [(event.into.type, event.when) for event in loaded] == [("Net", frozenset())] * 2


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ("pyproject.toml", '[tool.uv.workspace]\nmembers = ["libs/*", "apps/*"]\n'),
        (
            "apps/train/pyproject.toml",
            '[tool.poetry.dependencies]\ncommon = { path = "../../libs/common", develop = true }\n',
        ),
    ],
)
def test_a_package_of_the_same_workspace_is_followed(tmp_path, where, text):
    script = tmp_path / "apps/train/src/train/main.py"
    package = tmp_path / "libs/common/src/common"
    for folder in (script.parent, package):
        folder.mkdir(parents=True)
    (tmp_path / where).write_text(text)
    (package / "__init__.py").write_text("")
    (package / "setup.py").write_text(
        "import torch.distributed as dist\n\ndef start():\n    dist.init_process_group('nccl')\n"
    )
    script.write_text("import torch.distributed\nfrom common.setup import start\n\nstart()\n")
    (program,) = reader.read(str(script), str(tmp_path / "apps/train"))
    assert only(program.of(GroupInit)).backend.text() == "'nccl'"


def test_a_description_that_cannot_be_read_says_nothing(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        "import torch.distributed as dist\nimport common\n\ndef go():\n    dist.init_process_group('gloo')\n"
    )
    (tmp_path / "pyproject.toml").mkdir()
    (tmp_path / "setup.py").write_bytes(b"# \xff\xfe\nentry_points = {'console_scripts': ['go = train:go']}\n")
    (program,) = reader.read(str(script), str(tmp_path))
    assert only(program.of(GroupInit)).backend.text() == "'gloo'"
