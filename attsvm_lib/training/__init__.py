r"""Gradient descent on the attention weights, for W directly or for the factors of W = K Q^T.

Plain and normalized steps of size eta,

.. math:: W(k+1) = W(k) - \eta \nabla L(W(k)) \qquad\text{or}\qquad
          W(k+1) = W(k) - \eta\, \frac{\nabla L(W(k))}{\|\nabla L(W(k))\|_F},

and the same for (K, Q), each factor divided by its own norm ("separate") or both by their common norm
("joint"). The head is fixed. Many data sets, or many starts, run at once along the leading axes.
Source: arXiv 2308.16898, sections 4 and 5 (gradient descent, normalized steps in the experiments).

`descent` holds the one public door, `train`. Behind it are three ways to make the same steps: `weights`, for every
head and every size of numbers; and for linear heads the faster `scores` (W in attention scores, at a cost that
does not depend on d) and `factors` (K and Q), which share the weights of the tokens in `linear`. ReLU heads take
`scores` too, in the papers' arithmetic, with their own weights in `relu`.
"""

from attsvm_lib.training.descent import train
from attsvm_lib.training.run import Run
from attsvm_lib.training.start import random_start

__all__ = ["Run", "random_start", "train"]
