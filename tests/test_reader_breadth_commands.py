"""How the reader comes into a program: through click, typer, fire, absl and the like, and installed functions."""

import pytest
from reading import only, ranks, read

from ddpdoctor.events import EpochBegun, FileUsed, GroupInit, LoaderBuilt, OptionDefined
from ddpdoctor.value import Symbol

TRAIN = """
    dist.init_process_group("nccl")
    DataLoader([1], 4, shuffle, DistributedSampler([1]))
"""

PROGRAMS = {
    "click": """
        import click
        @click.command()
        @click.option("-s", "--shuffle/--no-shuffle", default=True)
        def main(shuffle):TRAIN
        main()
        """,
    "click, into keywords": """
        import click
        def prepare(shuffle=None, seed=None):
            options = dict(shuffle=shuffle)
            return "run", options
        @click.command()
        @click.option("--shuffle", is_flag=True, default=True)
        @click.option("--dry-run", is_flag=True)
        def main(dry_run, **given):
            name, options = prepare(**given)
            shuffle = options["shuffle"]TRAIN
        main()
        """,
    "click group": """
        import click
        @click.group()
        def cli(): pass
        @cli.command()
        @click.option("--shuffle", is_flag=True, default=True)
        def train(shuffle):TRAIN
        @cli.command("test")
        def test(): pass
        if __name__ == "__main__":
            cli(prog_name="x")
        """,
    "typer": """
        import typer
        app = typer.Typer()
        @app.command()
        def train(shuffle: bool = typer.Option(True, help="order")):TRAIN
        app()
        """,
    "fire of a class": """
        import fire
        class Job:
            def __init__(self, shuffle=True): self.shuffle = shuffle
            def train(self):
                shuffle = self.shuffleTRAIN
        fire.Fire(Job)
        """,
    "fire of a table": """
        import fire
        def train(shuffle=True):TRAIN
        fire.Fire({"train": train})
        """,
    "fire of the script": """
        import fire
        def train(shuffle=True):TRAIN
        if __name__ == "__main__":
            fire.Fire()
        """,
    "argparse subcommand": """
        import argparse
        def train(args):
            shuffle = args.shuffleTRAIN
        def test(args): pass
        def main():
            parser = argparse.ArgumentParser()
            commands = parser.add_subparsers(dest="command")
            for name, function in (("train", train), ("test", test)):
                command = commands.add_parser(name)
                command.add_argument("--shuffle", default=True)
                command.set_defaults(run=function)
            args = parser.parse_args()
            args.run(args)
        main()
        """,
    "argparse subcommand with parents": """
        import argparse
        common = argparse.ArgumentParser(add_help=False)
        common.add_argument("--shuffle", default=True)
        def train(shuffle, **rest):TRAIN
        parser = argparse.ArgumentParser()
        commands = parser.add_subparsers()
        commands.add_parser("train", parents=[common]).set_defaults(run=train)
        options = vars(parser.parse_args())
        options["run"](**options)
        """,
    "absl": """
        from absl import app, flags
        FLAGS = flags.FLAGS
        flags.DEFINE_bool("shuffle", True, "order")
        def main(_):
            shuffle = FLAGS.shuffleTRAIN
        app.run(main)
        """,
    "Hugging Face": """
        from dataclasses import dataclass, field
        from transformers import HfArgumentParser
        @dataclass
        class Options:
            shuffle: bool = field(default=True, metadata={"help": "order"})
        (options,) = HfArgumentParser(Options).parse_args_into_dataclasses()
        shuffle = options.shuffle
        if options:TRAIN
        """,
    "a function called main": """
        def main(shuffle=True):TRAIN
        def other(shuffle=False):TRAIN
        """,
}


def indented(text: str) -> str:
    """Put the training after the line that asks for it, indented as the line after that one would be."""
    lines = []
    for line in text.splitlines():
        head, found, _ = line.partition("TRAIN")
        lines.append(head)
        if found:
            deeper = len(line) - len(line.lstrip()) + (4 if head.endswith(":") else 0)
            lines += [" " * deeper + inner.strip() for inner in TRAIN.strip().splitlines()]
    return "\n".join(lines)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_command_line_made_of_a_function_is_followed_with_its_default(tmp_path, name):
    program = read(tmp_path, indented(PROGRAMS[name]))
    assert program.entered
    assert program.of(GroupInit)
    shuffle = only(program.of(LoaderBuilt)).shuffle
    default = shuffle.default if isinstance(shuffle, Symbol) else shuffle
    assert default is not None
    assert default.text().endswith("True") or "typer" in name


def test_commands_of_a_group_are_no_two_in_one_run(tmp_path):
    program = read(
        tmp_path,
        """
        import fire
        def train(): torch.save(1, "a")
        def export(): torch.save(1, "b")
        fire.Fire({"train": train, "export": export})
        """,
    )
    first, second = program.of(FileUsed)
    assert not list(program.before(second, FileUsed))
    assert first.when


def test_subcommands_are_no_two_in_one_run_and_have_options_of_their_own(tmp_path):
    program = read(
        tmp_path,
        """
        import argparse
        parser = argparse.ArgumentParser()
        commands = parser.add_subparsers(dest="command")
        for name, size in (("train", 32), ("tune", 8)):
            commands.add_parser(name).add_argument("--size", default=size)
        args = parser.parse_args()
        if args.command == "train":
            DataLoader([1], args.size)
        elif args.command == "tune":
            DataLoader([2], args.size)
        """,
    )
    train, tune = program.of(LoaderBuilt)
    assert not list(program.before(tune, LoaderBuilt))
    sizes = [event.batch_size for event in (train, tune)]
    assert [size.default.text() for size in sizes if isinstance(size, Symbol) and size.default] == ["32", "8"]


def test_a_function_that_the_project_installs_is_its_entry(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[project.scripts]\ngo = "pkg.train:start"\n')
    program = read(tmp_path, "def start():\n    dist.init_process_group('nccl')\n", name="train.py")
    assert program.entered
    assert program.of(GroupInit)


@pytest.mark.parametrize(
    "source",
    [
        "from pytorch_lightning.utilities import rank_zero_only",
        "from lightning.pytorch.utilities.rank_zero import rank_zero_only",
        "from mmcv.runner import master_only as rank_zero_only",
    ],
)
def test_a_frameworks_decorator_lets_rank_zero_in(tmp_path, source):
    program = read(
        tmp_path,
        f"""
        {source}
        @rank_zero_only
        def save(path):
            torch.save(1, path)
        save("a")
        """,
    )
    assert ranks(only(program.of(FileUsed))) == [0]


def test_the_rank_that_a_function_holds_is_one(tmp_path):
    program = read(
        tmp_path,
        """
        def only_first(function):
            def wrapped(*args):
                return function(*args) if only_first.rank == 0 else None
            return wrapped
        only_first.rank = getattr(only_first, "rank", int(os.environ.get("RANK", 0)))
        @only_first
        def save():
            torch.save(1, "a")
        save()
        """,
    )
    assert ranks(only(program.of(FileUsed))) == [0]


def test_what_yield_from_goes_over_begins_its_epochs(tmp_path):
    program = read(
        tmp_path,
        """
        def batches(loader):
            for epoch in range(3):
                yield from loader
        for batch in batches(DataLoader([1])):
            pass
        """,
    )
    (begun,) = program.of(EpochBegun)
    assert len(begun.loops) == 2


@pytest.mark.parametrize(
    "call",
    ["TABLE[args.mode]()", "globals()[args.mode]()", "getattr(Modes(), f'do_{args.mode}')()", "TABLE.get(args.mode)()"],
)
def test_a_name_from_an_option_chooses_what_is_called(tmp_path, call):
    program = read(
        tmp_path,
        f"""
        import argparse
        def train(): torch.save(1, "a")
        def test(): pass
        class Modes:
            def do_train(self): train()
        TABLE = {{"train": train, "test": test}}
        parser = argparse.ArgumentParser()
        parser.add_argument("--mode", default="train")
        args = parser.parse_args()
        {call}
        """,
    )
    assert program.of(OptionDefined)
    assert program.of(FileUsed)


def test_of_functions_that_an_unknown_name_chooses_from_each_is_followed(tmp_path):
    program = read(
        tmp_path,
        """
        def train(): torch.save(1, "a")
        def test(): torch.save(1, "b")
        TABLE = {"train": train, "test": test}
        TABLE[input()]()
        """,
    )
    first, second = program.of(FileUsed)
    assert first.when
    assert not list(program.before(second, FileUsed))
