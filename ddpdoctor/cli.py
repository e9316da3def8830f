"""The commands."""

import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from ddpdoctor import __version__, checking, streams
from ddpdoctor.options import OPTIONS
from ddpdoctor.status import MisuseError, Status

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Commands(click.Group):
    """The commands, and what becomes of their errors: one line and an exit status each."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments begin with.

        Raises MisuseError for a script in the place of a command, and for an unknown command.
        """
        if self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            if os.path.exists(args[0]):
                raise MisuseError(f"unknown command '{args[0]}'; to check it: ddpdoctor check {args[0]}")
            from ddpdoctor import names

            raise MisuseError(names.unknown("command", args[0], self.list_commands(ctx)))
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command and return the exit status."""
        return checking.with_errors_said(lambda: super(Commands, self).invoke(ctx), ours=_is_our_fault)


class ScriptCommand(click.Command):
    """A command that takes what stands after ``--`` as the script's arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse what stands before ``--`` and keep the rest."""
        at = args.index("--") if "--" in args else len(args)
        ctx.meta["arguments"] = tuple(args[at + 1 :])
        try:
            return super().parse_args(ctx, args[:at])
        except click.NoSuchOption as error:
            hint = "The script's own arguments go after --"
            if error.option_name == "-m":
                hint = "To check a module, name the file of the module"
            raise click.UsageError(f"{error.format_message()} {hint}", ctx) from None

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return the pieces of the usage line."""
        return [*super().collect_usage_pieces(ctx), "[-- SCRIPT ARGS]"]


@click.group(cls=Commands, no_args_is_help=False, context_settings=SETTINGS)
@click.version_option(__version__, prog_name="ddpdoctor", message="%(prog)s %(version)s")
def commands() -> None:
    """Diagnose PyTorch DistributedDataParallel training: what a script will do, and what it does."""


def _with_options(command: Any) -> Any:
    for option in reversed(OPTIONS):
        said: dict[str, Any] = {"help": option.help, "metavar": option.metavar, "multiple": option.many}
        if option.is_flag:
            said["is_flag"] = True
        else:
            said["type"] = click.Choice(option.choices) if option.choices else option.kind
        if option.default is not None:
            said["default"] = option.default
        command = click.option(option.flag, option.key, **said)(command)
    return command


@commands.command(cls=ScriptCommand, short_help="Check training scripts.")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@_with_options
@click.pass_context
def check(ctx: click.Context, /, paths: tuple[str, ...], **options: Any) -> Status:
    """Check training scripts: files, folders, notebooks, or - for the standard input.

    Each file is checked under the configuration of its project: the nearest pyproject.toml above it.

    The source is read. A single script that wraps a model is also run to its first optimiser step, contained: nothing
    outside a folder of the run's own changes. --source-only only reads, --probe runs for longer.

    Exit status: 0 nothing at or above --fail-on, 1 findings, 2 wrong usage, 3 what was asked for could not be run,
    130 interrupted.
    """
    return checking.check(paths, {**options, "arguments": ctx.meta["arguments"]})


@commands.command(short_help="Say what a check finds and how to mend it.")
@click.argument("name", metavar="CHECK")
def explain(name: str) -> None:
    """Say what a check finds, why it matters, when it is fine and how to mend it."""
    from ddpdoctor import names, registry

    if name not in registry.names():
        raise MisuseError(names.unknown("check", name, registry.names()))
    streams.write(registry.page(name))


@commands.command("list")
def list_checks() -> None:
    """List all checks."""
    from ddpdoctor import registry
    from ddpdoctor.report import catalogue
    from ddpdoctor.report.words import style_of

    streams.write(catalogue.render(registry.rows(), style_of(sys.stdout, os.environ)))


def _is_our_fault(error: Exception) -> bool:
    if isinstance(error, (click.ClickException, click.exceptions.Exit, click.Abort)):
        return False
    return not (isinstance(error, OSError) and _raised_by_click(error))  # it could not write a help text


def _raised_by_click(error: Exception) -> bool:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and str(trace.tb_frame.f_globals.get("__name__")).startswith("click.")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status; without arguments, with those of the process."""
    streams.open_missing()
    try:
        with streams.writing():  # a help text is click's own output
            return Status(commands.main(arguments, "ddpdoctor", standalone_mode=False) or Status.CLEAN)
        return Status.CLEAN  # nobody read it
    except click.ClickException as error:
        help_of = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "ddpdoctor"
        message = error.format_message().rstrip(".")
        streams.say(f"{message[0].lower()}{message[1:]} (see {help_of} --help)")
        return Status.USAGE
    except (click.Abort, KeyboardInterrupt):
        streams.say("interrupted")
        return Status.INTERRUPTED
    except streams.OutputError as error:
        streams.say(str(error))
        return Status.NOT_RUN
