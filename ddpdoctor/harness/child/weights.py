"""Leaves models with their random weights where the script would download trained ones."""

import os
from types import ModuleType
from typing import Any

from ddpdoctor.harness.child import files
from ddpdoctor.harness.child.observer import Observer
from ddpdoctor.harness.child.passing import through


class Untrained(dict[Any, Any]):
    """Stands for downloaded weights: empty, any part of it is itself, and loading it into a model changes nothing."""

    def __missing__(self, key: object) -> "Untrained":
        return self

    def __contains__(self, key: object) -> bool:
        return True

    def copy(self) -> "Untrained":
        """Return itself."""
        return self


def install(observer: Observer, torch: ModuleType) -> None:
    """Observe and replace downloads of weights and of models."""
    hub = torch.hub
    patches = observer.patches
    patches.wrap(hub, "load_state_dict_from_url", lambda original: _weights(observer, hub, original))
    patches.wrap(hub, "load", lambda original: _model(observer, original))
    patches.wrap(hub, "list", lambda original: _entries(observer, original))
    patches.wrap(hub, "download_url_to_file", lambda original: _download(observer, original))
    patches.wrap(torch.nn.Module, "load_state_dict", lambda original: _loading(torch, original))


def _weights(observer: Observer, hub: Any, original: Any) -> Any:
    def load_state_dict_from_url(url: str, model_dir: Any = None, *args: Any, **kwargs: Any) -> Any:
        folder = model_dir or os.path.join(hub.get_dir(), "checkpoints")
        name = kwargs.get("file_name") or os.path.basename(url.partition("?")[0])
        path = os.path.join(folder, name)
        files.use(observer, "download", path, "torch.hub.load_state_dict_from_url")
        if os.path.exists(path):
            return through(original, url, model_dir, *args, **kwargs)
        observer.recorder.substituted(f"the weights {name}", "random ones")
        return Untrained()

    return load_state_dict_from_url


def _model(observer: Observer, original: Any) -> Any:
    def load(repo_or_dir: str, model: str, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("source", "github") == "local":
            return through(original, repo_or_dir, model, *args, **kwargs)
        files.use(observer, "download", repo_or_dir, "torch.hub.load")
        if repo_or_dir.partition(":")[0] == "pytorch/vision":
            models = _torchvision_models()
            if models is not None and hasattr(models, model):
                observer.recorder.substituted(f"{repo_or_dir} from the hub", "the installed torchvision")
                for option in ("trust_repo", "force_reload", "verbose", "skip_validation", "source"):
                    kwargs.pop(option, None)
                return through(getattr(models, model), *args, **kwargs)
        return through(original, repo_or_dir, model, *args, **kwargs)

    return load


def _torchvision_models() -> Any:
    try:
        from torchvision import models
    except ImportError:
        return None
    return models


def _entries(observer: Observer, original: Any) -> Any:
    def list_(github: str, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(github, *args, **kwargs)
        except Exception:  # no network, or none of it cached
            observer.recorder.substituted(f"the list of models in {github}", "an empty one")
            return []

    return list_


def _download(observer: Observer, original: Any) -> Any:
    def download_url_to_file(url: str, dst: Any, *args: Any, **kwargs: Any) -> Any:
        if observer.frames.is_user(observer.caller()):
            files.use(observer, "download", dst, "torch.hub.download_url_to_file")
        return through(original, url, dst, *args, **kwargs)

    return download_url_to_file


def _loading(torch: Any, original: Any) -> Any:
    def load_state_dict(module: Any, state_dict: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(state_dict, Untrained):
            from torch.nn.modules.module import _IncompatibleKeys

            return _IncompatibleKeys([], [])
        return through(original, module, state_dict, *args, **kwargs)

    return load_state_dict
