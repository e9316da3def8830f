"""BatchNorm in models that a framework wraps: advice where it replicates them, and nothing converts the layers."""

import pytest
from reading import read

from ddpdoctor import registry

LIGHTNING = """
import lightning as L

class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4), {layer})

L.Trainer({options}).fit(Model(), [])
"""
ACCELERATE = """
from accelerate import Accelerator

accelerator = Accelerator({options})
model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
{before}
model = accelerator.prepare(model)
for x in [1, 2]:
    {step}
"""
FABRIC = """
import lightning as L

fabric = L.Fabric({options})
model = fabric.setup(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)))
fabric.backward(model(torch.ones(2, 4)).sum())
"""


def found(folder, text):
    return len(list(registry.load("unconverted-batchnorm").predict(read(folder, text))))


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ("strategy='ddp', devices=2", 1),
        ("strategy='ddp_find_unused_parameters_true'", 1),
        ("gpus=[0, 1]", 1),
        ("devices='8'", 1),
        ("num_nodes=4, devices=1, strategy='ddp'", 1),
        ("strategy='ddp', devices=2, sync_batchnorm=False", 1),
        ("strategy='ddp', devices=2, sync_batchnorm=True", 0),
        ("strategy='ddp', devices=2, sync_batchnorm=options.sync", 0),
        ("strategy='ddp', devices=1", 0),
        ("strategy='fsdp', devices=8", 0),
        ("**options", 0),
        ("max_epochs=3", 0),
    ],
)
def test_a_trainer_that_replicates_leaves_the_layers_as_they_are(options, count, tmp_path):
    assert found(tmp_path, LIGHTNING.format(layer="nn.BatchNorm1d(4)", options=options)) == count
    assert found(tmp_path, LIGHTNING.format(layer="nn.LayerNorm(4)", options=options)) == 0


@pytest.mark.parametrize(
    ("parts", "count"),
    [
        ({}, 1),
        ({"options": "mixed_precision='bf16'"}, 1),
        ({"options": "fsdp_plugin=plugin"}, 0),
        ({"before": "model = nn.SyncBatchNorm.convert_sync_batchnorm(model)"}, 0),
        ({"before": "model.eval()"}, 0),
        ({"step": "model(x)"}, 0),
    ],
    ids=str,
)
def test_what_accelerate_prepares_and_the_script_trains_is_advised_on(parts, count, tmp_path):
    whole = {"options": "", "before": "", "step": "accelerator.backward(model(x).sum())", **parts}
    assert found(tmp_path, ACCELERATE.format(**whole)) == count


@pytest.mark.parametrize(("options", "count"), [("devices=4, strategy='ddp'", 1), ("devices=1", 0), ("", 0)])
def test_what_fabric_sets_up_is_advised_on(options, count, tmp_path):
    assert found(tmp_path, FABRIC.format(options=options)) == count
