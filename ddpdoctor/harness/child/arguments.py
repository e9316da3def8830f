"""Keeps what argparse says of a script's arguments when it ends the script for them."""

import argparse
from typing import Any, NoReturn

from ddpdoctor.harness.child.observer import Observer


def install(observer: Observer) -> None:
    """Observe ``ArgumentParser.error``."""

    def replace(original: Any) -> Any:
        def error(parser: argparse.ArgumentParser, message: str) -> NoReturn:
            observer.failures.usage_error = message
            original(parser, message)
            raise AssertionError("ArgumentParser.error returned")  # it is documented not to

        return error

    observer.patches.wrap(argparse.ArgumentParser, "error", replace)
