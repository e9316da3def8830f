"""What the reader makes of a training step: scaled losses, clipping, steps of scalers that do it all."""

import pytest
from reading import only, read

from ddpdoctor.events import Backward, Forward, GradientsClipped, ModelWrapped, OptimizerStep, ScalerBuilt, Unscaled
from ddpdoctor.value import Ref

MODEL = "model = DDP(nn.Linear(2, 1))\noptimizer = torch.optim.SGD(model.parameters(), 0.1)\n"


def test_a_scaled_loss_is_told_from_one_that_is_not(tmp_path):
    program = read(
        tmp_path,
        MODEL
        + "scaler = torch.amp.GradScaler('cuda')\n"
        + "scaler.scale(model(torch.ones(1, 2)).sum()).backward()\n"
        + "model(torch.ones(1, 2)).sum().backward()\n"
        + "scaler.unscale_(optimizer)\nscaler.step(optimizer)\n",
    )
    scaled, plain = program.of(Backward)
    assert isinstance(scaled.scaler, Ref) and scaled.scaler == only(program.of(ScalerBuilt)).scaler
    assert plain.scaler is None
    assert only(program.of(Unscaled)).scaler == scaled.scaler
    assert only(program.of(OptimizerStep)).optimizer is not None


@pytest.mark.parametrize(
    ("made", "enabled"),
    [
        ("torch.amp.GradScaler('cuda')", True),
        ("torch.amp.GradScaler('cuda', enabled=False)", False),
        ("torch.cuda.amp.GradScaler(2.0, 2.0, 0.5, 100, True)", True),
        ("torch.cuda.amp.GradScaler(enabled=torch.bfloat16 == torch.float16)", False),
        ("torch.cuda.amp.GradScaler(enabled=torch.half == torch.float16)", True),
    ],
)
def test_whether_a_scaler_is_enabled(tmp_path, made, enabled):
    event = only(read(tmp_path, f"scaler = {made}\n").of(ScalerBuilt))
    assert event.enabled is enabled


@pytest.mark.parametrize(
    "call",
    [
        "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
        "nn.utils.clip_grad_value_(model.parameters(), 1.0)",
        "[p.grad.data.clamp_(-1, 1) for p in model.parameters()]",
        "[p.grad.clamp_(-1, 1) for p in model.parameters()]",
    ],
)
def test_what_clips_gradients(tmp_path, call):
    assert only(read(tmp_path, f"{MODEL}{call}\n").of(GradientsClipped))


def test_a_clamped_parameter_is_no_clipped_gradient(tmp_path):
    assert not read(tmp_path, MODEL + "[p.data.clamp_(-1, 1) for p in model.parameters()]\n").of(GradientsClipped)


def test_the_scaler_of_timm_does_the_whole_step(tmp_path):
    program = read(
        tmp_path,
        "from timm.utils import NativeScaler\n"
        + MODEL
        + "scaler = NativeScaler()\n"
        + "scaler(model(torch.ones(1, 2)).sum(), optimizer, parameters=model.parameters(), need_update=False)\n"
        + "scaler(model(torch.ones(1, 2)).sum(), optimizer, parameters=model.parameters())\n",
    )
    assert len(program.of(Backward)) == 2 and all(event.forwards for event in program.of(Backward))
    assert only(program.of(OptimizerStep)).order > program.of(Backward)[1].order


@pytest.mark.parametrize(
    "given",
    [
        "model.parameters()",
        "[p for p in model.parameters() if p.requires_grad]",
        "filter(lambda p: p.requires_grad, model.parameters())",
        "[{'params': model.parameters(), 'lr': 0.1}]",
        "list(model.parameters())",
        "params=model.parameters()",
    ],
)
def test_whose_parameters_an_optimiser_steps(tmp_path, given):
    program = read(tmp_path, f"{MODEL}optimizer = torch.optim.SGD({given})\noptimizer.step()\n")
    wrapped = only(program.of(ModelWrapped)).wrapper
    assert only(program.of(OptimizerStep)).models == (wrapped,)


@pytest.mark.parametrize(
    "given",
    [
        "list(a.parameters()) + list(b.parameters())",
        "[*a.parameters(), *b.parameters()]",
        "itertools.chain(a.parameters(), b.parameters())",
        "both",
        "extended",
    ],
)
def test_an_optimiser_steps_every_model_whose_parameters_are_in_its_list(given, tmp_path):
    trace = read(
        tmp_path,
        f"""
import itertools
a, b = nn.Linear(2, 2), nn.Linear(2, 2)
both = list(a.parameters())
both += list(b.parameters())
extended = list(a.parameters())
extended.extend(b.parameters())
torch.optim.SGD({given}, lr=0.1).step()
""",
    )
    assert [len(event.models) for event in trace.of(OptimizerStep)] == [2]


def test_an_output_of_one_name_keeps_the_forwards_that_it_came_from(tmp_path):
    program = read(
        tmp_path,
        """
        from outputs import Output
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(4, 4)
            def forward(self, x):
                return Output(loss=self.layer(x).mean())
        model = Net()
        if dist.is_initialized():
            model = DDP(model)
        loss = model(torch.ones(1, 4)).loss
        loss.backward()
        """,
    )
    came_from = {order for backward in program.of(Backward) for order in backward.forwards}
    assert {event.via for event in program.of(Forward) if event.order in came_from} == {"wrapper", "model"}
