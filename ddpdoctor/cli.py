"""The commands."""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ddpdoctor import __version__, streams
from ddpdoctor.report import FORMATS
from ddpdoctor.status import CONFIDENCES, FAIL_ON, SEVERITIES, MisuseError, Status

if TYPE_CHECKING:
    from ddpdoctor.baseline import Baseline
    from ddpdoctor.checkup import OwnFault, Report, Request

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
        try:
            return super().invoke(ctx)
        except MisuseError as error:
            streams.say(str(error))
            return Status.USAGE
        except streams.OutputError as error:
            streams.say(str(error))
        except KeyboardInterrupt:
            streams.say("interrupted", after_echo=True)
            return Status.INTERRUPTED
        except (click.ClickException, click.exceptions.Exit):
            raise
        except Exception as error:  # whatever it is, it is our fault, and a gate must not pass
            if isinstance(error, OSError) and _raised_by_click(error):
                raise  # it could not write a help text
            from ddpdoctor.checkup import OwnFault

            say_own_fault(OwnFault.of(error))
        return Status.NOT_RUN


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


@commands.command(cls=ScriptCommand, short_help="Check training scripts.")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--source-only", is_flag=True, help="Only read the source: never run it.")
@click.option("--run", is_flag=True, help="Insist on the model layer: run to the first optimiser step.")
@click.option("--probe", is_flag=True, help="Also run two or more ranks for a few steps and two epochs.")
@click.option("--ranks", type=int, metavar="N", help="Ranks to run; 2 by default.")
@click.option("--steps", type=int, metavar="N", help="Optimiser steps an epoch; 3 by default.")
@click.option("--timeout", type=float, metavar="S", help="Seconds for the run; 120 by default.")
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="text", help="The form of the report; text by default."
)
@click.option("--stdin-filename", metavar="PATH", help="The path that the standard input (-) goes by.")
@click.option(
    "--jobs", type=int, metavar="N", help="Processes that read; as many as a large folder can use by default."
)
@click.option("--output", metavar="FILE", help="Write the report to a file.")
@click.option("--select", multiple=True, metavar="CHECK,...", help="Only these checks.")
@click.option("--ignore", multiple=True, metavar="CHECK,...", help="All but these checks.")
@click.option("--preview", is_flag=True, help="Also the checks that are too new to fail a gate.")
@click.option("--severity", type=click.Choice(SEVERITIES), help="Show nothing less harmful; note by default.")
@click.option("--confidence", type=click.Choice(CONFIDENCES), help="Show nothing less certain; medium by default.")
@click.option("--baseline", metavar="FILE", help="The findings that are known: they are neither shown nor counted.")
@click.option("--write-baseline", is_flag=True, help="Write what is found to the baseline, as known from now on.")
@click.option("--fail-on", type=click.Choice(FAIL_ON), help="What makes the exit status 1; warning by default.")
@click.pass_context
def check(ctx: click.Context, /, paths: tuple[str, ...], form: str, output: str | None, **options: Any) -> Status:
    """Check training scripts: files, folders, notebooks, or - for the standard input.

    Each file is checked under the configuration of its project: the nearest pyproject.toml above it.

    The source is read. A single script that wraps a model is also run to its first optimiser step, contained: nothing
    outside a folder of the run's own changes. --source-only only reads, --probe runs for longer.

    Exit status: 0 nothing at or above --fail-on, 1 findings, 2 wrong usage, 3 what was asked for could not be run,
    130 interrupted.
    """
    from ddpdoctor.request import build

    if output is not None:
        streams.expect_writable(output, "--output")
    if options["write_baseline"] and options["baseline"]:
        streams.expect_writable(options["baseline"], "--baseline")
    request = build(paths or (".",), {**options, "arguments": ctx.meta["arguments"]}, _directory(), os.environ)
    if output is not None and os.path.realpath(output) in map(os.path.realpath, request.paths):
        raise MisuseError(f"--output: '{output}' is what is to be checked")

    from ddpdoctor import engine, gate, report
    from ddpdoctor.progress import Spoken
    from ddpdoctor.report.words import style_of

    known = baseline_of(request)
    voice = Spoken(sys.stderr)
    try:
        found = engine.check(request, voice)
    finally:
        voice.clear()
    for fault in found.faults:
        say_own_fault(fault)
    try:
        found = gate.shown(found if known is None else without_known(known, found, request))
    except streams.OutputError as error:
        streams.say(str(error))
        return Status.NOT_RUN
    status = gate.status(found, request)
    try:
        style = style_of(None if output else sys.stdout, os.environ)
        streams.deliver(report.render(found, request, form, style, os.environ), output)
    except streams.OutputError as error:
        streams.say(str(error))
        return status or Status.NOT_RUN
    return status


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


def baseline_of(request: "Request") -> "Baseline | None":
    """Return the baseline that was named: an empty one, where it is yet to be written."""
    if request.baseline is None:
        return None
    from ddpdoctor import baseline

    if request.write_baseline and not os.path.exists(request.baseline):
        return baseline.Baseline(request.baseline)
    return baseline.load(request.baseline)


def without_known(known: "Baseline", found: "Report", request: "Request") -> "Report":
    """Return the report without what the baseline names, which is written first when that was asked for.

    Raises OutputError.
    """
    from ddpdoctor import baseline
    from ddpdoctor.lines import Lines

    lines = Lines(request.contents())
    if request.write_baseline:
        streams.deliver(baseline.text_of(known, found, lines), known.file)
        known = baseline.load(known.file)
    return baseline.apply(known, found, lines)


def _raised_by_click(error: Exception) -> bool:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and str(trace.tb_frame.f_globals.get("__name__")).startswith("click.")


def _directory() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise MisuseError("the working directory is no longer there") from None


def say_own_fault(fault: "OwnFault") -> None:
    """Name an error of our own in a line; with ``DDPDOCTOR_TRACEBACK`` set, show where it came from as well."""
    if os.environ.get("DDPDOCTOR_TRACEBACK"):
        streams.say_lines(fault.traceback)
    streams.say(f"internal fault: {fault.text}; DDPDOCTOR_TRACEBACK=1 shows more")


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
