"""Progress bars, in terminals and notebooks, where tqdm is installed."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Optional

from . import _optional


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and shell.__class__.__name__ == "ZMQInteractiveShell"


class Bar:
    """A bar, which appears with the first report of progress and goes when its work is done.

    ``wanted`` is ``True``, ``False``, or ``None``: where somebody looks and tqdm is installed.
    """

    def __init__(self, wanted: Optional[bool], what: str, total: Optional[int] = None) -> None:
        self._what = what
        self._total = total
        self._bar: Any = None
        self._tqdm: Any = None
        if wanted is None:
            wanted = _in_notebook() or sys.stderr.isatty()
            self._tqdm = _optional.have("tqdm.auto") if wanted else None
        elif wanted:
            self._tqdm = _optional.need("tqdm.auto", "a progress bar")

    def at(self, done: int, total: Optional[int], what: str) -> None:
        """So many of ``total`` are done."""
        if self._tqdm is None:
            return
        if self._bar is None:
            self._bar = self._tqdm.tqdm(total=total, leave=False)
        self._bar.total = total
        self._bar.set_description(what, refresh=False)
        self._bar.n = done
        self._bar.refresh()

    def __enter__(self) -> Bar:
        if self._total is not None:
            self.at(0, self._total, self._what)
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if self._bar is not None:
            self._bar.close()
