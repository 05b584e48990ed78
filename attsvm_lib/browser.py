"""A notebook in a browser's own Jupyter, where cvxpy is not to be had: cells that need it say so instead of failing."""

from __future__ import annotations

import sys
from types import ModuleType

__all__ = ["NeedsComputer", "explain_cvxpy"]

EXPLANATION = (
    "This cell needs cvxpy, which does not run in a browser. The book uses it as a second solver only; "
    "its own solver, att_svm, runs here."
)


class NeedsComputer(RuntimeError):
    """Raised by any use of cvxpy in a browser."""


class _Absent(ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise NeedsComputer(EXPLANATION)


def explain_cvxpy(shell):
    """Let cells that use cvxpy, or a name that such a cell did not come to define, print why they cannot run.

    shell: the IPython shell whose cells are meant. Other errors, and a NameError before any use of cvxpy, stay as
    they are.
    """
    sys.modules["cvxpy"] = _Absent("cvxpy")
    met = []

    def explain(shell, kind, error, trace, tb_offset=None):
        if issubclass(kind, NeedsComputer):
            met.append(error)
            print(EXPLANATION)
        elif met:
            print(f"This cell needs the name {error.name!r}, which a cell with cvxpy would have defined.")
        else:
            shell.custom_exceptions, kept = (), shell.custom_exceptions
            try:
                shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
            finally:
                shell.custom_exceptions = kept

    shell.set_custom_exc((NeedsComputer, NameError), explain)
