"""The figures of chapter 4 carry the numbers of their experiments."""

import numpy as np
import pytest

from attsvm_lib.experiments import LocalAlignment
from attsvm_lib.figures import factor_figure, local_figure, rounding_figure

pytestmark = pytest.mark.usefixtures("no_window")


def alignment(seed):
    draw = np.random.default_rng(seed).uniform(size=(3, 5, 4))
    flags = np.ones(5, dtype=bool)
    return LocalAlignment(np.array([0, 1, 10, 100]), draw[0], np.zeros((5, 6)), draw[1], draw[2], flags, flags, flags)


def test_curves_are_means_in_the_norm_of_the_model():
    pairs = {"cross": {"W": alignment(0), "KQ": alignment(1)}, "self": {"W": alignment(2), "KQ": alignment(3)}}
    figure = local_figure(pairs)
    top, *others = figure.axes
    for name, curve in zip(("W", "KQ"), top.lines, strict=True):
        np.testing.assert_allclose(curve.get_ydata(), pairs["cross"][name].selected_probability.mean(0))
    for ax, (title, pair) in zip(others, pairs.items(), strict=True):
        assert ax.get_title() == title
        thick_W, thin_W, thick_KQ, thin_KQ = ax.lines
        np.testing.assert_allclose(thick_W.get_ydata(), pair["W"].frobenius.mean(0))
        np.testing.assert_allclose(thin_W.get_ydata(), pair["W"].nuclear.mean(0))
        np.testing.assert_allclose(thick_KQ.get_ydata(), pair["KQ"].nuclear.mean(0))
        np.testing.assert_allclose(thin_KQ.get_ydata(), pair["KQ"].frobenius.mean(0))
        assert thin_W.get_linewidth() < thick_W.get_linewidth()
        assert thick_W.get_linestyle() != thick_KQ.get_linestyle()
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["W", "(K, Q)"]


def test_errors_and_curves_are_drawn_as_given():
    margin, error = np.array([[-1.0, 10.0], [20.0, 30.0]]), np.array([[1e-14, 1e-10], [1e-6, 0.0]])
    curves = {"exact": ([1, 10], [0.1, 0.01]), "ordinary": ([1, 10], [0.1, 0.05])}
    top, bottom = rounding_figure(margin, error, curves).axes
    dots = top.lines[0]
    np.testing.assert_array_equal(dots.get_xdata(), [10, 20, 30])
    np.testing.assert_array_equal(dots.get_ydata(), [1e-10, 1e-6, 1e-16])
    for curve, (steps, lost) in zip(bottom.lines, curves.values(), strict=True):
        np.testing.assert_array_equal(curve.get_xydata(), np.stack([steps, lost], 1))


def test_kinds_of_factored_runs_differ_by_more_than_color():
    curves = {f"kind {k}": ([1, 10], [0.1, 0.1 / (k + 1)]) for k in range(4)}
    figure = factor_figure(curves)
    lines = figure.axes[0].lines
    assert len({repr(one.get_linestyle()) + repr(one._unscaled_dash_pattern) for one in lines}) == 4
    assert [t.get_text() for t in figure.legends[0].get_texts()] == list(curves)
