"""Clusters as connected components, and Wendel's probability of a half-space."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from attsvm_lib.data import random_direction
from attsvm_lib.meanfield import cluster_labels, clusters, components, gram_clusters, simulate, wendel

REFERENCE = json.loads((Path(__file__).parent / "reference/meanfield/points.json").read_text())["points"]


def circle(*degrees):
    theta = np.radians(degrees)
    return np.stack([np.cos(theta), np.sin(theta)], -1)


def test_a_chain_is_one_cluster_though_its_matrix_has_rank_three():
    chain = circle(0, 2, 4)  # neighbors above 0.999, the ends below
    assert np.linalg.matrix_rank((chain @ chain.T > 0.999).astype(float)) == 3
    assert clusters(chain) == 1
    assert clusters(circle(0, 2, 10)) == 2


def test_the_threshold_is_the_cosine_at_which_tokens_join():
    pair = circle(0, 60)
    assert clusters(pair, threshold=0.49) == 1
    assert clusters(pair, threshold=0.51) == 2


def test_labels_are_numbered_by_first_tokens():
    assert cluster_labels(circle(90, 0, 91, 200, 1)).tolist() == [0, 1, 0, 2, 1]


def test_components_against_scipy():
    rng = np.random.default_rng(0)
    graphs = rng.random((40, 30, 30)) < 0.04
    graphs |= graphs.swapaxes(-1, -2)
    labels = components(graphs)
    for graph, label in zip(graphs, labels):
        count, expected = connected_components(graph, directed=False)
        assert label.max() + 1 == count
        assert len(set(zip(label.tolist(), expected.tolist()))) == count


def test_a_long_path_in_any_order():
    order = np.random.default_rng(1).permutation(500)
    graph = np.zeros((500, 500), dtype=bool)
    graph[order[:-1], order[1:]] = graph[order[1:], order[:-1]] = True
    assert (components(graph) == 0).all()


def test_batches_and_gram_matrices():
    x = np.random.default_rng(2).normal(size=(3, 2, 20, 2))
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    counts = clusters(x)
    assert counts.shape == (3, 2)
    assert counts[1, 0] == clusters(x[1, 0])
    assert np.array_equal(gram_clusters(x @ x.swapaxes(-1, -2)), counts)


def test_wendel_by_hand():
    assert wendel(3, 2) == 0.75
    assert wendel(4, 3) == 7 / 8
    assert wendel(32, 16) == 0.5  # n = 2 d
    assert [wendel(n, 5) for n in (1, 4, 5)] == [1.0, 1.0, 1.0]
    assert [wendel(n, 1) for n in (1, 2, 5)] == [1.0, 0.5, 1 / 16]


def test_wendel_recurrence_exactly_and_at_scale():
    for n in range(2, 40):
        for d in range(2, 12):
            half = (Fraction(wendel(n - 1, d)) + Fraction(wendel(n - 1, d - 1))) / 2
            assert Fraction(wendel(n, d)) == half  # exact: dyadic numbers of few bits
    assert wendel(20000, 10000) == 0.5
    assert wendel(100000, 3) == 0


def test_wendel_against_random_angles():
    theta = np.sort(np.random.default_rng(3).uniform(0, 2 * np.pi, (20000, 6)), -1)
    gaps = np.diff(theta, axis=-1, append=theta[:, :1] + 2 * np.pi)
    share = (gaps.max(-1) > np.pi).mean()
    assert share == pytest.approx(wendel(6, 2), abs=4 * np.sqrt(0.19 * 0.81 / 20000))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: clusters(np.eye(3) * 1.001), "x must hold unit vectors"),
        (lambda: clusters([1.0, 0.0]), r"x must have shape \(..., n, d\)"),
        (lambda: clusters(np.eye(3), threshold=1), "threshold must lie strictly between -1 and 1, got 1"),
        (lambda: cluster_labels(np.full((2, 2), np.nan)), "x must be finite"),
        (lambda: gram_clusters(np.eye(3)[:2]), r"G must have shape \(..., n, n\), got \(2, 3\)"),
        (lambda: components(np.eye(3)), "adjacent must be a boolean array"),
        (lambda: components(np.triu(np.ones((3, 3), bool))), "adjacent must be symmetric"),
        (lambda: wendel(0, 3), "n must be an integer of at least 1, got 0"),
        (lambda: wendel(3, 2.0), "d must be an integer of at least 1"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("key", ["d=2,beta=1,t=5", "d=2,beta=4,t=10", "d=2,beta=9,t=10", "d=8,beta=4,t=10"])
def test_reference_numbers_of_clusters(key):
    d, beta, t = (float(part.split("=")[1]) for part in key.split(","))
    x0 = random_direction(int(d), rng=np.random.default_rng(0), batch=(128, 32))
    counts = clusters(simulate(x0, [t], beta=beta, method="rk4").x[0])
    stored = REFERENCE[key]
    error = np.hypot(counts.std() / np.sqrt(len(counts)), stored["se_comp"])
    assert abs(counts.mean() - stored["mean_comp"]) < 4 * error
