"""How the reader follows objects through attributes, dictionaries, functions and modules: loaders, samplers, models."""

import textwrap

import pytest
from reading import only, read

from ddpdoctor.events import (
    Backward,
    Collective,
    EpochBegun,
    EpochSet,
    FileUsed,
    Forward,
    LoaderBuilt,
    ModelWrapped,
    OptimizerStep,
    SamplerBuilt,
    SyncBatchNormConverted,
)
from ddpdoctor.value import Ref, alternatives, truth


def test_aliases_star_imports_and_re_exports_are_one_name(tmp_path):
    program = read(
        tmp_path,
        """
        from parts import *
        from parts import Loader as L
        import parts as p
        L([1]); p.Loader([2]); Loader([3])
        """,
        parts="from torch.utils.data import DataLoader as Loader\n",
    )
    assert [event.loader.type for event in program.of(LoaderBuilt)] == ["torch.utils.data.DataLoader"] * 3


def test_a_module_of_the_project_called_like_torchs_is_not_torchs(tmp_path):
    program = read(
        tmp_path,
        """
        from distributed import init_process_group
        init_process_group("nccl")
        """,
        head="",
        distributed="def init_process_group(backend):\n    return backend\n",
    )
    assert not program.events


def test_keyword_arguments_come_from_dictionaries(tmp_path):
    program = read(
        tmp_path,
        """
        kwargs = dict(batch_size=4, shuffle=True)
        if int(os.environ["WORLD_SIZE"]) > 1:
            kwargs["sampler"] = DistributedSampler([1])
            kwargs.pop("shuffle")
        DataLoader([1], **kwargs)
        """,
    )
    event = only(program.of(LoaderBuilt))
    assert [type(value) for _, value in alternatives(event.sampler)].count(Ref) == 1


def test_opposite_branches_are_no_clash(tmp_path):
    program = read(
        tmp_path,
        """
        sampler = DistributedSampler([1]) if dist.is_initialized() else None
        DataLoader([1], sampler=sampler, shuffle=sampler is None)
        """,
    )
    event = only(program.of(LoaderBuilt))
    for condition, sampler in alternatives(event.sampler):
        shuffles = [truth(value) for _, value in alternatives(event.shuffle, condition)]
        assert shuffles == [not isinstance(sampler, Ref)]


def test_a_sampler_is_found_through_the_loader_and_its_batch_sampler(tmp_path):
    program = read(
        tmp_path,
        """
        from torch.utils.data import BatchSampler
        first = DataLoader([1], sampler=DistributedSampler([1]))
        second = DataLoader([1], batch_sampler=BatchSampler(DistributedSampler([1]), 4, True))
        for epoch in range(3):
            first.sampler.set_epoch(epoch)
            second.batch_sampler.sampler.set_epoch(epoch)
        """,
    )
    first, _, second = program.of(SamplerBuilt)[0], *program.of(SamplerBuilt)[1:]
    distributed = [
        event.sampler for event in program.of(SamplerBuilt) if event.sampler.type.endswith("DistributedSampler")
    ]
    assert [event.target for event in program.of(EpochSet)] == distributed
    assert [event.distributed_samplers for event in program.of(LoaderBuilt)] == [(one,) for one in distributed]
    assert first is not second


def test_batches_flow_through_enumerate_tqdm_and_generators_into_the_loss(tmp_path):
    program = read(
        tmp_path,
        """
        from tqdm import tqdm
        def prefetched(loader):
            for batch in loader:
                yield batch.cuda(non_blocking=True)

        model = DDP(nn.Linear(1, 1))
        loader = DataLoader([1])
        for step, x in enumerate(tqdm(prefetched(loader))):
            loss = nn.functional.mse_loss(model(x), x)
            (loss / 2).backward()
        """,
    )
    loader = only(program.of(LoaderBuilt)).loader
    backward = only(program.of(Backward))
    forward = only(program.of(Forward))
    assert backward.batches == (loader,) and backward.forwards == (forward.order,)
    assert forward.via == "wrapper"
    assert only(program.of(EpochBegun)).loader == loader


def test_loops_have_their_loaders_and_rounds(tmp_path):
    program = read(
        tmp_path,
        """
        loader = DataLoader([1])
        for epoch in range(7):
            for x in loader:
                x.sum().backward()
        """,
    )
    outer, inner = only(program.of(Backward)).loops
    assert outer.rounds.value == 7 and not outer.loaders
    assert inner.loaders == (only(program.of(LoaderBuilt)).loader,)


def test_forwards_around_the_wrapper_are_told_from_those_through_it(tmp_path):
    program = read(
        tmp_path,
        """
        net = nn.Linear(1, 1)
        net(1)
        model = DDP(net)
        model(1); model.module(1); net(1)
        with torch.no_grad():
            model.module(1)
        raw = model.module if isinstance(model, DDP) else model
        raw(1)
        getattr(model, "module", model)(1)
        """,
    )
    assert [(event.via, event.grad) for event in program.of(Forward)] == [
        ("model", True),
        ("wrapper", True),
        ("module", True),
        ("module", True),
        ("module", False),
        ("module", True),
        ("module", True),
    ]


def test_a_method_of_a_wrapped_model_is_a_forward_around_it(tmp_path):
    program = read(
        tmp_path,
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(1, 1)
            def forward(self, x):
                return self.a(x)
            def loss(self, x):
                return self(x).sum()

        model = DDP(Net())
        model.module.loss(1).backward()
        """,
    )
    forward = only(program.of(Forward))
    assert forward.via == "module"
    assert only(program.of(Backward)).forwards == (forward.order,)


def test_batch_norms_are_found_in_what_a_model_is_made_of(tmp_path):
    program = read(
        tmp_path,
        """
        import torchvision
        def block(n):
            return nn.Sequential(nn.Conv2d(n, n, 3), nn.BatchNorm2d(n))
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.ModuleList([block(n) for n in (8, 16)])
                self.out = nn.Linear(4, 4)
        DDP(Net())
        DDP(torchvision.models.resnet50())
        DDP(torchvision.models.vit_b_16())
        DDP(nn.SyncBatchNorm.convert_sync_batchnorm(Net()))
        """,
    )
    assert [len(event.norms) for event in program.of(ModelWrapped)] == [1, 1, 0, 0]


def test_a_conversion_knows_whether_it_is_late_and_whether_it_is_kept(tmp_path):
    program = read(
        tmp_path,
        """
        model = nn.Sequential(nn.BatchNorm1d(3))
        model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
        model = DDP(model)
        model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
        norm = nn.BatchNorm1d(3)
        nn.SyncBatchNorm.convert_sync_batchnorm(norm)
        """,
    )
    found = [(event.wrapped, event.kept, event.root) for event in program.of(SyncBatchNormConverted)]
    assert found == [(False, True, False), (True, True, False), (False, False, True)]


def test_steps_of_optimisers_are_told_from_those_of_schedulers(tmp_path):
    program = read(
        tmp_path,
        """
        model = nn.Linear(1, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
        scaler = torch.amp.GradScaler("cuda")
        scaler.scale(model(1)).backward()
        scaler.step(optimizer); scaler.update()
        optimizer.step()
        scheduler.step()
        """,
    )
    assert [event.place.line for event in program.of(OptimizerStep)] == [15, 16]
    assert only(program.of(Backward)).forwards == (only(program.of(Forward)).order,)


def test_modules_are_followed_through_packages_and_relative_imports(tmp_path):
    program = read(
        tmp_path,
        """
        from engine.trainer import Trainer
        Trainer(DataLoader([1], sampler=DistributedSampler([1]))).fit(3)
        """,
        engine____init__="from .trainer import Trainer\n",
        engine__trainer="""
            from .steps import step
            class Trainer:
                def __init__(self, loader):
                    self.loader = loader
                def fit(self, epochs):
                    for epoch in range(epochs):
                        self.loader.sampler.set_epoch(epoch)
                        for batch in self.loader:
                            step(batch)
            """,
        engine__steps="def step(batch):\n    batch.sum().backward()\n",
    )
    backward = only(program.of(Backward))
    assert backward.place.file.endswith("steps.py")
    assert [place.file.rsplit("/", 1)[1] for place in backward.stack] == ["train.py", "trainer.py"]
    assert only(program.of(EpochSet)).target == only(program.of(SamplerBuilt)).sampler


def test_two_loaders_of_one_factory_are_told_apart_by_their_calls(tmp_path):
    program = read(
        tmp_path,
        """
        def make(data):
            return DataLoader(data)
        train = make([1])
        test = make([2])
        """,
    )
    first, second = (event.loader for event in program.of(LoaderBuilt))
    assert first.place == second.place and first.stack != second.stack and first != second


@pytest.mark.parametrize("lines", range(6))
@pytest.mark.parametrize(
    ("guard", "body"),
    [
        ("try:\n    import quick\nexcept ImportError:\n    {}\n", "exception"),
        ("match shape:\n    case [a, b]:\n        {}\n", "pattern"),
        ("for i in range(9):\n    if i == 3:\n        {}\n", "index"),
        ("if Options().flag:\n    {}\n", "object"),
    ],
    ids=lambda value: value if value.isalpha() else "",
)
def test_what_is_found_does_not_depend_on_line_numbers_in_different_files(tmp_path, lines, guard, body):
    """One text for the lines of two files would say that what is decided in them holds together."""
    head = "from made import Options\n"
    helper = f"{head}\ndef build(ds, shape):\n" + textwrap.indent(guard.format("return DistributedSampler(ds)"), "    ")
    made = "class Base(object): pass\nfrom outside import Flags\nclass Options(Flags): pass\n"
    program = read(
        tmp_path,
        "from helper import build\n" + head + "\n" * lines + "s = build(x, shape)\nshuffle = False\n"
        f"{guard.format('shuffle = True')}DataLoader(x, sampler=s, shuffle=shuffle)\n",
        helper=f"from torch.utils.data import DistributedSampler\n\n\n\n{helper}",
        made=made,
        head="from torch.utils.data import DataLoader, DistributedSampler\n",
    )
    event = only(program.of(LoaderBuilt))
    both = [
        condition
        for condition, sampler in alternatives(event.sampler)
        if isinstance(sampler, Ref)
        for condition, shuffle in alternatives(event.shuffle, condition)
        if truth(shuffle) is True
    ]
    atoms = {literal.atom.text for condition in both for literal in condition}
    assert both and len(atoms) == 2


def test_an_attribute_that_is_none_until_the_first_round_is_over_has_no_one_value(tmp_path):
    program = read(
        tmp_path,
        "class Best:\n    def __init__(self):\n        self.seen = None\n"
        "    def __call__(self, x):\n        if self.seen is None:\n            self.seen = x\n"
        "        else:\n            dist.barrier()\n"
        "best = Best()\nfor x in xs():\n    best(x)\n",
    )
    assert len(program.of(Collective)) == 1


def test_a_generator_runs_where_it_is_iterated_through_enumerate_or_a_progress_bar(tmp_path):
    program = read(
        tmp_path,
        """
        from tqdm import tqdm

        def numbers(path):
            torch.save({}, path)
            yield "a number"

        for i, one in enumerate(numbers("first")):
            torch.save({}, f"{one}")
        for one in tqdm(numbers("second"), total=3):
            torch.save({}, f"{one}")
        for i, one in tqdm(enumerate(numbers("third"), 1)):
            torch.save({}, f"{one}")
        """,
    )
    names = [event.path.text() for event in program.of(FileUsed)]
    assert names == ["'first'", "'a number'", "'second'", "'a number'", "'third'", "'a number'"]


def test_a_class_whose_name_is_one_of_several(tmp_path):
    (tmp_path / "config.json").write_text('{"arch": "Wide"}', encoding="utf-8")
    program = read(
        tmp_path,
        """
        import json
        import models

        config = json.load(open("config.json"))
        if option:
            config = torch.load(option)["config"]
        DDP(getattr(models, config["arch"])())
        """,
        models="""
        from torch import nn

        class Wide(nn.Module):
            def __init__(self):
                super().__init__()
                self.norm = nn.BatchNorm2d(8)
        """,
    )
    assert [norm.type for norm in only(program.of(ModelWrapped)).norms] == ["torch.nn.BatchNorm2d"]


def test_of_more_values_than_are_kept_apart_the_rest_is_unknown_and_not_forgotten(tmp_path):
    arms = "".join(f"if name == '{i}':\n    sampler = DistributedSampler([{i}])\n" for i in range(12))
    program = read(tmp_path, f"name = unknown()\nsampler = None\n{arms}sampler.set_epoch(3)\n")
    targets = [value for event in program.of(EpochSet) for _, value in alternatives(event.target)]
    assert [value for value in targets if not isinstance(value, Ref)]
    assert len({value for value in targets if isinstance(value, Ref)}) < 12


def test_a_frameworks_own_package_beside_its_examples_is_the_framework(tmp_path):
    program = read(
        tmp_path,
        """
        import ignite.distributed as idist
        def training(local_rank, width):
            torch.save(idist.get_rank(), f"{local_rank}_{width}.pt")
        def run(width=8):
            config = locals()
            with idist.Parallel(backend="nccl") as parallel:
                parallel.run(training, config["width"])
        run()
        """,
        name="examples/main.py",
        examples__other="",
        ignite__distributed="def get_rank():\n    return 0\nclass Parallel:\n    run = print\n",
    )
    assert only(program.of(FileUsed)).path.text() == 'f"{local rank}_8.pt"'
