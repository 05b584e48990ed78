"""`make bench`: the project against plain baselines, in one run, on one thread.

Prints each measurement and writes `benchmarks/results.json`, one flat object. Ratios are of CPU times within this
run; they say how much faster the project is than the baseline described in each module.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import json  # noqa: E402
from pathlib import Path  # noqa: E402

import att_svm  # noqa: E402
import local_convergence  # noqa: E402
import meanfield  # noqa: E402
import pages  # noqa: E402
import python_in_page  # noqa: E402
import transition_times  # noqa: E402

RESULTS = Path(__file__).with_name("results.json")


def main():
    """Run every benchmark; a failing one stops the run and leaves the old results."""
    results = {}
    for module in (att_svm, local_convergence, transition_times, meanfield, pages, python_in_page):
        results |= module.run()
    RESULTS.write_text(json.dumps({name: round(value, 3) for name, value in results.items()}, indent=1) + "\n")
    print(f"written to {RESULTS}")


if __name__ == "__main__":
    main()
