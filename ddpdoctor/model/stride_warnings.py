"""Catches the warnings that DDP issues of strides, whatever the script's own warning filters are."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from ddpdoctor.model.strides import StrideWarning, read_warning


@contextmanager
def stride_warnings() -> Iterator[list[StrideWarning]]:
    """Collect the stride warnings of the backward passes in the block, one a parameter and pass, in order.

    The list is whole when the block has ended. PyTorch issues such a warning once a process, and one that a filter
    ignores is lost all the same: inside the block it warns always and nothing is filtered. Afterwards every warning is
    issued again, under the filters that were there before, so that the script's output is what it would have been.
    """
    found: list[StrideWarning] = []
    warned_always = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield found
    finally:
        torch.set_warn_always(warned_always)
        found.extend(filter(None, (read_warning(str(warning.message)) for warning in caught)))
    for warning in caught:
        warnings.warn_explicit(
            warning.message, warning.category, warning.filename, warning.lineno, source=warning.source
        )
