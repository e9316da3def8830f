"""The table of what each layer did and why one did not."""

from collections.abc import Collection

from ddpdoctor.checkup import Report
from ddpdoctor.layer import LAYERS, SOURCE, LayerState
from ddpdoctor.report.summary import plural
from ddpdoctor.report.table import table
from ddpdoctor.report.words import Style, printable

PIPE_WIDTH = 110
"""What the table is wrapped to where there is no terminal: its longest line also draws its rule."""


def summary_table(report: Report, style: Style) -> str:
    """Return the table: a row for each layer and state, with the file or how many files it was so for.

    One run serves several layers: what a reader should know of it is said of the first one.
    """
    rows: list[tuple[str, ...]] = []
    said_of: dict[tuple[str, tuple[str, ...]], str] = {}
    for layer, state, files in _grouped(report):
        first = said_of.setdefault((files, state.details), layer)
        details = state.details if first == layer or not state.details else (f"the same run as {first}",)
        rows.append((layer, state.state, files, _said(state.with_(details=details))))
    headers: tuple[str, ...] = ("layer", "state", "file", "what was done, or why not")
    if len(report.targets) == 1:
        headers, rows = (*headers[:2], headers[3]), [(*row[:2], row[3]) for row in rows]
    return table(headers, rows, style if style.width is not None else style.with_(width=PIPE_WIDTH))


def shortcomings(report: Report, layers: Collection[str] = LAYERS) -> list[str]:
    """Return a line for each of some layers that was not checked, or that not all was read for, without a table."""
    return [
        f"{layer}: {state.state} ({files}): {'; '.join(_said(state).splitlines())}"
        for layer, state, files in _grouped(report)
        if (state.state != "checked" or (state.details and layer == SOURCE)) and layer in layers
    ]


def _said(state: LayerState) -> str:
    return "\n".join(printable(line) for line in (state.reason, *state.details) if line)


def _grouped(report: Report) -> list[tuple[str, LayerState, str]]:
    """Return each layer's states, and the file or the number of files that it was in that state for."""
    groups: dict[tuple[str, str, str], tuple[LayerState, list[str]]] = {}
    for layer in LAYERS:
        for target in report.targets:
            if layer in target.layers:
                state = target.layers[layer]
                groups.setdefault((layer, state.state, _said(state)), (state, []))[1].append(target.path)
    return [
        (key[0], state, paths[0] if len(paths) == 1 else plural(len(paths), "file"))
        for key, (state, paths) in groups.items()
    ]
