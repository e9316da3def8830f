"""How the reader follows classes that a configuration file names by a dotted path: ``target: trainers.gan.Trainer``."""

import pytest
from reading import only, read

from ddpdoctor.events import GroupInit
from ddpdoctor.reader.concern import may_concern
from ddpdoctor.reader.project import Project
from ddpdoctor.reader.source import load

TRAINER = {
    "work__plain": """
        import torch.distributed as dist
        class Trainer:
            def __init__(self, config): self.config = config
            def fit(self): dist.init_process_group("gloo")
        """,
    "work__other": "class Trainer:\n    def __init__(self, config): pass\n    def fit(self): print('other')\n",
}

OF_PATH = """
        import importlib
        def of_path(path):
            module, name = {parted}
            return getattr(importlib.import_module(module, package=None), name)
"""


@pytest.mark.parametrize(
    "parted",
    [
        'path.rsplit(".", 1)',
        'path.rsplit(".", maxsplit=1)',
        '".".join(path.split(".")[:-1]), path.split(".")[-1]',
        'path.rpartition(".")[0], path.rpartition(".")[2]',
    ],
)
@pytest.mark.parametrize("other", ["", "target: work.other.Trainer\n"])
def test_the_class_that_a_file_names_is_made(tmp_path, parted, other):
    """Of several files that name different ones, the first stands for all."""
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "first.yaml").write_text("target: work.plain.Trainer\n")
    if other:
        (tmp_path / "configs" / "second.yaml").write_text(other)
    program = read(
        tmp_path,
        OF_PATH.format(parted=parted)
        + """
        import argparse
        from omegaconf import OmegaConf
        parser = argparse.ArgumentParser()
        parser.add_argument("--config", required=True)
        config = OmegaConf.load(parser.parse_args().config)
        of_path(config.target)(config).fit()
        """,
        **TRAINER,
    )
    assert only(program.of(GroupInit)).place.file.endswith("plain.py")


def test_the_numbers_of_gpus_in_an_option_are_as_many_as_the_user_gives(tmp_path):
    program = read(
        tmp_path,
        """
        import argparse
        parser = argparse.ArgumentParser()
        parser.add_argument("--gpus", default="0")
        gpus = parser.parse_args().gpus.split(",")
        if len(gpus) > 1:
            dist.init_process_group("nccl", world_size=len(gpus))
        """,
    )
    assert only(program.of(GroupInit)).when


@pytest.mark.parametrize(
    ("call", "concerns"),
    [
        ("importlib.import_module(config.module).fit()", True),
        ("importlib.import_module(f'work.{config.name}').fit()", True),
        ("hydra.utils.instantiate(config.trainer).fit()", True),
        ("__import__(config.module)", True),
        ("importlib.import_module(config.module).fit()  # no torch", False),
        ("importlib.import_module('json').dumps(1)", False),
        ("__import__('json').dumps(1)", False),
    ],
)
def test_what_is_imported_by_a_name_in_a_file_can_be_of_concern(tmp_path, call, concerns):
    (tmp_path / "main.py").write_text(f"import importlib\nfrom config import config\n{call}\n")
    (tmp_path / "config.py").write_text("" if "no torch" in call else "import torch\n")
    project = Project(str(tmp_path / "main.py"), str(tmp_path))
    project.main.source = load(str(tmp_path / "main.py"))
    assert may_concern(project) is concerns
