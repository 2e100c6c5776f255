"""Packages that only some methods need."""

from __future__ import annotations

import importlib
from typing import Any

from ._errors import MissingPackage

#: The extra of this package that installs each module.
EXTRAS = {
    "pandas": "pandas",
    "polars": "polars",
    "pyarrow": "arrow",
    "matplotlib": "plot",
    "tqdm": "progress",
}


def need(module: str, purpose: str) -> Any:
    """The module, or an error that says what to install."""
    top = module.split(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != top:
            raise
        raise MissingPackage(
            f"{purpose} needs {top}, which is not installed; install it by: pip install 'ccnuma[{EXTRAS[top]}]'", name=top
        ) from None


def have(module: str) -> Any:
    """The module, or ``None`` where it is not installed."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        return None
