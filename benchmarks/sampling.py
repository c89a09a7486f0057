"""How many calls `--until-precise` needs on the published judge outputs, with plain random order beside it.

    python benchmarks/sampling.py FOLDER_OF_PUBLISHED_OUTPUTS [REPEATS]

Each output is sampled again and again with other seeds; "known" uses people's margin and the author's intent as control
variates and for the chances of being drawn, "plain" nothing. Also printed: how often the interval at the stop held the
accuracy on all 900 items.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from casewise.records import Scored
from casewise.stats.adaptive import QueryFrame, sample_until_precise, size_weights
from casewise.storage.published import read_output


def frames(output) -> tuple[QueryFrame, QueryFrame, np.ndarray]:
    rows = output.rows
    votes = np.array([(row.votes.count(1), len(row.votes)) for row in rows], dtype=float)
    weight = (np.sign(2 * votes[:, 0] - votes[:, 1]) + 1) / 2
    limit = {"binary": 0.5, "score": 5.5, "probability": 0.5}[output.elicitation]
    said = np.array([float(row.outcome.value > limit) if isinstance(row.outcome, Scored) else np.nan for row in rows])
    right = np.where(said == 1, weight, np.where(said == 0, 1 - weight, 0.0))
    margin = np.abs(2 * votes[:, 0] / votes[:, 1] - 1)
    intent = np.array([row.intended_safe for row in rows], dtype=float)
    features = np.column_stack([margin, intent * weight, (1 - intent) * weight, np.abs(weight - intent)])
    _, query = np.unique([row.query for row in rows], return_inverse=True)
    n = query.max() + 1

    def summed(values):
        return np.bincount(query, weights=values, minlength=n)

    items = summed(np.ones(len(rows)))
    expected = np.column_stack([summed(column) for column in features.T]) / items[:, None]
    chance = 0.55 + 0.4 * margin
    spread = np.sqrt(summed(chance * (1 - chance)))
    known = QueryFrame(items, expected, size_weights(spread))
    plain = QueryFrame(items, np.zeros((n, 1)), np.ones(n))
    return known, plain, summed(right)


def main() -> None:
    folder, repeats = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 100
    print(f"{'judge':<44} {'±':>5} {'known':>6} {'plain':>6} {'covers':>7} {'plain':>6}")
    for path in sorted(folder.rglob("*.json")):
        output = read_output(path)
        known, plain, right = frames(output)
        truth = right.sum() / known.items.sum()
        for half_width in (0.03, 0.02):
            told = []
            for frame in (known, plain):
                found = [
                    sample_until_precise(
                        frame, right.__getitem__, half_width=half_width, rng=np.random.default_rng(seed)
                    )
                    for seed in range(repeats)
                ]
                share = float(np.mean([one.items / one.of_items for one in found]))
                told.append((share, np.mean([one.low <= truth <= one.high for one in found])))
            name = f"{output.judge} {output.elicitation} {','.join(output.arm.omitted)}"
            print(
                f"{name:<44} {half_width:>5} {told[0][0]:>6.0%} {told[1][0]:>6.0%} {told[0][1]:>7.0%} {told[1][1]:>6.0%}"
            )


if __name__ == "__main__":
    main()
