"""What the model layer says of gradient strides agrees with what DDP itself warns of."""

import platform
import warnings
from collections import Counter

import pytest

pytestmark = pytest.mark.filterwarnings("ignore")

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")

from ddp_alone import alone, enough_threads, observe, sum_of_squares  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

from ddpdoctor.layout import row_major, same_memory_order  # noqa: E402
from ddpdoctor.model.strides import is_dense, read_warning, view_strides  # noqa: E402

CHANNELS_LAST = torch.channels_last
LAYOUTS = {
    "contiguous": (torch.contiguous_format, torch.contiguous_format),
    "channels_last": (CHANNELS_LAST, CHANNELS_LAST),
    "input_channels_last": (torch.contiguous_format, CHANNELS_LAST),
}


def build(name, layout):
    """The model, with weights from a faster source than its own initialisation, and a batch of images."""
    model_format, input_format = LAYOUTS[layout]
    with torch.device("meta"):
        model = getattr(torchvision.models, name)(weights=None)
    model = model.to_empty(device="cpu").to(memory_format=model_format)
    with torch.no_grad():
        for tensor in (*model.parameters(), *model.buffers()):
            tensor.normal_(0, 0.05) if tensor.dim() > 1 else tensor.fill_(1)
    return model, torch.randn(2, 3, 64, 64).to(memory_format=input_format)


def warned_of(caught):
    return [read for read in (read_warning(str(warning.message)) for warning in caught) if read is not None]


def sizes_and_strides(warned):
    return Counter((warning.shape, warning.grad, warning.view) for warning in warned)


def mismatched(seen):
    return [row for row in seen.parameters if row.grad != row.view]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["resnet18", "convnext_tiny", "mobilenet_v2"])
def test_every_mismatch_that_ddp_warns_of_is_seen_and_no_other(name, layout):
    model, images = build(name, layout)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        (seen,) = observe(model, (images,))

    rows = mismatched(seen)
    assert Counter((row.shape, row.grad, row.view) for row in rows) == sizes_and_strides(warned_of(caught))
    assert [row.name for row in seen.parameters if row.warned] == [row.name for row in rows]
    assert len(seen.parameters) == len(list(model.parameters()))
    assert seen.unused == ()
    assert all(same_memory_order(row.shape, row.grad, row.view) for row in rows), "an ordinary backward: nominal"
    if name == "convnext_tiny" and platform.machine() in ("x86_64", "AMD64"):
        # Its depthwise convolutions: channels_last before the wrap is what helps. Kernels differ between processors.
        assert len(rows) == {"contiguous": 18, "channels_last": 0}.get(layout, len(rows))


@pytest.mark.parametrize(
    ("name", "layout"),
    [
        ("mobilenet_v2", "input_channels_last"),
        *(
            pytest.param(name, layout, marks=pytest.mark.slow)
            for name in ("resnet18", "convnext_tiny", "mobilenet_v2")
            for layout in LAYOUTS
            if (name, layout) != ("mobilenet_v2", "input_channels_last")
        ),
    ],
)
def test_observing_changes_nothing_of_what_ddp_warns_of(name, layout):
    model, images = build(name, layout)
    with alone(), enough_threads():
        wrapper = DistributedDataParallel(model)
        output = sum_of_squares(wrapper(images))
        torch.set_warn_always(True)
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                output.backward()
        finally:
            torch.set_warn_always(False)
    (seen,) = observe(*((part,) if index else part for index, part in enumerate(build(name, layout))))
    assert Counter((row.shape, row.grad, row.view) for row in mismatched(seen)) == sizes_and_strides(warned_of(caught))


def make_contiguous(model):
    for parameter in model.parameters():
        if not parameter.is_contiguous():
            parameter.data = parameter.data.contiguous()


def test_contiguous_parameters_in_a_channels_last_model_are_copied_silently():
    model, images = build("resnet18", "channels_last")
    (before,) = observe(model, (images,))
    assert not any(row.copied for row in before.parameters)

    model, images = build("resnet18", "channels_last")
    make_contiguous(model)
    (after,) = observe(model, (images,))
    copied = [row for row in after.parameters if row.copied]
    assert len(copied) == 17
    assert sum(row.bytes for row in copied) == pytest.approx(41.9 * 2**20, rel=0.06)
    assert not any(row.warned for row in copied), "autograd copies without a word"


def to_channels_last(model):
    model.to(memory_format=CHANNELS_LAST)


@pytest.mark.parametrize(
    ("options", "expected"),
    [({}, [1, 0, 0]), ({"static_graph": True}, [1, 1, 0]), ({"find_unused_parameters": True}, [1, 1, 1])],
    ids=["default", "static_graph", "find_unused_parameters"],
)
def test_a_layout_changed_after_the_wrap_heals_when_the_buckets_are_rebuilt(options, expected):
    model = nn.Sequential(nn.Conv2d(4, 8, 3))
    images = torch.randn(2, 4, 8, 8).to(memory_format=CHANNELS_LAST)
    seen = observe(model, (images,), steps=3, options=options, after_wrap=to_channels_last)
    assert [sum(row.warned for row in step.parameters) for step in seen] == expected
    assert [sum(row.grad != row.view for row in step.parameters) for step in seen] == expected
    real = [row for row in seen[0].parameters if row.warned]
    assert not any(same_memory_order(row.shape, row.grad, row.view) for row in real), "a different order in memory"


def test_a_gradient_preset_to_another_layout_is_a_real_mismatch():
    model = nn.Conv2d(4, 8, 3)

    def preset(wrapped):
        wrapped.weight.grad = torch.zeros(8, 4, 3, 3).to(memory_format=CHANNELS_LAST)

    (seen,) = observe(model, (torch.randn(2, 4, 8, 8),), after_wrap=preset)
    row = next(row for row in seen.parameters if row.name == "weight")
    assert row.warned
    assert not same_memory_order(row.shape, row.grad, row.view)


@pytest.mark.parametrize("when", ["before", "after", "never"])
def test_a_hook_that_replaces_the_gradient_is_a_real_mismatch(when):
    model = nn.Conv2d(4, 8, 3)

    def replace(parameter):
        parameter.grad = parameter.grad.to(memory_format=CHANNELS_LAST)

    def register(wrapped):
        wrapped.weight.register_post_accumulate_grad_hook(replace)

    if when == "before":
        register(model)
    (seen,) = observe(model, (torch.randn(2, 4, 8, 8),), after_wrap=register if when == "after" else None)
    row = next(row for row in seen.parameters if row.name == "weight")
    assert row.warned is (when != "never")
    assert same_memory_order(row.shape, row.grad, row.view) is (when == "never")
    assert not row.copied, "the hook made it, not autograd"


def test_a_gradient_that_a_hook_lays_out_anew_is_copied_back():
    model = nn.Conv2d(4, 8, 3)

    def lay_out(wrapped):
        wrapped.weight.register_hook(lambda gradient: gradient.to(memory_format=CHANNELS_LAST))

    (seen,) = observe(model, (torch.randn(2, 4, 8, 8),), after_wrap=lay_out)
    row = next(row for row in seen.parameters if row.name == "weight")
    assert row.copied
    assert not row.warned


def test_autograd_told_to_ignore_the_layout_gives_a_real_mismatch():
    enforce = getattr(torch.autograd, "enforce_grad_layout_policy", None)
    if enforce is None:
        pytest.skip("this PyTorch always enforces the layout of gradients")
    model = nn.Conv2d(4, 8, 3).to(memory_format=torch.contiguous_format)
    images = torch.randn(2, 4, 8, 8).to(memory_format=CHANNELS_LAST)
    with enforce(False):
        (seen,) = observe(model, (images,))
    row = next(row for row in seen.parameters if row.name == "weight")
    assert row.warned == (row.grad != row.view)
    assert not row.copied


def test_parameters_without_a_gradient_are_named():
    class TwoHeads(nn.Module):
        def __init__(self):
            super().__init__()
            self.used = nn.Linear(4, 4)
            self.spare = nn.Linear(4, 4)

        def forward(self, x):
            return self.used(x)

    (seen,) = observe(TwoHeads(), (torch.randn(2, 4),), options={"find_unused_parameters": True})
    assert seen.unused == ("spare.weight", "spare.bias")


def test_the_rules_of_layout():
    channels_last = torch.empty(8, 4, 3, 3).to(memory_format=CHANNELS_LAST)
    gapped = torch.empty(4, 8)[:, ::2]
    assert is_dense(channels_last)
    assert view_strides(channels_last) == channels_last.stride()
    assert not is_dense(gapped)
    assert view_strides(gapped) == row_major((4, 4)) == (4, 1)
    assert not is_dense(torch.empty(1, 4).expand(3, 4))
    assert same_memory_order((1024, 1024, 1, 1), (1024, 1, 1024, 1024), (1024, 1, 1, 1))
    assert not same_memory_order((4, 4), (4, 1), (1, 4))
