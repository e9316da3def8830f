"""Makes a request of what the command line, the configuration and the environment say."""

import os
from collections.abc import Mapping
from typing import Any

from ddpdoctor import config, names, projects, registry, streams, targets
from ddpdoctor.checkup import Configuration, Project, Request
from ddpdoctor.content import holds_notebook
from ddpdoctor.layer import MODEL, PROBE, SOURCE
from ddpdoctor.status import MisuseError
from ddpdoctor.targets import STANDARD_INPUT, Chosen


def build(
    paths: tuple[str, ...], options: Mapping[str, Any], directory: str, environment: Mapping[str, str]
) -> Request:
    """Return what is asked for; the standard input is read where it is to be checked.

    ``options`` has what the command line said, by the option's name with ``_`` for ``-`` (``None``, ``False`` or empty
    where it said nothing), and the script's ``arguments``. Raises MisuseError.
    """
    chosen = targets.choose(paths, directory, options["stdin_filename"])
    insisted = "--probe" if options["probe"] else "--run" if options["run"] else None
    if insisted and options["source_only"]:
        raise MisuseError(f"--source-only and {insisted} contradict each other: leave one out")
    if insisted and chosen.only_read:
        raise MisuseError(f"{insisted} needs exactly one script, but {chosen.only_read}")
    if options["arguments"] and chosen.only_read:
        raise MisuseError(f"the arguments after -- need exactly one script, but {chosen.only_read}")
    if options["jobs"] is not None and options["jobs"] < 1:
        raise MisuseError(f"--jobs must be a whole number from 1, not {options['jobs']}")
    if options["baseline"] == "":
        raise MisuseError("--baseline needs the name of a file")
    if options["write_baseline"] and options["baseline"] is None:
        raise MisuseError("--write-baseline needs --baseline FILE, which says where to")
    projects = _projects(chosen, directory, options)
    _expect_findable(projects, options, runs=chosen.only_read is None and not options["source_only"])
    standard_input = streams.read() if STANDARD_INPUT in paths else None
    if standard_input is not None and options["stdin_filename"] is None and holds_notebook(standard_input):
        projects = tuple(project.with_(paths=(f"{project.paths[0]}.ipynb",)) for project in projects)
    runs = all(project.configuration.run for project in projects)
    forbidden = None if runs else "run = false in the configuration: --run runs it all the same"
    return Request(
        projects=projects,
        directory=directory,
        standard_input=standard_input,
        arguments=tuple(options["arguments"]),
        source_only=options["source_only"],
        run=options["run"],
        probe=options["probe"],
        withheld=chosen.only_read or targets.forbidden_unasked(environment) or forbidden,
        baseline=options["baseline"] and os.path.abspath(os.path.join(directory, options["baseline"])),
        write_baseline=options["write_baseline"],
        jobs=options["jobs"] or targets.sensible_jobs(len(chosen.files)),
    )


def _projects(chosen: Chosen, directory: str, options: Mapping[str, Any]) -> tuple[Project, ...]:
    """Return the projects that files belong to, each with its configuration.

    One that cannot be used takes no other project along.
    """
    by_file: dict[str | None, Configuration] = {}
    found = []
    by_root = projects.by_root(chosen.files, chosen.folders, directory)
    for root, files in by_root.items():
        try:
            loaded = config.load(root, registry.names)
            if loaded.file not in by_file:
                by_file[loaded.file] = _overridden(loaded, options)
            configuration = by_file[loaded.file]
        except config.ConfigurationError as error:
            if len(by_root) == 1:
                raise
            configuration = _overridden(Configuration(), options).with_(unusable=str(error))
        whole = any(_holds(folder, configuration.file) for folder in chosen.folders)
        found.append(Project(root=root, paths=files, configuration=configuration, whole=whole))
    if all(project.configuration.unusable is not None for project in found):
        raise MisuseError(found[0].configuration.unusable)
    return tuple(found)


def _expect_findable(projects: tuple[Project, ...], options: Mapping[str, Any], *, runs: bool) -> None:
    """Say which of the selected checks nothing can come of, as they are seen in a run only, and none is made.

    Raises MisuseError where that leaves none of those that the command line selects.
    """
    asked = {SOURCE, MODEL, PROBE} if options["probe"] else {SOURCE, MODEL} if runs or options["run"] else {SOURCE}
    selected = frozenset[str]().union(*(project.configuration.select or () for project in projects))
    unseen = {row.name: row.layers for row in registry.rows() if row.name in selected and asked.isdisjoint(row.layers)}
    if not unseen:
        return
    needed = "--run or --probe" if all(MODEL in layers for layers in unseen.values()) else "--probe"
    verb = "is" if len(unseen) == 1 else "are"
    line = f"{', '.join(unseen)} {verb} seen in a run only: nothing can be found without {needed}"
    if options["select"] and not selected - {*unseen}:
        raise MisuseError(f"--select: {line}")
    streams.say(line.replace("nothing can be found", "not looked for"))


def _holds(folder: str, file: str | None) -> bool:
    return file is not None and projects.lies_in(os.path.dirname(file), folder)


def _overridden(configuration: Configuration, options: Mapping[str, Any]) -> Configuration:
    """Return the configuration with what the command line says put over it."""
    said: dict[str, Any] = _chosen_checks(configuration, options)
    for name in ("ranks", "steps", "timeout"):
        if options[name] is not None:
            try:
                said[name] = config.READERS[name](options[name])
            except ValueError as error:
                raise MisuseError(f"--{name} must be {error}, not {options[name]}") from None
    for name in ("severity", "confidence"):
        if options[name] is not None:
            said[name] = config.READERS[name](options[name])
    if options["preview"]:
        said["preview"] = True
    if options["fail_on"] is not None:
        said["fail_on"] = config.severity_to_fail_on(options["fail_on"])
    said["unasked"] = frozenset() if said.get("preview", configuration.preview) else registry.previews()
    merged = configuration.with_(**said)
    if merged.select is not None and not merged.select - merged.ignore:
        if merged.file and not options["select"] and not options["ignore"]:
            there = f"{os.path.relpath(merged.file)}: [tool.ddpdoctor]"
            raise config.ConfigurationError(f"{there}: select and ignore leave no check")
        raise MisuseError("--select and --ignore leave no check")
    return merged


def _chosen_checks(configuration: Configuration, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the checks that the command line selects and ignores: what it selects, the configuration cannot ignore."""
    said: dict[str, Any] = {}
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
    if "ignore" in said:
        said["ignored_there"] = {}
    return said
