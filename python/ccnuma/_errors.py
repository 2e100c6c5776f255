"""What goes wrong, as exceptions whose text is what the command said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Sequence

if TYPE_CHECKING:
    from .results import Results


class CcnumaError(Exception):
    """A command that did not do what was asked.

    ``str(error)`` is the command's own message. ``command`` has its words, ``exit_code`` its code, ``results`` the records that it
    wrote before, if any.
    """

    def __init__(
        self,
        message: str,
        command: Sequence[str] = (),
        exit_code: Optional[int] = None,
        results: Optional[Results[Any]] = None,
    ) -> None:
        super().__init__(message)
        self.command = tuple(command)
        self.exit_code = exit_code
        self.results = results


class CommandNotFound(CcnumaError):
    """There is no command ``ccnuma`` where one is looked for."""


class BadInput(CcnumaError, ValueError):
    """A value that is not accepted (exit code 2): nothing was started."""


class RunFailed(CcnumaError):
    """A run that failed on the way (exit code 1), or a program that found its own results wrong."""


class RecordError(CcnumaError):
    """A record that this package does not understand: the command is of another version."""


class Interrupted(KeyboardInterrupt):
    """A run that was interrupted. ``results`` has the records of what was done; ``str(error)`` says how to go on."""

    def __init__(self, message: str, command: Sequence[str], results: Results[Any]) -> None:
        super().__init__(message)
        self.command = tuple(command)
        self.results = results


class MissingPackage(ImportError):
    """An optional package that a method needs is not installed."""


class CcnumaWarning(UserWarning):
    """A warning of the command."""
