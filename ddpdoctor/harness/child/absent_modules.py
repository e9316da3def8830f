"""Puts stand-ins in the place of absent modules that a script imports and may well never use."""

import importlib.machinery
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from types import ModuleType
from typing import Any

from ddpdoctor.harness.child.frames import OURS
from ddpdoctor.harness.child.observer import Observer

UNUSED = frozenset(
    {
        "albumentations",
        "apex",
        "bitsandbytes",
        "cv2",
        "deepspeed",
        "flash_attn",
        "fvcore",
        "horovod",
        "imgaug",
        "matplotlib",
        "nvidia",  # DALI
        "pandas",
        "seaborn",
        "submitit",
        "torch_xla",
        "torchinfo",
        "torchsummary",
        "xformers",
    }
)
"""Modules that scripts import for a path that a first run does not take: they fail when they are used."""

TRACKERS = frozenset(
    {
        "aim",
        "clearml",
        "comet_ml",
        "dllogger",
        "mlflow",
        "neptune",
        "swanlab",
        "tensorboard",
        "tensorboardX",
        "visdom",
        "wandb",
    }
)
"""Experiment trackers: they take what they are given and do nothing."""

PROGRESS = "tqdm"
"""Draws a bar around an iterable, which is handed through."""


WRITER = "torch.utils.tensorboard"
"""A module of torch's that cannot be imported without tensorboard."""


def install(observer: Observer) -> None:
    """Have absent modules found, after every other finder has failed to; one that is there in vain, before."""
    stand = Stand(observer)
    sys.meta_path.insert(0, stand.in_front)
    sys.meta_path.append(stand)


class InFront(MetaPathFinder):
    """Finds the stand-in for torch's writer of TensorBoard logs, where tensorboard is absent."""

    def __init__(self, stand: "Stand") -> None:
        self._stand = stand

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find the stand-in."""
        if fullname != WRITER and not fullname.startswith(f"{WRITER}."):
            return None
        return self._stand.for_writer(fullname)


class Stand(MetaPathFinder, Loader):
    """Finds a stand-in for a module of a list, when the script itself imports it and does not expect that to fail."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._made: set[str] = set()
        self.in_front = InFront(self)

    def for_writer(self, fullname: str) -> importlib.machinery.ModuleSpec | None:
        """Find the stand-in for torch's writer."""
        if WRITER not in self._made:
            installed = any(
                finder.find_spec("tensorboard", None) is not None
                for finder in sys.meta_path
                if finder not in (self, self.in_front)
            )
            if installed or not self._wanted():
                return None
            self._made.add(WRITER)
            self._observer.recorder.substituted("the module tensorboard, which is not installed", _words("tensorboard"))
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find a stand-in."""
        top = fullname.partition(".")[0]
        if top not in self._made:
            if not (top in UNUSED or top in TRACKERS or top == PROGRESS) or "." in fullname or not self._wanted():
                return None
            self._made.add(top)
            self._observer.recorder.substituted(f"the module {top}, which is not installed", _words(top))
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def _wanted(self) -> bool:
        frame = sys._getframe(2)
        while frame.f_back is not None and (
            "importlib" in frame.f_code.co_filename or frame.f_code.co_filename.startswith(OURS)
        ):
            frame = frame.f_back
        path = self._observer.frames.path(frame.f_code.co_filename)
        return path is not None and not self._observer.source.may_fail(path, frame.f_lineno or 0)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Make a stand-in."""
        top = spec.name.partition(".")[0]
        if top == PROGRESS:
            return ProgressModule(spec.name)
        return (TrackerModule if top in TRACKERS or top == "torch" else UnusedModule)(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: a stand-in has no code."""


def _words(top: str) -> str:
    if top == PROGRESS:
        return "one that draws nothing"
    return "one that records nothing" if top in TRACKERS else "one that fails when it is used"


class UnusedModule(ModuleType):
    """Has whatever is imported from it; none of it can be used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Unusable(self.__name__, name)


class Unusable:
    """Something of an absent module: any use of it says that the module is absent."""

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self._name = name

    def _missing(self) -> ModuleNotFoundError:
        top = self._module.partition(".")[0]
        return ModuleNotFoundError(f"No module named {top!r} (used: {self._module}.{self._name})", name=top)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise self._missing()

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        raise self._missing()

    def __getattr__(self, name: str) -> "Unusable":
        if name.startswith("__"):
            raise AttributeError(name)
        return Unusable(self._module, f"{self._name}.{name}")

    def __instancecheck__(self, thing: object) -> bool:
        return False


class TrackerModule(ModuleType):
    """Has whatever is imported from it, and all of it does nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing()


class Nothing:
    """Can be called, entered, indexed and iterated, and nothing comes of it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # As a decorator it leaves the function alone.
        return args[0] if len(args) == 1 and callable(args[0]) and not kwargs else Nothing()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing()

    def __enter__(self) -> "Nothing":
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def __getitem__(self, key: object) -> "Nothing":
        return Nothing()

    def __setitem__(self, key: object, value: object) -> None:
        pass

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __bool__(self) -> bool:
        return False

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (Nothing,)


class ProgressModule(ModuleType):
    """Stands for tqdm and its submodules."""

    def __getattr__(self, name: str) -> Any:
        if name in ("tqdm", "tqdm_notebook"):
            return Bar
        if name == "trange":
            return lambda *bounds, **options: Bar(range(*bounds))
        raise AttributeError(name)


class Bar:
    """Hands an iterable through; what else a progress bar can be told is taken and forgotten."""

    def __init__(self, iterable: Iterable[Any] | None = None, *args: Any, **kwargs: Any) -> None:
        self._iterable = iterable if iterable is not None else ()
        self.total = kwargs.get("total")
        self.n = 0

    def __iter__(self) -> Iterator[Any]:
        for item in self._iterable:
            yield item
            self.n += 1

    def __len__(self) -> int:
        length: int = len(self._iterable)  # type: ignore[arg-type]
        return length

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *error: object) -> None:
        return None

    @staticmethod
    def write(text: str, *args: Any, **kwargs: Any) -> None:
        """Print a line, as tqdm.write does beside a bar."""
        sys.stdout.write(f"{text}\n")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing()
