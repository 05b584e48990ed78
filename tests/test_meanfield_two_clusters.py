"""The time at which two clusters meet: simulation, the exact law of the orthogonal start, the asymptotic law."""

import numpy as np
import pytest

from attsvm_lib.meanfield import meeting_time, simulate, transition_time


@pytest.mark.parametrize(("beta", "angle"), [(0.0, 1.0), (1.0, 3.1), (4.0, 2.0), (16.0, 2.9)])
@pytest.mark.parametrize("sizes", [(1, 1), (3, 1), (2, 5)])
def test_simulated_clusters_meet_at_the_time(beta, angle, sizes):
    theta = np.repeat([0.0, angle], sizes)
    x0 = np.stack([np.cos(theta), np.sin(theta)], -1)
    time = meeting_time(angle, beta, mass=sizes[0] / sum(sizes), end=0.2)
    run = simulate(x0, [time * (1 - 1e-6), time * (1 + 1e-6)], beta=beta, tol=1e-12)
    before, after = (x[0] @ x[-1] for x in run.x)
    assert before < np.cos(0.2) < after


@pytest.mark.parametrize("beta", [0.0, 1.0, 9.0, 100.0])
def test_two_orthogonal_tokens_follow_the_closed_form(beta):
    time = meeting_time(np.pi / 2, beta, end=np.arccos(1 - 1e-3))
    assert time == pytest.approx(transition_time(beta, n=2, eps=1e-3), rel=1e-11)


@pytest.mark.parametrize("mass", [0.5, 0.2])
@pytest.mark.parametrize("angle", [1.0, 2.0, 2.6])
def test_large_beta_gives_the_barrier(mass, angle):
    beta = 100.0
    law = mass * (1 - mass) / (mass**2 + (1 - mass) ** 2)
    law *= np.exp(beta * (1 - np.cos(angle))) / (beta * np.sin(angle) ** 2)
    assert meeting_time(angle, beta, mass=mass) == pytest.approx(law, rel=0.1)


def test_the_time_does_not_depend_on_who_is_who_and_grows_with_the_angle():
    assert meeting_time(2.0, 5.0, mass=0.3) == pytest.approx(meeting_time(2.0, 5.0, mass=0.7), rel=1e-13)
    times = [meeting_time(angle, 5.0) for angle in (0.01, 0.1, 1.0, 2.0, 3.0, 3.14)]
    assert times[0] == 0
    assert (np.diff(times) > 0).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"angle": np.pi}, "angle must lie strictly between 0 and 3.14159"),
        ({"angle": 0}, "angle must be a positive"),
        ({"beta": -1}, "beta must be a non-negative"),
        ({"mass": 1.0}, "mass must lie strictly between 0 and 1"),
        ({"end": 4.0}, "end must lie strictly between"),
    ],
)
def test_bad_arguments_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        meeting_time(**{"angle": 1.0, "beta": 1.0, **change})


def test_overflow_is_an_error():
    with pytest.raises(FloatingPointError, match="the time overflows at beta = 500"):
        meeting_time(3.0, 500.0)
