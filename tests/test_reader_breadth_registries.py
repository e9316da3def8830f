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


PLAIN = """
    known = {}
    def register(name):
        def decorator(cls):
            known[name] = cls
            return cls
        return decorator
    """


@pytest.mark.parametrize("name", ["'small'", "json.load(open('a.json'))['trainer']"])
def test_a_table_of_another_module_is_filled_by_imports(tmp_path, name):
    (tmp_path / "trainers").mkdir()
    (tmp_path / "trainers" / "__init__.py").write_text(
        "from .registry import known, register\nfrom . import plain, small\n"
    )
    program = read(
        tmp_path,
        f"import json\nimport trainers\ntrainers.known[{name}](1).run()\n",
        trainers__registry=PLAIN,
        trainers__plain="""
            from torch import nn
            from trainers import register
            @register("plain")
            class Plain:
                def __init__(self, width): self.model = nn.Linear(width, 1)
                def run(self): pass
            """,
        trainers__small="""
            from trainers import register
            from trainers.plain import Plain
            from torch.nn.parallel import DistributedDataParallel as DDP
            @register("small")
            class Small(Plain):
                def run(self): DDP(self.model)
            """,
    )
    assert only(program.of(ModelWrapped)).how.endswith("DistributedDataParallel")


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


NETWORKS = """
from torch import nn
def conv3x3(width): return nn.Conv2d(width, width, 3)
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.BatchNorm2d(width)
def small(width=4): return nn.Sequential(conv3x3(width), Block(width))
"""
NAMED = """
import argparse, importlib
import nets.plain, nets.listed
from nets import plain
parser = argparse.ArgumentParser()
parser.add_argument("--model", required=True)
name = parser.parse_args().model
"""


@pytest.mark.parametrize(
    "made",
    [
        "plain.__dict__[name]()",
        "getattr(plain, name)()",
        "getattr(nets.listed, name)()",
        "vars(plain)[name]()",
        "plain.__dict__.get(name)()",
        "importlib.import_module('nets.plain').__getattribute__(name)()",
        "importlib.import_module('nets.' + name).__getattribute__('small')()",
        "getattr(importlib.import_module('nets.' + name), 'small')()",
        "getattr(plain, name + 'all')()",
    ],
)
def test_a_function_of_a_module_is_called_by_a_name_that_is_not_known(tmp_path, made):
    listed = f"__all__ = ['small']{NETWORKS}def no_model(): pass\n"
    program = read(
        tmp_path, f"{NAMED}DDP({made})\n", nets____init__="", nets__plain=NETWORKS, nets__listed=listed, nets__none=""
    )
    assert {norm.type for norm in only(program.of(ModelWrapped)).norms} == {"torch.nn.BatchNorm2d"}


@pytest.mark.parametrize("made", ["getattr(plain, 'build_' + name)()", "getattr(nets.listed, name)()"])
def test_a_name_that_none_can_have_makes_nothing(tmp_path, made):
    program = read(
        tmp_path, f"{NAMED}DDP({made})\n", nets____init__="", nets__plain=NETWORKS, nets__listed="__all__ = ['none']"
    )
    assert only(program.of(ModelWrapped)).norms == ()


def test_one_of_many_registered_functions_stands_for_all(tmp_path):
    many = "\n".join(f"def net{i}(): return small({i})" for i in range(9))
    table = "NETS = {" + ", ".join(f"'net{i}': net{i}" for i in range(9)) + "}"
    program = read(tmp_path, "from nets import NETS\nDDP(NETS[input()]())\n", nets=f"{NETWORKS}{many}\n{table}\n")
    assert [norm.type for norm in only(program.of(ModelWrapped)).norms] == ["torch.nn.BatchNorm2d"]


@pytest.mark.parametrize(
    ("register", "made"),
    [
        ("@MODELS.register()", "MODELS.get('Net')(width=8)"),
        ("@MODELS.register()", "MODELS.get(input())(width=8)"),
        ("@MODELS.register('other')", "MODELS.get('other')(width=8)"),
        ("@MODELS.register_module()", "MODELS.build(dict(type='Net', width=8))"),
        ("@MODELS.register_module(name='other')", "MODELS.build({'type': 'other', 'width': 8})"),
    ],
)
@pytest.mark.parametrize("package", ["fvcore.common.registry", "mmcv.utils", "mmengine"])
def test_a_registry_of_a_library_gives_what_is_registered(tmp_path, package, register, made):
    program = read(
        tmp_path,
        f"import nets\nfrom models import MODELS\nDDP({made})\n",
        models=f"from {package} import Registry\nMODELS = Registry('models')\n",
        nets=NETS.replace("from registry", "from models").replace("@MODELS.register()", register),
    )
    wrapped = only(program.of(ModelWrapped))
    assert isinstance(wrapped.model, Ref)
    assert [norm.type for norm in wrapped.norms] == ["torch.nn.BatchNorm2d"]


def test_a_folder_of_folders_is_a_package(tmp_path):
    program = read(tmp_path, "from parts.nets.plain import small\nDDP(small())\n", parts__nets__plain=NETWORKS)
    assert [norm.type for norm in only(program.of(ModelWrapped)).norms] == ["torch.nn.BatchNorm2d"]


@pytest.mark.parametrize("base", ["nn.modules.batchnorm._BatchNorm", "nn.modules.BatchNorm2d", "nn.BatchNorm2d"])
def test_a_batch_norm_by_its_full_name_is_one(tmp_path, base):
    program = read(tmp_path, f"class Norm({base}): pass\nDDP(nn.Sequential(Norm(4)))\n")
    assert [norm.type for norm in only(program.of(ModelWrapped)).norms] == ["Norm"]


@pytest.mark.parametrize(
    "made",
    [
        "{'a': partial(small, width=3), 'b': small}[input()]()",
        "{'a': (small, 3), 'b': (small, 4)}[input()][0]()",
        "{'a': small(3), 'b': small(4)}[input()]",
        "{'a': lambda: small(3), 'b': small}.get(input())()",
    ],
)
def test_what_a_table_holds_ready_for_use_is_taken_by_a_name_that_is_not_known(tmp_path, made):
    program = read(tmp_path, f"from functools import partial\nfrom nets import small\nDDP({made})\n", nets=NETWORKS)
    assert {norm.type for norm in only(program.of(ModelWrapped)).norms} == {"torch.nn.BatchNorm2d"}
