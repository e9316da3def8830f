"""How the reader follows registries: classes that a decorator stores, packages whose modules are all imported."""

import pytest
from reading import only, read

from ddpdoctor.events import ModelWrapped
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
