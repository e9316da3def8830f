"""Searches for settings: what calls the training function with those that it has chosen."""

from ddpdoctor.reader.abstract import NONE, Abstract, Opaque
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.walk import Walk


def _agent(walk: Walk, call: Call) -> Abstract | None:
    """``wandb.agent(sweep, function=train)``: calls the function for each run, without arguments."""
    function = call.argument("function", 1)
    if function is None:
        return None
    walk.call(function, call._replace(args=(), kwargs={}))
    return NONE


def _optimize(walk: Walk, call: Call) -> Abstract | None:
    """``study.optimize(objective)``: calls the objective with a trial."""
    function = call.argument("func", 0)
    if function is None:
        return None
    walk.call(function, call._replace(args=(Opaque("trial"),), kwargs={}))
    return NONE


FUNCTIONS = {"wandb.agent": _agent}
METHODS = dict.fromkeys(("optuna.create_study.optimize", "optuna.load_study.optimize"), _optimize)
