"""The state of one interpretation: where it is, under which condition, and what has happened so far."""

import ast
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ddpdoctor.atom import ALWAYS, Atom, Condition, Formula, Literal
from ddpdoctor.condition import as_formula, assume, together
from ddpdoctor.events import MAIN, Event, Loop, Unfollowed, Unparsed, Within
from ddpdoctor.place import Place
from ddpdoctor.reader.abstract import Abstract, Cells, Opaque
from ddpdoctor.reader.budget import LONG, Budget, OutOfBudget
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.frame import Frame
from ddpdoctor.reader.module import Module
from ddpdoctor.reader.objects import Class, Made, Object, objects_that_matter
from ddpdoctor.reader.places import Places
from ddpdoctor.reader.project import Project
from ddpdoctor.reader.source import SourceFault
from ddpdoctor.reader.start_method import default_start_method
from ddpdoctor.reader.stored import may_be_changed
from ddpdoctor.reader.syntax import Syntax
from ddpdoctor.reader.tables import Tables
from ddpdoctor.reader.tags import LOCAL, NO_TAGS, Tags, measures
from ddpdoctor.reader.unfollowed import NO_MOVERS, may_set_up
from ddpdoctor.truth import holds_by_default
from ddpdoctor.value import Ref
from ddpdoctor.world import Expression


class Walk(Budget):
    """One interpretation of a program."""

    evaluates = False  # whether the model whose forward this is in was put into evaluation mode
    no_entry = False  # whether what nothing calls is interpreted: the program has no entry

    def __init__(self, project: Project, tables: Tables, *, steps: int = 400_000, seconds: float = 8.0) -> None:
        super().__init__(steps, seconds)
        self.project = project
        self.tables = tables
        self.events: list[Event] = []
        self.path: Condition = ALWAYS
        self.dead = False  # whether control cannot go on from here
        self.loops: tuple[Loop, ...] = ()
        self.within: tuple[Within, ...] = ()
        self.stack: tuple[Place, ...] = ()
        self.process = MAIN
        self.file = project.script
        self.frames: list[Frame] = []
        self.environment: Cells = {}
        self.patched: Cells = {}  # what the script put in the place of names outside it
        self.children = self.in_child = 0
        self.start_method = default_start_method(sys.version_info[:2])
        self.in_wrapper = 0  # how deep inside the forward of a wrapped model
        self.in_forward = 0
        self.syntax = Syntax()
        self.searched: set[tuple[Module, str]] = set()  # the names that are being looked up in modules
        self.called: dict[ast.AST, Abstract | None] = {}  # those without arguments with what they gave last
        self.met: dict[ast.AST, Any] = {}  # the collectives of each function, which are in ``met_again.Met``
        self.active: dict[ast.AST, int] = {}
        self.visits: dict[ast.AST, int] = {}
        self.spent: dict[ast.AST, int] = {}  # the steps in each function, with what it called
        self.layouts: dict[Ref, set[str]] = {}  # the memory formats that models were moved to
        self.unsynced: dict[Place, set[Ref | None]] = {}  # the wrappers of each no_sync() block; None is an unknown one
        self.layers: dict[Ref, list[Condition]] | None = None  # what the forward that is interpreted computes with
        self.layers_matter = False  # whether a check may ask which
        self.heard: dict[tuple[object, object], int] = {}  # what functions may do, those of objects by the object
        self.checkpointed: dict[Ref, int] = {}  # how often that forward checkpoints each module
        self.handed_over: set[Ref] = set()  # what code that is not followed was given, and may have moved
        self.other_default_device = False  # whether tensors are made elsewhere than on the CPU by default
        self.hooked: Ref | None = None  # the model whose parameter's gradient hook is interpreted
        self.first_look: ast.AST | None = None  # the call in ``next(iter(loader))`` that makes the iterator
        self.copied: dict[Ref, Ref] = {}  # what persistent workers hold copies of, and whose workers
        self.drawn: tuple[Abstract, ...] = ()  # what is in the picture that is written next
        self.own_folder = False  # whether the working directory is one of the rank's own
        self.discarded: ast.AST | None = None  # the call whose result the present statement throws away
        self.grouped: set[str] = set()  # the processes in which a group was initialised
        self.setting_up: set[tuple[str, str]] = set()  # the calls in each process that may have set one up
        self.losses: set[str] = set()  # what computes a rank's own loss: a backward pass went through what it gave
        self.roots: list[tuple[range, ...]] = []  # the events of each of them, with those that come before it
        self.holders: list[Frame | Class | Object] = []  # of values that hold them in turn
        self.decided: dict[Literal, tuple[Place, bool]] = {}  # the tests that let ranks through, or sent some away
        self.by_hand: dict[Ref | ast.AST, Ref] = {}  # what takes batches without a loader, and what stands for one
        self._at_root = False
        self._atoms: dict[str, Atom] = {}
        self._created: dict[tuple[object, ...], int] = {}
        self._places = Places(project)

    # --- running -----------------------------------------------------------------------------------------------

    def evaluate(self, node: ast.expr, frame: Frame) -> Abstract:
        """Return the value of an expression."""
        self.steps_left -= 1
        if self.steps_left < self.look_at or len(self.path) > LONG:
            self.look_around(len(self.path))
        evaluator = self.tables.expressions.get(type(node))
        return Opaque(f"{type(node).__name__} in {self.line(node)}") if not evaluator else evaluator(self, node, frame)

    def run(self, body: Iterable[ast.stmt], frame: Frame) -> None:
        """Interpret statements in order, until control cannot go on."""
        statements = self.tables.statements
        for node in body:
            if self.dead:
                return
            self.steps_left -= 1
            if self.steps_left < self.look_at or len(self.path) > LONG:
                self.look_around(len(self.path))
            runner = statements.get(type(node))
            if runner is not None:  # else syntax of a Python newer than this one knows of
                runner(self, node, frame)

    def test(self, node: ast.expr, frame: Frame) -> Formula:
        """Return the formula under which an expression is true."""
        return self.tables.test(self, node, frame)

    def call(self, callee: Abstract, call: Call) -> Abstract:
        """Return what calling a value gives."""
        return self.tables.call(self, callee, call)

    def call_with(self, callee: Abstract, *args: Abstract, node: ast.AST) -> Abstract:
        """Return what calling a value with some arguments gives, where no call is written in the program."""
        return self.call(callee, Call(args, {}, node, self.frames[-1]))

    def call_as_root(self, callee: Abstract, call: Call) -> Abstract:
        """Call a function as the first of its process: no call stands above its body."""
        self.start_as_root()
        try:
            return self.call(callee, call)
        finally:
            self._at_root = False

    def start_as_root(self) -> None:
        """Let the next function that is called be the first on the stack."""
        self._at_root = True

    def get(self, value: Abstract, name: str, node: ast.AST) -> Abstract:
        """Return an attribute of a value."""
        return self.tables.get_attribute(self, value, name, node)

    def set(self, value: Abstract, name: str, new: Abstract, node: ast.AST) -> None:
        """Write an attribute of a value."""
        self.tables.set_attribute(self, value, name, new, node)

    def load(self, module: Module) -> None:
        """Interpret a module of the project, once."""
        self.tables.load(self, module)

    @contextmanager
    def aside(self, steps: int) -> Iterator[None]:
        """Interpret something in a few steps, and leave no event of it; what takes more is left where it is."""
        begun, complete, left = len(self.events), self.complete, self.steps_left - steps
        path, dead, loops = self.path, self.dead, self.loops
        self.steps_left = min(self.steps_left, steps)
        try:
            yield
        except OutOfBudget:
            self.complete = complete
            if left < 0:
                raise
        finally:
            self.steps_left += max(left, 0)
            del self.events[begun:]
            self.path, self.dead, self.loops = path, dead, loops

    def end(self) -> None:
        """Let go of all values: functions hold what holds them, which only a search for garbage would find."""
        for holder in self.holders:
            holder.let_go()
        self.holders.clear()
        self.frames.clear()

    # --- places and objects ------------------------------------------------------------------------------------

    def place(self, node: ast.AST) -> Place:
        """Return where a node stands, in the file that is being interpreted."""
        return self._places.of(node, self.file)

    def line(self, node: ast.AST) -> str:
        """Return the words for the line of a node, with its module where that is not the script."""
        module = self.project.name_of(self.file)
        return f"line {getattr(node, 'lineno', 0)}" + (f" of {module}" if module else "")

    def ref(self, type_: str, node: ast.AST) -> Ref:
        """Return the reference of an object that is created now."""
        place = self.place(node)
        key = (self.process, place, self.stack)
        n = self._created.get(key, 0)
        self._created[key] = n + 1
        return Ref(type=type_, place=place, stack=self.stack, process=self.process, n=n)

    def make(self, call: Call, tags: Tags | None = None, path: str | None = None) -> Made:
        """Return the object that an external call creates."""
        path = path or call.path
        ref = self.ref(path, call.node) if call.instance is None else call.instance.ref
        made = Made(path, ref, call.args, call.kwargs, call.flow() if tags is None else tags)
        made.home = self.project.name_of(ref.place.file)
        made.open = call.open
        made.node = call.node
        return made

    # --- events and conditions ---------------------------------------------------------------------------------

    def emit(self, kind: type[Event], node: ast.AST, place: Place | None = None, **fields: Any) -> Event:
        """Record that something happens here."""
        event = kind(
            place=place or self.place(node),
            stack=self.stack,
            process=self.process,
            order=len(self.events),
            when=self.path,
            loops=self.loops,
            within=self.within,
            **fields,
        )
        self.events.append(event)
        return event

    def fail(self, fault: SourceFault) -> None:
        """Record that a module does not parse: what it would have done is not known, where a run comes to it at all.

        A run with the options at their defaults does without a module that another choice imports.
        """
        if holds_by_default(as_formula(self.path)) is not False:
            self.complete = False
        self.events.append(
            Unparsed(
                place=fault.place,
                message=fault.message,
                cause=fault.cause,
                unread=fault.unread,
                order=len(self.events),
                when=self.path,
                within=self.within,
            )
        )

    def unfollowed(self, call: str, given: Iterable[Abstract], node: ast.AST) -> None:
        """Record that a call which is not followed got objects that matter."""
        given = tuple(given)
        for value in given:
            may_be_changed(value)
            if isinstance(value, (Made, Object)) and not call.startswith(NO_MOVERS):
                self.handed_over.add(value.ref)
        refs = dict.fromkeys(ref for value in given for ref in objects_that_matter(value))
        if not refs:
            if not may_set_up(call) or (self.process, call) in self.setting_up:
                return
            self.setting_up.add((self.process, call))
        self.emit(Unfollowed, node, call=call, objects=tuple(refs))

    def literal(
        self,
        text: str,
        kind: str = "other",
        expression: Expression | None = None,
        node: ast.AST | None = None,
        by_default: bool | None = None,
        tags: Tags = NO_TAGS,
    ) -> Literal:
        """Return the literal that the atom of a canonical text holds; who asks first decides what the atom is."""
        atom = self._atoms.get(text)
        if atom is None:
            place = None if node is None else self.place(node)
            own, local = frozenset(tag[1] for tag in measures(tags)), tags & LOCAL  # type: ignore[index]
            atom = Atom(text, kind, expression, place, by_default=by_default, measured=own, local=local)
            self._atoms[text] = atom
        return Literal(atom, True)

    def assuming(self, formula: Formula) -> Condition | None:
        """Return the present condition with a formula added, or ``None`` when that cannot be."""
        return assume(self.path, formula)

    def assuming_also(self, condition: Condition) -> Condition | None:
        """Return the present condition with another one added, or ``None`` when they contradict each other."""
        return together(self.path, condition)

    @contextmanager
    def inside(self, *blocks: Within) -> Iterator[None]:
        """Mark what is interpreted meanwhile as being within the given blocks."""
        before = self.within
        self.within = before + blocks
        try:
            yield
        finally:
            self.within = before

    @contextmanager
    def calling(self, node: ast.AST, file: str) -> Iterator[None]:
        """Interpret another function's body: its file, and the call's place on the stack."""
        file_before, stack_before = self.file, self.stack
        self.stack = () if self._at_root else (*stack_before, self.place(node))
        self._at_root = False
        self.file = file
        try:
            yield
        finally:
            self.file, self.stack = file_before, stack_before
