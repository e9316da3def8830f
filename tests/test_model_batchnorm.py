"""BatchNorm layers are listed as DDP leaves them, with what each saw."""

import copy
import io
import pickle

import pytest

torch = pytest.importorskip("torch")

from ddp_alone import observe  # noqa: E402
from torch import nn  # noqa: E402

from ddpdoctor.model.batchnorm import NormWatch, is_unconverted, unconverted  # noqa: E402


def named(kind):
    return kind.__name__


def net():
    return nn.Sequential(
        nn.Conv2d(3, 4, 3),
        nn.BatchNorm2d(4),
        nn.Sequential(nn.GroupNorm(2, 4), nn.BatchNorm2d(4)),
        nn.InstanceNorm2d(4),
    )


def test_which_layers_keep_their_statistics_to_their_rank():
    assert [name for name, _ in unconverted(net())] == ["1", "2.1"]
    assert not unconverted(nn.SyncBatchNorm.convert_sync_batchnorm(net()))
    assert [name for name, _ in unconverted(nn.BatchNorm1d(2))] == [""]
    assert is_unconverted(nn.LazyBatchNorm2d())
    assert not is_unconverted(nn.InstanceNorm1d(2, track_running_stats=True))


class OwnForward(nn.BatchNorm1d):
    def forward(self, x):
        return super().forward(x.clone())


class OverAllRanks(nn.BatchNorm1d):
    def forward(self, x):
        mean = x.mean(dim=0)
        torch.distributed.all_reduce(mean)
        return x - mean


class OverReplicas(OverAllRanks):
    def __data_parallel_replicate__(self, shared, copy_id):
        self.shared = shared


def test_a_forward_of_ones_own_may_ask_the_other_ranks():
    assert is_unconverted(OwnForward(2))
    assert not is_unconverted(OverAllRanks(2))
    assert is_unconverted(OverReplicas(2))


def test_the_values_a_channel_are_those_of_the_training_forward():
    model = net()
    watch = NormWatch(model, named)
    model[2][1].eval()
    assert not watch.counted
    model(torch.randn(2, 3, 6, 6))
    assert watch.counted
    trained, frozen = watch.norms()
    assert (trained.name, trained.type, trained.trained, trained.values) == ("1", "BatchNorm2d", True, 2 * 4 * 4)
    assert (frozen.name, frozen.trained, frozen.values) == ("2.1", False, None)
    assert [norm.values for norm in watch.norms(factor=8)] == [256, None], "a quarter of the batch was loaded"
    watch.close()
    model(torch.randn(9, 3, 6, 6))
    assert watch.norms()[0].values == 32


def test_a_layer_that_trains_in_evaluation_mode_does_not_train():
    model = net()
    watch = NormWatch(model, named)
    model.eval()
    with torch.no_grad():
        model(torch.randn(2, 3, 6, 6))
    assert not watch.counted, "that was a validation"
    model(torch.randn(2, 3, 6, 6))
    model.train()
    assert watch.counted and [(norm.trained, norm.values) for norm in watch.norms()] == [(False, None)] * 2
    model(torch.randn(2, 3, 6, 6))
    assert [norm.trained for norm in watch.norms()] == [True, True]


def test_a_watched_model_can_be_copied_and_saved():
    model = net()
    watch = NormWatch(model, named)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        other(torch.randn(4, 3, 6, 6))
    torch.save(model, io.BytesIO())
    assert not watch.counted, "what the copies see is theirs"


def test_gradients_are_watched_in_a_model_that_can_be_copied():
    model = nn.Linear(2, 2)

    def copies(wrapped):
        assert pickle.loads(pickle.dumps(wrapped)).weight.shape == copy.deepcopy(wrapped).weight.shape

    (seen,) = observe(model, (torch.randn(1, 2),), after_wrap=copies)
    assert [row.name for row in seen.parameters] == ["bias", "weight"]
