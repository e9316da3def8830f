"""How the reader follows registries: classes that a decorator stores, packages whose modules are all imported."""

import pytest
from reading import only, read

from ddpdoctor.events import FileUsed, ModelWrapped
from ddpdoctor.value import Ref

REGISTRY = """
class Registry:
    def __init__(self):
        self.known = {}

    def register(self, given=None):
        if given is None:
            def add(cls):
                self.known[cls.__name__] = cls
                return cls
            return add
        self.known[given.__name__] = given
        return given

    def get(self, name):
        found = self.known.get(name)
        if found is None:
            raise KeyError(name)
        return found

MODELS = Registry()
"""
NETS = """
from torch import nn
from registry import MODELS

@MODELS.register()
class Net(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.norm = nn.BatchNorm2d(width)
"""


@pytest.mark.parametrize(
    "importing",
    [
        "import nets.plain",
        "import importlib\nimportlib.import_module('nets.plain')",
        "import importlib\nimportlib.import_module('.plain', package='nets')",
        "import importlib\nfor name in os.listdir('nets'):\n    importlib.import_module(f'nets.{name[:-3]}')",
        "import importlib\nall_of_them = [importlib.import_module('nets.' + name) for name in os.listdir('nets')]",
    ],
)
@pytest.mark.parametrize("name", ["'Net'", "input()", "json.load(open('a.json'))['type']"])
def test_a_registered_class_is_made_by_its_name(tmp_path, importing, name):
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "__init__.py").touch()
    program = read(
        tmp_path,
        f"import json\n{importing}\nfrom registry import MODELS\nDDP(MODELS.get({name})(width=8))\n",
        registry=REGISTRY,
        nets__plain=NETS,
    )
    wrapped = only(program.of(ModelWrapped))
    assert isinstance(wrapped.model, Ref)
    assert wrapped.model.type.endswith("Net")
    assert [norm.type for norm in wrapped.norms] == ["torch.nn.BatchNorm2d"]


TRAINERS = {
    "trainers__plain": """
        from torch import nn
        def build(**options): return nn.Sequential(nn.Linear(1, 1), nn.BatchNorm1d(1))
        """,
    "trainers__none": "import torch",
    "trainers__small": """
        from torch import nn
        def build(**options): return nn.Linear(1, 1)
        """,
}


@pytest.mark.parametrize(
    "module",
    [
        "importlib.import_module('.' + config['trainer'], 'trainers')",
        "importlib.import_module(f'trainers.{config[\"trainer\"]}')",
        "importlib.import_module('trainers.%s' % os.environ['TRAINER'])",
        "__import__('trainers.' + config['trainer'], fromlist=['build'])",
        "importlib.import_module('trainers.' + config['trainer'] + 'n')",
    ],
)
def test_what_is_done_with_a_module_that_a_configuration_names_is_done_with_each(tmp_path, module):
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "first.yaml").write_text("trainer: plain\n")
    program = read(
        tmp_path,
        f"import importlib, yaml\nconfig = yaml.safe_load(open('configs/first.yaml'))\n"
        f"model = {module}.build(width=3)\nDDP(model)\n",
        **TRAINERS,
    )
    wrapped = only(program.of(ModelWrapped))
    assert [norm.type for norm in wrapped.norms] == ["torch.nn.BatchNorm1d"]


def test_the_module_that_an_option_names_by_default_is_the_one(tmp_path):
    program = read(
        tmp_path,
        """
        import argparse, importlib
        parser = argparse.ArgumentParser()
        parser.add_argument("--trainer", default="small")
        args = parser.parse_args()
        DDP(importlib.import_module("trainers." + args.trainer).build())
        """,
        **TRAINERS,
    )
    assert only(program.of(ModelWrapped)).norms == ()


def test_what_only_another_configuration_names_is_done_too(tmp_path):
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "first.yaml").write_text("data: points\n")
    program = read(
        tmp_path,
        """
        import importlib, yaml
        config = yaml.safe_load(open("configs/first.yaml"))
        importlib.import_module("." + config["data"], "data").load()
        """,
        data__points="def load(): return [1]",
        data__faces="import torchvision\ndef load(): return torchvision.datasets.CIFAR10('.', download=True)",
    )
    assert [event.op for event in program.of(FileUsed) if event.by != "builtins.open"] == ["download"]
