"""Claims of chapter 2: arXiv 2308.16898, section 3."""

import numpy as np

from attsvm_lib.claims.record import Claim, Criterion  # noqa: F401

INF = np.inf

CLAIMS = ()
