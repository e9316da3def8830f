"""Constants in a script that switch its ranks on: options, which are set in the script."""

import pytest
from reading import only, read

from ddpdoctor.events import GroupInit, Reported

SCRIPT = """
{before}
{name} = {value}
{after}
if {test}:
    dist.init_process_group("nccl")
"""
SWITCHES = {
    "plain": ({}, True),
    "capitals": ({"name": "USE_DDP", "test": "USE_DDP"}, True),
    "in a longer test": ({"test": "distributed and torch.cuda.device_count() > 1"}, True),
    "of another thing": ({"name": "verbose", "test": "verbose"}, False),
    "given another value later": ({"after": "distributed = torch.cuda.device_count() < 1 and False"}, False),
    "worked out": ({"value": "1 > 2"}, False),
}


@pytest.mark.parametrize("name", SWITCHES)
def test_a_constant_that_switches_the_ranks_on_is_an_option(tmp_path, name):
    parts, is_option = SWITCHES[name]
    written = {"before": "", "name": "distributed", "value": "False", "after": "", "test": "distributed", **parts}
    events = read(tmp_path, SCRIPT.format(**written)).of(GroupInit)
    if not is_option:
        assert events == ()
        return
    switch = next(literal for literal in only(events).when if literal.atom.text == written["name"])
    assert (switch.holds, switch.atom.kind, switch.atom.by_default) == (True, "configuration", False)


REPORT = """
from transformers import BertPreTrainedModel

class Net(BertPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x)

dist.init_process_group("nccl")
sampler = DistributedSampler(range(8))
model = Net.from_pretrained("net")
if isinstance(model, {wrapper}):
    model = model.module
for x in DataLoader(range(8), sampler=sampler):
    with torch.no_grad():
        loss = model(x)
print(loss)
"""


@pytest.mark.parametrize("wrapper", ["nn.DataParallel", "(nn.DataParallel, DDP)", "torch.nn.parallel.DataParallel"])
def test_a_model_of_the_project_is_no_wrapper_whatever_its_base(tmp_path, wrapper):
    report = only(read(tmp_path, REPORT.replace("{wrapper}", wrapper)).of(Reported))
    assert len(report.loaders) == 1
    assert not any("DataParallel" in literal.atom.text for literal in report.when)
