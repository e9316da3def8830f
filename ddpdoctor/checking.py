"""The command ``check``: what was asked for is checked and reported, and errors are one line and an exit status."""

import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ddpdoctor import streams
from ddpdoctor.status import MisuseError, Status

if TYPE_CHECKING:
    from ddpdoctor.baseline import Baseline
    from ddpdoctor.checkup import OwnFault, Report, Request


def check(paths: tuple[str, ...], options: Mapping[str, Any]) -> Status:
    """Check files and report what is found.

    ``options`` has what the command line said (:mod:`ddpdoctor.options`), and the script's ``arguments``.
    Raises MisuseError.
    """
    from ddpdoctor.request import build

    output = options["output"]
    if output is not None:
        streams.expect_writable(output, "--output")
    if options["write_baseline"] and options["baseline"]:
        streams.expect_writable(options["baseline"], "--baseline")
    request = build(paths or (".",), options, _directory(), os.environ)
    if output is not None:
        _expect_free(output, request)
    for unusable in dict.fromkeys(project.configuration.unusable for project in request.projects):
        if unusable is not None:
            streams.say(f"{unusable}; what it holds for is not checked")

    from ddpdoctor import engine, gate, report
    from ddpdoctor.progress import Spoken
    from ddpdoctor.report.words import style_of

    known = _baseline_of(request)
    voice = Spoken(sys.stderr)
    try:
        found = engine.check(request, voice)
    finally:
        voice.clear()
    for fault in found.faults:
        say_own_fault(fault)
    try:
        found = gate.shown(found if known is None else _without_known(known, found, request))
    except streams.OutputError as error:
        streams.say(str(error))
        return Status.NOT_RUN
    status = gate.status(found, request)
    try:
        style = style_of(None if output else sys.stdout, os.environ)
        streams.deliver(report.render(found, request, options["form"], style, os.environ), output)
    except streams.OutputError as error:
        streams.say(str(error))
        return status or Status.NOT_RUN
    return status


def with_errors_said(run: Callable[[], Any], ours: Callable[[Exception], bool] = lambda error: True) -> Any:
    """Return what a command returns; an error is said in one line, and its exit status returned.

    ``ours`` says whether an exception that is not expected is a fault of our own; others are raised.
    """
    try:
        return run()
    except MisuseError as error:
        streams.say(str(error))
        return Status.USAGE
    except streams.OutputError as error:
        streams.say(str(error))
    except KeyboardInterrupt:
        streams.say("interrupted", after_echo=True)
        return Status.INTERRUPTED
    except Exception as error:  # whatever it is, it is our fault, and a gate must not pass
        if not ours(error):
            raise
        from ddpdoctor.checkup import OwnFault

        say_own_fault(OwnFault.of(error))
    return Status.NOT_RUN


def say_own_fault(fault: "OwnFault") -> None:
    """Name an error of our own in a line; with ``DDPDOCTOR_TRACEBACK`` set, show where it came from as well."""
    if os.environ.get("DDPDOCTOR_TRACEBACK"):
        streams.say_lines(fault.traceback)
    streams.say(f"internal fault: {fault.text}; DDPDOCTOR_TRACEBACK=1 shows more")


def _expect_free(output: str, request: "Request") -> None:
    """Ask whether a report can take the place of a file, if there is one.

    Raises MisuseError for what is checked, what the check-up needs, and what a project is made of: a module that a
    script imports is not among the paths.
    """
    target = os.path.realpath(output)
    if target in map(os.path.realpath, request.paths):
        raise MisuseError(f"--output: '{output}' is what is to be checked")
    if request.baseline is not None and target == os.path.realpath(request.baseline):
        raise MisuseError(f"--output: '{output}' is the baseline: the report needs a file of its own")
    if os.path.exists(target) and target.endswith(SOURCES):
        raise MisuseError(f"--output: '{output}' is there already, and it is no report: name another file")


SOURCES = (".py", ".pyi", ".pyw", ".ipynb", ".toml", ".cfg", ".ini", ".yaml", ".yml")
"""How the names of files end that people write, and that no report takes the place of."""


def _baseline_of(request: "Request") -> "Baseline | None":
    """Return the baseline that was named: an empty one, where it is yet to be written."""
    if request.baseline is None:
        return None
    from ddpdoctor import baseline

    if request.write_baseline and not os.path.exists(request.baseline):
        return baseline.Baseline(request.baseline)
    return baseline.load(request.baseline)


def _without_known(known: "Baseline", found: "Report", request: "Request") -> "Report":
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


def _directory() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise MisuseError("the working directory is no longer there") from None
