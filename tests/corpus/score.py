"""Scores `ddpdoctor check` against public training scripts that were labelled by hand.

    python tests/corpus/score.py TREES [--labels FILE] [--show KIND|all] [--jobs N]

TREES holds one checked-out tree a repository, named owner+name, at the commit that the label names. A label (one line
of ``labels.jsonl``, facts only) says of one entry script for each kind of fault, K1 to K24, whether it is there: ``v``
is ``present``, ``absent``, ``na`` or ``unsure``; a present one has file, line, why and harm. Counted are pairs of a
script and a kind: present and reported is a true positive, present and not reported a false negative, reported and not
present a false positive. ``unsure`` labels and those whose harm is ``benign`` or ``dead`` count for neither side.
``placed`` is the share of the true positives that are reported within five lines of the label.
"""

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

LABELS = Path(__file__).with_name("labels.jsonl")
KINDS: dict[str, tuple[str, ...]] = {
    "K1": ("shuffle-with-sampler",),
    "K2": ("unsharded-loader", "unsharded-iterable-dataset"),
    "K3": ("missing-set-epoch",),
    "K4": ("process-group-not-destroyed",),
    "K5": ("unprotected-destroy",),
    "K6": ("unconverted-batchnorm",),
    "K7": ("sync-batchnorm-after-ddp",),
    "K8": ("late-visible-devices",),
    "K9": ("no-device-selected",),
    "K10": ("global-rank-as-device",),
    "K11": ("save-on-every-rank",),
    "K12": ("rank-conditional-collective", "rank0-ddp-forward"),
    "K13": ("unjoined-spawn",),
    "K14": ("bypassed-ddp-forward",),
    "K15": ("download-race",),
    "K16": ("needless-find-unused",),
    "K17": ("hard-coded-port",),
    "K18": ("local-rank-argument",),
    "K19": ("accumulation-without-no-sync",),
    "K20": ("load-without-map-location",),
    "K21": ("unreduced-metric", "padded-evaluation"),
    "K22": ("changed-after-wrap",),
    "K23": ("used-before-init",),
    "K24": ("data-parallel",),
}
"""The checks that report each kind of label."""
NOT_COUNTED = frozenset({"benign", "dead"})
NEAR = 5
"""How many lines a report may be away from the label."""
DEADLINE = 120.0
"""Seconds that one script may take."""

Label = dict[str, Any]
Finding = dict[str, Any]


class Outcome(NamedTuple):
    """What was found of one kind in one script: ``verdict`` is ``tp``, ``fn`` or ``fp``."""

    script: str
    kind: str
    verdict: str
    placed: bool
    real: bool
    text: str


def main() -> int:
    """Print a row a kind and the totals; the status is 1 when a script could not be checked, or none was there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", type=Path)
    parser.add_argument("--labels", type=Path, default=LABELS)
    parser.add_argument("--show", help="print what was missed or invented of a kind, or of all")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()

    rows = [json.loads(line) for line in options.labels.read_text(encoding="utf-8").splitlines()]
    there = [row for row in rows if (tree_of(options.trees, row) / row["entry"]).is_file()]
    with ThreadPoolExecutor(options.jobs) as pool:
        reports = list(pool.map(lambda row: findings_of(tree_of(options.trees, row), row["entry"]), there))
    broken = [row for row, findings in zip(there, reports, strict=True) if findings is None]
    pairs = [(row, found) for row, found in zip(there, reports, strict=True) if found is not None]
    outcomes = [outcome for row, findings in pairs for outcome in judged(row, findings)]

    print(f"{len(there)} of {len(rows)} labelled scripts are checked out, {len(broken)} could not be checked")
    for outcome in outcomes:
        if outcome.verdict != "tp" and options.show in ("all", outcome.kind):
            print(f"{outcome.verdict}  {outcome.kind}  {outcome.script}  {outcome.text}")
    for line in table(outcomes):
        print(line)
    return 1 if broken or not there else 0


def tree_of(trees: Path, row: dict[str, Any]) -> Path:
    """Return the folder of a labelled script's repository."""
    return trees / str(row["repo"]).replace("/", "+")


def findings_of(tree: Path, entry: str) -> list[Finding] | None:
    """Return what the source layer reports for a script; ``None`` when it gives no report."""
    command = [sys.executable, "-m", "ddpdoctor", "check", entry, "--source-only", "--format", "json"]
    try:
        run = subprocess.run(
            command,
            check=False,
            cwd=tree,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            env={**os.environ, "PYTHONSAFEPATH": "1"},  # the tree may hold an operator.py, which is none of Python's
        )
        findings: list[Finding] = json.loads(run.stdout)["findings"]
    except (subprocess.TimeoutExpired, ValueError, KeyError):
        return None
    return findings


def judged(row: dict[str, Any], findings: list[Finding]) -> Iterator[Outcome]:
    """Yield what the report says of each kind that the label speaks of."""
    script = f"{row['repo']} {row['entry']}"
    for kind, checks in KINDS.items():
        label: Label = row["labels"].get(kind, {"v": "na"})
        hits = [finding for finding in findings if finding["check"] in checks]
        if label["v"] == "unsure" or label.get("harm") in NOT_COUNTED or label.get("sub") == "same_as_K9":
            continue
        if label["v"] == "present":
            where = f"{label.get('file')}:{label.get('line')}  {label.get('why', '')}"
            placed = any(is_near(label, finding) for finding in hits)
            yield Outcome(script, kind, "tp" if hits else "fn", placed, label.get("harm") == "real", where)
        elif hits:
            where = f"{hits[0]['file']}:{hits[0]['line']}  {hits[0]['message']}"
            yield Outcome(script, kind, "fp", False, False, where)


def is_near(label: Label, finding: Finding) -> bool:
    """Whether a finding, or a place that it names, is where the label says, or at one of its other places."""
    spots = [f"{label.get('file')}:{label.get('line')}", *label.get("also", ())]
    return any(_same_spot(str(spot), place) for spot in spots for place in (finding, *finding.get("places", ())))


def _same_spot(spot: str, place: dict[str, Any]) -> bool:
    """Whether a labelled spot, ``file:line`` or ``file:cCELL.LINE`` in a notebook, is a reported place."""
    file, _, line = spot.rpartition(":")
    if not file or not str(place.get("file", "")).endswith(file):
        return False
    if line.startswith("c"):
        return line == f"c{place.get('cell')}.{place.get('line')}"
    return line.isdigit() and abs(int(line) - int(place.get("line") or 0)) <= NEAR


def table(outcomes: list[Outcome]) -> Iterator[str]:
    """Yield a row a kind with its true and false positives and false negatives, then precision and recall of all."""
    yield f"{'kind':<6}{'check':<32}{'tp':>4}{'fn':>4}{'fp':>4}{'placed':>8}"
    for kind, checks in KINDS.items():
        of_kind = [outcome for outcome in outcomes if outcome.kind == kind]
        count = Counter(outcome.verdict for outcome in of_kind)
        placed = sum(outcome.placed for outcome in of_kind)
        yield f"{kind:<6}{checks[0]:<32}{count['tp']:>4}{count['fn']:>4}{count['fp']:>4}{placed:>8}"
    count = Counter(outcome.verdict for outcome in outcomes)
    real = Counter(outcome.verdict for outcome in outcomes if outcome.real)
    placed = sum(outcome.placed for outcome in outcomes)
    yield (
        f"precision {share(count['tp'], count['fp'])}  recall {share(count['tp'], count['fn'])}  "
        f"of real harm {share(real['tp'], real['fn'])}  placed {share(placed, count['tp'] - placed)}"
    )


def share(right: int, wrong: int) -> str:
    """Return which share of all is right, to three digits; a dash when there is nothing."""
    return f"{right / (right + wrong):.3f}" if right + wrong else "-"


if __name__ == "__main__":
    sys.exit(main())
