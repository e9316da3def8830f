"""Which models the texts make that a program runs as code."""

import pytest
from reading import HEAD, only, read

from ddpdoctor.events import ModelWrapped

OPTIONS = """
import argparse
import torchvision
from torchvision import models
parser = argparse.ArgumentParser()
parser.add_argument("--arch", default="resnet18")
parser.add_argument("--depth", type=int, default=50)
parser.add_argument("--other")
args = parser.parse_args()
"""


def has_norms(folder, text):
    return bool(only(read(folder, text, head=HEAD + OPTIONS).of(ModelWrapped)).norms)


@pytest.mark.parametrize(
    "made",
    [
        "eval('models.resnet18()')",
        "eval('models.' + args.arch)(num_classes=10)",
        "eval('torchvision.models.resnet%d' % args.depth)(num_classes=10)",
        "eval(f'torchvision.models.{args.arch}(num_classes={args.depth})')",
        "eval('models.vgg11' if args.other else 'models.resnet34')()",
        "eval('nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8))')",
        "eval('Own')()",
    ],
)
def test_a_model_that_a_text_makes(tmp_path, made):
    own = """
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.BatchNorm1d(8)

    """
    assert has_norms(tmp_path, f"{own}\n    model = {made}\n    DDP(model)\n")


@pytest.mark.parametrize(
    "made",
    [
        "eval('models.vgg11()')",
        "eval('models.' + args.other)(num_classes=10)",
        "eval(args.other)()",
        "eval('models.resnet18(')",
        "eval('models.resnet18()', {})",
        "eval(args.arch)",
    ],
)
def test_a_text_that_makes_none_or_is_not_known(tmp_path, made):
    assert not has_norms(tmp_path, f"model = {made}\nDDP(model)\n")


def test_what_exec_sets_on_an_object_stays(tmp_path):
    text = """
    class Net(nn.Module):
        def __init__(self, depth):
            super().__init__()
            exec('self.body = models.resnet{}()'.format(depth))

    DDP(Net(args.depth))
    """
    assert has_norms(tmp_path, text)


def test_what_exec_binds_in_a_function_is_gone(tmp_path):
    text = """
    def make():
        body = nn.Linear(2, 2)
        exec('body = models.resnet18()')
        return body

    DDP(make())
    """
    assert not has_norms(tmp_path, text)


def test_a_text_that_runs_itself_ends(tmp_path):
    read(
        tmp_path,
        "text = 'eval(text)'\neval(text)\nrun = eval\nagain = 'run(again)'\nrun(again)\nDDP(nn.Linear(1, 1))\n",
    )
