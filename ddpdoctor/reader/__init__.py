"""Reads a training script and predicts its trace; the only code that knows ``ast``."""

import sys
from collections.abc import Mapping

from ddpdoctor.content import is_notebook, read_file
from ddpdoctor.events import Unparsed
from ddpdoctor.memory import forget as forget_conditions
from ddpdoctor.reader.attributes import get_attribute
from ddpdoctor.reader.blocks import enter_manager
from ddpdoctor.reader.budget import OutOfBudget
from ddpdoctor.reader.calls import base_called, call_value
from ddpdoctor.reader.concern import forget as forget
from ddpdoctor.reader.concern import may_concern
from ddpdoctor.reader.epochs import iterator
from ddpdoctor.reader.expressions import EXPRESSIONS
from ddpdoctor.reader.formulas import test
from ddpdoctor.reader.imports import load_module
from ddpdoctor.reader.items import get_item
from ddpdoctor.reader.iteration import item_of
from ddpdoctor.reader.library import attribute_model, attribute_written, given_value
from ddpdoctor.reader.library.entries import decorate
from ddpdoctor.reader.project import MAX_MODULES, Project
from ddpdoctor.reader.roots import run_uncalled
from ddpdoctor.reader.silence import is_silent
from ddpdoctor.reader.source import MAX_BYTES, Source, parse
from ddpdoctor.reader.statements import STATEMENTS
from ddpdoctor.reader.tables import Tables
from ddpdoctor.reader.walk import Walk
from ddpdoctor.reader.written import set_attribute, set_item
from ddpdoctor.trace import Predicted

TABLES = Tables(
    expressions=EXPRESSIONS,
    statements=STATEMENTS,
    call=call_value,
    get_attribute=get_attribute,
    set_attribute=set_attribute,
    set_item=set_item,
    get_item=get_item,
    iterator=iterator,
    item_of=item_of,
    decorate=decorate,
    base_called=base_called,
    attribute_model=attribute_model,
    given_value=given_value,
    attribute_written=attribute_written,
    enter_manager=enter_manager,
    load=load_module,
    is_silent=is_silent,
    test=test,
)

MAX_RECURSION = 10_000 if sys.version_info >= (3, 11) else 3_000
"""A level of the user's calls takes a dozen of ours; before 3.11 each of those took its share of the C stack."""


def read(file: str, directory: str, content: bytes | None = None, *, last: bool = False) -> tuple[Predicted, ...]:
    """Return the predicted trace of each program in a file: one, but for notebooks that write further ones.

    ``file`` and ``directory`` (the working directory) are absolute; ``content`` is given where the file is not on
    disk (its name is then ``-``). ``last`` leaves taking everything apart to the end of the process.
    Raises OSError when the file cannot be read.
    """
    if is_notebook(file):
        from ddpdoctor.reader.notebook import MAX_NOTEBOOK_BYTES, load_notebook

        sources = load_notebook(read_file(file, MAX_NOTEBOOK_BYTES) if content is None else content, file)
    else:
        sources = (parse(read_file(file, MAX_BYTES) if content is None else content, file),)
    forget_conditions()
    written = {source.file: source for source in sources if source.file != file}
    return tuple(_predict(source, directory, written, last=last) for source in sources)


def _predict(source: Source, directory: str, written: Mapping[str, Source], *, last: bool) -> Predicted:
    project = Project(source.file, directory, written)
    project.main.source = source
    fault = source.fault
    if fault is not None and (not fault.unread or may_concern(project)):
        event = Unparsed(place=fault.place, message=fault.message, cause=fault.cause, unread=fault.unread)
        return Predicted([event], complete=False, entered=False)
    if not may_concern(project):
        return Predicted((), complete=True, entered=True)
    walk = Walk(project, TABLES)
    entered, ended = True, ""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, MAX_RECURSION))
    try:
        walk.load(project.main)
        entered = run_uncalled(walk)
    except OutOfBudget:
        ended = "it takes longer than is given to one program"
    except RecursionError:
        walk.complete, ended = False, "its calls are nested too deep"
    finally:
        entered = entered and not walk.no_entry
        sys.setrecursionlimit(limit)
    if project.overflowed:
        ended = f"it imports more than {MAX_MODULES} modules"
    if not last:
        walk.end()
    complete = walk.complete and not project.overflowed
    roots = () if entered else walk.roots
    return Predicted(walk.events, complete=complete, entered=entered, roots=roots, ended=ended)
