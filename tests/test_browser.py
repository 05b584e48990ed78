"""In a browser's notebook a cell that needs cvxpy says so; all other errors stay errors."""

import sys

import pytest
from IPython.core.interactiveshell import InteractiveShell

from attsvm_lib.browser import NeedsComputer, explain_cvxpy


@pytest.fixture
def shell(monkeypatch):
    monkeypatch.setitem(sys.modules, "cvxpy", None)  # put back afterwards
    shell = InteractiveShell()
    explain_cvxpy(shell)
    return shell


def test_cells_that_need_cvxpy_or_what_it_would_have_given_say_so(shell, capsys):
    assert shell.run_cell("import cvxpy as cp\nsize = 3").success
    shell.run_cell("W = cp.Variable(size)")
    assert capsys.readouterr().out.startswith("This cell needs cvxpy, which does not run in a browser.")
    shell.run_cell("print(W.value)")
    assert capsys.readouterr().out == "This cell needs the name 'W', which a cell with cvxpy would have defined.\n"
    shell.run_cell("print(size)")
    assert capsys.readouterr().out == "3\n"


def test_other_errors_stay_as_they_are(shell, capsys):
    shell.run_cell("undefined")
    assert "NameError" in capsys.readouterr().out
    shell.run_cell("import cvxpy\ntry:\n    cvxpy.Variable\nexcept Exception as e:\n    print(type(e).__name__)")
    assert capsys.readouterr().out == f"{NeedsComputer.__name__}\n"
    shell.run_cell("1 / 0")
    assert "ZeroDivisionError" in capsys.readouterr().out
