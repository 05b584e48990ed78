"""The scene of the first page, recomputed with the public functions at five random angles."""

import numpy as np
import pytest

from attsvm_lib import LinearHead, TokenData, att_svm, correlation, optimal_tokens, scores, train
from attsvm_lib.scenes.welcome import QUERY, STEPS, TOKENS, turn_the_head

ANGLES = np.random.default_rng(0).choice(np.arange(0, 360, 5.0), size=5, replace=False)


@pytest.mark.parametrize("angle", ANGLES)
def test_the_scene_is_what_the_library_computes(angle):
    v = np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
    data = TokenData([TOKENS], [QUERY], [1])
    run = train(data, LinearHead(v), step=0.1, steps=STEPS[-1], checkpoints=STEPS)
    alpha = optimal_tokens(scores(data, v))
    svm = att_svm(data, alpha)
    drawn = turn_the_head(angle=angle)
    marks, readouts = drawn.marks, drawn.readouts

    np.testing.assert_array_equal(marks["tokens"].xy, TOKENS)
    np.testing.assert_allclose(marks["selected"].xy, TOKENS[alpha], atol=1e-12)
    direction = svm.W @ QUERY / np.linalg.norm(svm.W @ QUERY)
    np.testing.assert_allclose(marks["svm"].end, direction[None], atol=1e-12)
    np.testing.assert_allclose(marks["head"].end, 0.75 * v[None], atol=1e-12)
    reached = run.W[1:] @ QUERY
    reached /= np.linalg.norm(reached, axis=-1, keepdims=True)
    np.testing.assert_allclose(marks["trained"].end[1:, 0], reached, atol=1e-9)
    assert np.isnan(marks["trained"].end[0]).all()
    np.testing.assert_allclose(marks["share"].y, run.probabilities[:, 0], atol=1e-9)
    np.testing.assert_allclose(readouts["norm"].value, np.linalg.norm(run.W, axis=(1, 2)), atol=1e-9)
    np.testing.assert_allclose(readouts["share"].value, run.probabilities[:, 0].max(-1), atol=1e-9)
    np.testing.assert_allclose(readouts["turn"].value[1:], np.degrees(np.arccos(reached @ direction)), atol=1e-4)


def test_with_one_query_the_picture_shows_the_whole_of_w():
    # W stays of the form p z^T, so the angle of W z is the angle between the matrices
    v = np.array([0.0, 1.0])
    data = TokenData([TOKENS], [QUERY], [1])
    run = train(data, LinearHead(v), step=0.1, steps=200)
    svm = att_svm(data, optimal_tokens(scores(data, v)))
    turn = turn_the_head(angle=90.0).readouts["turn"].value[STEPS.index(200)]
    assert np.cos(np.radians(turn)) == pytest.approx(correlation(run.W[-1], svm.W), abs=1e-9)
