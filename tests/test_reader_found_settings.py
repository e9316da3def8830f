"""Which configuration files a program's settings are looked for in, and what they say together."""

import pytest
from reading import only, read

from ddpdoctor.events import GroupInit, ModelWrapped
from ddpdoctor.reader.yaml_text import load_yaml
from ddpdoctor.value import UNKNOWN_VALUE

MODELS = """
import importlib
import os

names = [os.path.splitext(name)[0] for name in os.listdir(os.path.dirname(__file__)) if name.endswith("_model.py")]
modules = [importlib.import_module(f"nets.{name}") for name in names]

def create(options):
    for module in modules:
        found = getattr(module, options["model"], None)
        if found is not None:
            break
    if found is None:
        raise ValueError(options["model"])
    return found(options)
"""
RESTORATION = """
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

class Restoration:
    def __init__(self, options):
        self.net = DDP(nn.Sequential(nn.BatchNorm2d(4)), find_unused_parameters=options.get("find_unused", False))
"""
SCRIPT = "import sys\nimport yaml\nfrom nets import create\nmodel = create(yaml.safe_load(open(sys.argv[1])))\n"


def project(tmp_path, files):
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "__init__.py").write_text(MODELS, encoding="utf-8")
    (tmp_path / "nets" / "restoration_model.py").write_text(RESTORATION, encoding="utf-8")
    (tmp_path / "nets" / "plain_model.py").write_text("class Base:\n    pass\n", encoding="utf-8")
    for name, text in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return only(read(tmp_path, SCRIPT).of(ModelWrapped))


@pytest.mark.parametrize("name", ["a.yml", "options/a.yml", "options/train/a.yml", "options/train/denoising/a.yml"])
def test_a_class_in_one_of_many_modules_is_found_by_the_name_in_a_file(tmp_path, name):
    wrap = project(tmp_path, {name: "model: Restoration\n"})
    assert [norm.type for norm in wrap.norms] == ["torch.nn.BatchNorm2d"]


def test_a_class_in_one_of_many_modules_is_one_of_them_where_no_file_says_which(tmp_path):
    assert [norm.type for norm in project(tmp_path, {}).norms] == ["torch.nn.BatchNorm2d"]


@pytest.mark.parametrize(("others", "found"), [(1, True), (3, False)])
def test_what_a_few_files_of_many_switch_on_is_no_default(tmp_path, others, found):
    files = {f"options/{i}.yml": "model: Restoration\n" for i in range(others)}
    files["options/x.yml"] = "model: Restoration\nfind_unused: true\n"
    value = project(tmp_path, files).options["find_unused_parameters"]
    assert getattr(getattr(value, "default", None), "value", None) is found


@pytest.mark.parametrize("text", ["{{ backend }}", "{% if cuda %}nccl{% endif %}", "{[a]: 1}", "{{a: 1}: 2}"])
def test_a_template_and_keys_that_are_no_names_are_not_known(tmp_path, text):
    assert load_yaml(f"a: {text}\nb: 1\n") == {"a": UNKNOWN_VALUE, "b": 1}
    (tmp_path / "a.yaml").write_text(f"backend: {text}\n", encoding="utf-8")
    script = "import yaml\ndist.init_process_group(yaml.safe_load(open('a.yaml'))['backend'])\n"
    assert only(read(tmp_path, script).of(GroupInit)).backend.text() == "yaml['backend']"


LAUNCHERS = """
import torch.distributed as dist

def init_dist_pytorch(backend):
    dist.init_process_group(backend)

def init_dist_slurm(backend):
    dist.init_process_group(backend, init_method="tcp://first:29500")

def backends():
    return ["nccl"]
"""
OPTION = """
import argparse
import launchers

parser = argparse.ArgumentParser()
parser.add_argument("--launcher", choices=["none", "pytorch", "slurm"], default="none")
args = parser.parse_args()
"""


@pytest.mark.parametrize("name", ['"init_dist_%s" % args.launcher', 'f"init_dist_{args.launcher}"'])
def test_a_function_that_no_default_names_is_any_that_the_name_can_be(tmp_path, name):
    script = OPTION + f'if args.launcher != "none":\n    getattr(launchers, {name})("nccl")\n'
    inits = read(tmp_path, script, launchers=LAUNCHERS).of(GroupInit)
    assert {init.init_method is not None for init in inits} == {False, True}


def test_a_function_that_a_default_names_is_that_one(tmp_path):
    script = OPTION.replace('default="none"', 'default="slurm"')
    script += 'getattr(launchers, "init_dist_" + args.launcher)("nccl")\n'
    assert only(read(tmp_path, script, launchers=LAUNCHERS).of(GroupInit)).init_method is not None


TASK = """
import torch.distributed as dist

def main(options):
    dist.init_process_group("%s")
"""


@pytest.mark.parametrize(("default", "found"), [("", {"nccl", "gloo"}), (", default='video'", {"gloo"})])
def test_a_module_of_one_of_several_packages_is_each_that_there_is(tmp_path, default, found):
    script = f"""
import argparse
import importlib

parser = argparse.ArgumentParser()
parser.add_argument("--task"{default})
args = parser.parse_args()
importlib.import_module(f"tasks.{{args.task}}.train").main(args)
"""
    modules = {"tasks__image__train": TASK % "nccl", "tasks__video__train": TASK % "gloo", "tasks__other__x": "x = 1"}
    program = read(tmp_path, script, **modules)
    assert {init.backend.value for init in program.of(GroupInit)} == found
