r"""Scenes of chapter 2: the two margins (Frobenius for W, nuclear for (K, Q)) and the paths that lead to them.

Source: arXiv 2308.16898, section 3.
"""

from __future__ import annotations

import functools

import numpy as np

from attsvm_lib.data import TokenData, random_data, random_direction
from attsvm_lib.heads import LinearHead
from attsvm_lib.regularization import predicted_constant, regularization_path
from attsvm_lib.scene import (
    Arrows,
    Bars,
    Choice,
    Line,
    Panel,
    Path,
    Points,
    Readout,
    Scene,
    Segments,
    Slider,
    Time,
    scene,
)
from attsvm_lib.selection import correlation
from attsvm_lib.svm import att_svm

__all__ = ["path_problem", "path_to_the_margin", "two_rows", "two_rows_data"]

# 90 degrees is left out: the nuclear solution is not unique there
ANGLES = (*range(5, 90, 5), 89, 91, *range(95, 180, 5))
BOX = ((-1.6, 1.6), (-1.3, 1.6))
SIZE = {"n": 4, "T": 5, "d": 6}
WIDTHS = (1, 2, 6)
RADII = np.geomspace(3, 3e4, 13)
STARTS = 1
NARROW = "Fewer columns than the rank of W*ₘₘ: its direction is out of reach, and no rate is predicted for (K, Q)."


def two_rows_data(angle):
    """The smallest case: n = T = d = 2, token differences e_1 and e_2, unit queries at an angle (in degrees).

    x_11 = e_1 and x_21 = e_2 are to be selected against x_12 = x_22 = 0; z_1 = e_1.
    """
    theta = np.radians(angle)
    X = np.zeros((2, 2, 2))
    X[0, 0], X[1, 0] = np.eye(2)
    return TokenData(X, [[1.0, 0.0], [np.cos(theta), np.sin(theta)]], [1, 1])


@scene(
    title="Two margins for the same two tokens",
    instruction=(
        "Turn the second query. Where do the two solutions come closest, and where does the dotted one jump? "
        "Compare their second singular values."
    ),
    caption=(
        "First panel: row i of W must reach its own line, at distance 1 along query i. The Frobenius solution "
        "(solid) takes the nearest point of each line, the nuclear one (dotted) takes the same point for both rows, "
        "up to sign. Second panel: their singular values; the dotted one has rank one on both sides of 90 degrees."
    ),
    parameters={
        "angle": Slider("angle between the queries", ANGLES, start=60, format=".0f", unit="°"),
    },
    panels={
        "rows": Panel("rows of W", xlabel="w₁", ylabel="w₂", xlim=BOX[0], ylim=BOX[1], equal=True),
        "values": Panel(
            "singular values",
            xlabel="index",
            ylabel="singular value",
            xlim=(0.5, 2.5),
            ylim=(0, 2.2),
            xticks={1: "1", 2: "2"},
        ),
    },
)
def two_rows(angle):
    r"""Rows of W_mm and W*_mm for `two_rows_data`, and their singular values.

    By hand, with c = cos(angle) and s = sign(c):

    .. math:: W_{mm} = e_1 z_1^\top + e_2 z_2^\top, \qquad
              W^\star_{mm} = (e_1 + s e_2)\,\frac{(z_1 + s z_2)^\top}{1 + |c|},

    with correlation sqrt((1 + |c|) / 2). Source: arXiv 2308.16898, section 3 (Att-SVM in the two norms).
    """
    data = two_rows_data(angle)
    frobenius, nuclear = (att_svm(data, [0, 0], norm=norm) for norm in ("frobenius", "nuclear"))
    values = [np.linalg.svd(s.W, compute_uv=False) for s in (frobenius, nuclear)]
    at = [np.array([1.0, 2.0]) + shift for shift in (-0.12, 0.12)]
    tips = [np.stack([x, y], axis=-1) for x, y in zip(at, values, strict=True)]
    feet = [tip * [1, 0] for tip in tips]
    z1, z2 = (_constraint_line(z) for z in data.Z)
    zero = np.zeros((2, 2))
    return Scene(
        marks={
            "line 1": Line(*z1.T, style="token-1", label="row 1 must reach this line"),
            "line 2": Line(*z2.T, style="query-2", label="row 2 must reach this line"),
            "W_mm": Arrows(zero, frobenius.W, style="svm", label="Frobenius: Wₘₘ"),
            "W*_mm": Arrows(zero, nuclear.W, style="nuclear", label="nuclear: W*ₘₘ"),
            "rows": Points(frobenius.W, style="svm", text=("row 1", "row 2")),
            "rows*": Points(nuclear.W, style="nuclear"),
            "stems": Segments(feet[0], tips[0], style="svm", panel="values"),
            "stems*": Segments(feet[1], tips[1], style="nuclear", panel="values"),
            "values": Points(tips[0], style="svm", panel="values"),
            "values*": Points(tips[1], style="nuclear", panel="values"),
        },
        readouts={
            "correlation": Readout(correlation(frobenius.W, nuclear.W), "correlation of the two", ".4f"),
            "rank": Readout(frobenius.rank, "rank of Wₘₘ", ".0f"),
            "rank*": Readout(nuclear.rank, "rank of W*ₘₘ", ".0f"),
            "nuclear": Readout(values[0].sum(), "nuclear norm of Wₘₘ", ".3f"),
            "nuclear*": Readout(nuclear.objective, "nuclear norm of W*ₘₘ", ".3f"),
        },
        message="At 90° the nuclear solution is not unique; this is one of them." if abs(angle - 90) < 1e-9 else None,
    )


def _constraint_line(z):
    """Both ends of the line {w: w^T z = 1} inside the panel, for a unit query z."""
    along = np.array([-z[1], z[0]])
    with np.errstate(divide="ignore"):
        at = np.sort((np.array(BOX).T - z) / along, axis=0)  # where it crosses the box, axis by axis
    return z + np.array([[at[0].max()], [at[1].min()]]) * along


def path_problem(attention, seed=15):
    """Unit tokens, queries and head of the second scene: (data, head) with n = 4, T = 5, d = 6.

    The nuclear solution has rank 2, the Frobenius one rank 4, in both kinds of attention.
    """
    rng = np.random.default_rng(seed)
    data = random_data(**SIZE, rng=rng, attention=attention)
    return data, LinearHead(random_direction(data.d, rng=rng))


@functools.cache
def _path(attention, parameterization, width=None):
    """The regularization path along RADII, and the constant C predicted for it."""
    data, head = path_problem(attention)
    path = regularization_path(
        data, head, RADII, parameterization=parameterization, width=width, starts=STARTS, rng=np.random.default_rng(0)
    )
    return path, predicted_constant(data, head, path.solution)


def _shares(W):
    """Singular values over their Frobenius norm."""
    sigma = np.linalg.svd(W, compute_uv=False)
    return sigma / np.linalg.norm(sigma, axis=-1, keepdims=True)


@scene(
    title="Two paths, two margins",
    instruction=(
        "Go back to small R and play. When do the curves meet the lines predicted from the SVM alone? "
        "Then give K and Q a single column."
    ),
    caption=(
        "First panel: distance of the regularization path to its max-margin direction against the radius R, for W "
        "(solid) and (K, Q) (dashed); the black lines are the predicted C/R. With one column the (K, Q) path stays "
        "away, and no rate is predicted for it. Second panel: singular values at this radius as shares of the norm, "
        "with those of the two SVM solutions as markers."
    ),
    parameters={
        "attention": Choice("queries", ("cross-attention", "self-attention")),
        "columns": Slider("columns m of K and Q", WIDTHS, start=6, format=".0f", only_grid=True),
    },
    panels={
        "distance": Panel(
            "distance to the max-margin direction",
            xlabel="radius R",
            ylabel="distance",
            xscale="log",
            yscale="log",
            xlim=(2.5, 4e4),
            ylim=(5e-5, 5.0),
        ),
        "values": Panel(
            "singular values",
            xlabel="index",
            ylabel="share of the norm",
            xlim=(0.4, SIZE["d"] + 0.6),
            ylim=(0, 1.05),
            xticks={k: f"{k}" for k in range(1, SIZE["d"] + 1)},
        ),
    },
    time=Time("radius R", RADII, format=".3g"),
)
def path_to_the_margin(attention, columns):
    r"""Distance ||W_R / R - W_mm / ||W_mm|| ||_F along the regularization path, for W and for (K, Q).

    Beside it C / R (`predicted_constant`; absent for fewer columns than the rank of W*_mm) and the singular values
    of W_R over ||W_R||_F. At each radius the best of a few starts. Source: arXiv 2308.16898, section 3, Theorem 2.
    """
    kind = attention.removesuffix("-attention")
    paths = {"W": _path(kind, "W"), "KQ": _path(kind, "KQ", int(columns))}
    narrow = columns < paths["KQ"][0].solution.rank
    marks, readouts = {}, {}
    index = np.arange(1.0, SIZE["d"] + 1)
    for name, words, limit, shift in (("W", "W", "svm", -0.18), ("KQ", "(K, Q)", "nuclear", 0.18)):
        path, constant = paths[name]
        rate = np.full_like(RADII, np.nan) if name == "KQ" and narrow else constant / RADII
        curve = np.stack([RADII, path.distance], axis=-1)
        ends = np.stack([index + shift, _shares(path.solution.W)], axis=-1)
        marks |= {
            f"predicted {name}": Line(RADII, rate, style=limit, label=f"C/R, predicted for {words}"),
            f"distance {name}": Path(curve, style=name, label=f"path of {words}"),
            f"values {name}": Bars(index + shift, _shares(path.W), width=0.34, style=name, panel="values"),
            f"limit {name}": Points(ends, style=limit, panel="values"),
        }
        readouts |= {
            f"distance {name}": Readout(path.distance, f"distance, {words}", ".1e"),
            f"lost {name}": Readout(1 - path.correlation, f"1 − corr, {words}", ".1e"),
        }
    return Scene(marks, readouts, message=NARROW if narrow else None)
