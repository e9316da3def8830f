"""Leaves ``torch.compile`` out: compiling takes minutes and changes nothing of what is observed."""

from types import ModuleType
from typing import Any

from ddpdoctor.harness.child.observer import Observer


def install(observer: Observer, torch: ModuleType) -> None:
    """Have ``torch.compile`` return what it is given."""

    def replace(original: Any) -> Any:
        def compile(model: Any = None, **options: Any) -> Any:  # noqa: A001
            observer.recorder.substituted("torch.compile", "the model as it is")
            return model if model is not None else lambda function: function

        return compile

    observer.patches.wrap(torch, "compile", replace)
