"""The words of distributed training: the names by which code comes to torch's process groups, replicas and launchers.

The patterns are compiled when they are first looked for, as all patterns of the reader that many a script does not
need: most scripts have one of the words that are plain.
"""

import re

_PLAIN = ("torch.distributed", "torch.multiprocessing", "DataParallel", "init_process_group", "LOCAL_RANK")
_FRAMEWORKS = (
    r"(?:from|import)[ \t]+"
    r"(?:lightning|pytorch_lightning|lightning_fabric|accelerate|deepspeed|horovod|fairscale|apex|ray|mpi4py)\b"
)
_BY_NAME = r"""\b(?:import_module|instantiate|__import__)\((?!["'][^"'\n]*["'][,)])"""
"""A call of what a name says that is no literal: a configuration's mostly, of any module of the project."""
_DISTRIBUTED = (
    r"torch\.distributed(?!\.rpc)|nn\.parallel|DataParallel|Distributed\w*Sampler|init_process_group|"
    r"init_distributed|from torch import[^\n]*distributed|local[_-]rank|LOCAL_RANK|CUDA_VISIBLE_DEVICES|" + _FRAMEWORKS
)
_WORDS = rf"torch\.distributed|torch\.multiprocessing|from torch import[^\n]*multiprocessing|{_DISTRIBUTED}"
_SIGNS = ("istributed", "arallel", "init_process_group", "ocal_rank", "ocal-rank", "LOCAL_RANK", "CUDA_VISIBLE_DEVICES")
_SIGNS_OF_NAMES = ("import_module(", "instantiate(", "__import__(")
_SIGNS_OF_IMPORTS = (" lightning", " pytorch_l", " accel", " deepsp", " horov", " fairs", " apex", " ray", " mpi4py")


def has_a_word(text: str) -> bool:
    """Whether one of the words stands in a text, as it does in every program in which a check can find something."""
    if any(word in text for word in _PLAIN):
        return True
    return ("multiprocessing" in text or _has_a_sign(text)) and re.search(_WORDS, text) is not None


def speaks(text: str) -> bool:
    """Whether one of the words stands in a text, besides those about processes and about calls in others.

    Such a one is in every program of concern: what only starts processes, or calls others, trains no replicas.
    """
    return _has_a_sign(text) and re.search(_DISTRIBUTED, text) is not None


def _has_a_sign(text: str) -> bool:
    """Whether one of the words can stand in a text, which is told sooner than by all the words."""
    return any(sign in text for sign in _SIGNS) or any(sign in text for sign in _SIGNS_OF_IMPORTS)


def calls_by_name(text: str) -> bool:
    """Whether something is called or imported by a name that is worked out: any module of the project may be meant."""
    return any(sign in text for sign in _SIGNS_OF_NAMES) and re.search(_BY_NAME, text) is not None
