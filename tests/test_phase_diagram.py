"""Phase diagrams agree with the reference ones within both runs' errors, and are reproducible system by system."""

from pathlib import Path

import numpy as np
import pytest

from attsvm_lib.experiments import phase_diagram
from attsvm_lib.meanfield import pair_fraction, transition_time

REFERENCE = np.load(Path(__file__).parent / "reference" / "meanfield" / "phase_subset.npz")


@pytest.mark.parametrize("d", [2, 8, 32, 1024])
def test_cells_agree_with_the_reference(d):
    ours = phase_diagram(d, REFERENCE["betas"], REFERENCE["t"], 32)
    theirs, error = REFERENCE[f"P_d{d}"], REFERENCE[f"se_d{d}"]
    assert ours.fraction.shape == ours.error.shape == (12, 31)
    distance = np.abs(ours.fraction - theirs)
    assert (distance < 3 * np.maximum(np.hypot(error, ours.error), 0.002)).mean() >= 0.99
    assert distance.max() < 0.3


def test_high_dimension_follows_the_exact_transition_curve():
    betas, times = np.array([1.0, 3.0, 5.0]), np.linspace(1, 20, 39)
    sharp = phase_diagram(10**5, betas, times, 8).fraction > 0.5
    crossing = times[sharp.argmax(1)]
    np.testing.assert_allclose(crossing, transition_time(betas, n=32), atol=0.6)


def test_a_system_does_not_depend_on_how_many_there_are():
    betas, times = [1.0, 4.0], [2.0, 5.0, 9.0]
    few, many = (phase_diagram(3, betas, times, size, n=12, seed=4) for size in (2, 40))
    assert (few.systems, many.systems) == (2, 40)
    starts = []
    for k in range(40):
        x = np.random.default_rng([4, 12, 3, k]).standard_normal((12, 3))
        starts.append(x / np.linalg.norm(x, axis=-1, keepdims=True))
    by_hand = np.stack([pair_fraction(np.float32(starts), times, beta=beta) for beta in betas])
    np.testing.assert_allclose(few.fraction, by_hand[..., :2].mean(-1), atol=1e-12)
    np.testing.assert_allclose(many.fraction, by_hand.mean(-1), atol=1e-12)
    np.testing.assert_allclose(many.error, by_hand.std(-1, ddof=1) / np.sqrt(40), atol=1e-12)


def test_sizes_have_names(monkeypatch):
    monkeypatch.setenv("ATTSVM_SIZE", "quick")
    named = phase_diagram(2, [1.0], [3.0], n=4, progress=False)
    np.testing.assert_array_equal(named.fraction, phase_diagram(2, [1.0], [3.0], 8, n=4).fraction)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"d": 0}, "d must be an integer of at least 1"),
        ({"n": 1}, "n must be an integer of at least 2"),
        ({"size": 1}, "size must be an integer of at least 2"),
        ({"size": "huge"}, "size must be one of 'quick', 'full'"),
        ({"betas": [-1.0]}, "beta must be a non-negative"),
        ({"times": [1.0, 0.0]}, "times must be in order"),
        ({"eps": 0}, "eps must be a positive"),
        ({"seed": -1}, "seed must be an integer of at least 0"),
    ],
)
def test_bad_arguments_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        phase_diagram(**{"d": 2, "betas": [1.0], "times": [1.0], "size": 2, "n": 3, **change})
