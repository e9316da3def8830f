"""Makes a request of what the command line, the configuration and the environment say."""

import os
from collections.abc import Mapping
from typing import Any

from ddpdoctor import config, names, registry, streams, targets
from ddpdoctor.checkup import Configuration, Request
from ddpdoctor.status import MisuseError
from ddpdoctor.targets import STANDARD_INPUT


def build(
    paths: tuple[str, ...], options: Mapping[str, Any], directory: str, environment: Mapping[str, str]
) -> Request:
    """Return what is asked for; the standard input is read where it is to be checked.

    ``options`` has what the command line said by the option's name (``source_only``, ``run``, ``probe``, ``select``,
    ``ignore``, ``preview``, ``fail_on``, ``ranks``, ``steps``, ``timeout``; ``None`` or empty where it said nothing)
    and the script's ``arguments``. Raises MisuseError.
    """
    chosen = targets.choose(paths, directory)
    insisted = "--probe" if options["probe"] else "--run" if options["run"] else None
    if insisted and options["source_only"]:
        raise MisuseError(f"--source-only and {insisted} contradict each other: leave one out")
    if insisted and chosen.only_read:
        raise MisuseError(f"{insisted} needs exactly one script, but {chosen.only_read}")
    if options["arguments"] and chosen.only_read:
        raise MisuseError(f"the arguments after -- need exactly one script, but {chosen.only_read}")
    folders = _folders(paths, directory)
    configuration = _overridden(config.load(_common(folders, directory), registry.names), options)
    forbidden = None if configuration.run else "run = false in the configuration: --run runs it all the same"
    return Request(
        paths=chosen.files,
        directory=directory,
        standard_input=streams.read() if STANDARD_INPUT in paths else None,
        arguments=tuple(options["arguments"]),
        source_only=options["source_only"],
        run=options["run"],
        probe=options["probe"],
        withheld=chosen.only_read or targets.forbidden_unasked(environment) or forbidden,
        whole_project=any(_holds(folder, configuration.file) for folder in folders if os.path.isdir(folder)),
        configuration=configuration,
    )


def _folders(paths: tuple[str, ...], directory: str) -> list[str]:
    return [os.path.abspath(os.path.join(directory, path)) for path in paths if path != STANDARD_INPUT]


def _common(paths: list[str], directory: str) -> str:
    """Return the folder whose configuration holds for all paths."""
    folders = [path if os.path.isdir(path) else os.path.dirname(path) for path in paths]
    try:
        return os.path.commonpath(folders) if folders else directory
    except ValueError:  # they lie on several drives
        return directory


def _holds(folder: str, file: str | None) -> bool:
    return file is not None and (os.path.dirname(file) + os.sep).startswith(folder.rstrip(os.sep) + os.sep)


def _overridden(configuration: Configuration, options: Mapping[str, Any]) -> Configuration:
    """Return the configuration with what the command line says put over it."""
    said: dict[str, Any] = {}
    for name in ("ranks", "steps", "timeout"):
        if options[name] is not None:
            try:
                said[name] = config.READERS[name](options[name])
            except ValueError as error:
                raise MisuseError(f"--{name} must be {error}, not {options[name]}") from None
    for name in ("select", "ignore"):
        given = names.split(options[name])
        for check in given:
            if check not in registry.names():
                raise MisuseError(f"--{name}: {names.unknown('check', check, registry.names())}")
        if options[name] and not given:
            raise MisuseError(f"--{name} names no check")
        if given:
            said[name] = frozenset(given)
    if "select" in said:
        said.setdefault("ignore", configuration.ignore - said["select"])
        if not said["select"] - said["ignore"]:
            raise MisuseError("--select and --ignore leave no check")
    if "ignore" in said:
        said["ignored_there"] = {}
    if options["preview"]:
        said["preview"] = True
    if options["fail_on"] is not None:
        said["fail_on"] = config.severity_to_fail_on(options["fail_on"])
    said["unasked"] = frozenset() if said.get("preview", configuration.preview) else registry.previews()
    return configuration.with_(**said)
