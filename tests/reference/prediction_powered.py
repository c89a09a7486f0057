"""What `ppi_py` says of made-up labels and grades: `pip install ppi-python`, then run this here."""

from __future__ import annotations

import json
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import numpy as np

ppi = import_module("ppi_py.ppi")


def case(seed: int, n: int, more: int) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    z = rng.normal(0, 1.5, n + more)
    labels = rng.binomial(1, 1 / (1 + np.exp(-z))).astype(float)
    grader = np.round(1 / (1 + np.exp(-(z + rng.normal(0, 1, n + more)))), 3)
    y, f, rest = labels[:n, None], grader[:n, None], grader[n:, None]
    start = rest.mean(0) + (y - f).mean(0)
    weight = ppi._calc_lam_glm(y - start, f - start, rest - start, np.eye(1), coord=None, clip=True)
    return {
        "grader": grader.tolist(),
        "labels": labels[:n].tolist(),
        "weight": float(np.squeeze(weight)),
        "estimate": float(np.squeeze(ppi.ppi_mean_pointestimate(labels[:n], grader[:n], grader[n:]))),
    }


if __name__ == "__main__":
    cases = [case(seed, n, more) for seed, (n, more) in enumerate([(20, 60), (40, 100), (60, 40)])]
    written = {"meta": {"ppi-python": version("ppi-python"), "numpy": np.__version__}, "cases": cases}
    Path("prediction_powered.json").write_text(json.dumps(written) + "\n")
