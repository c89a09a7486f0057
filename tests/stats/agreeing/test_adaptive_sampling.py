import numpy as np
import pytest
from scipy.special import ndtri

from casewise.errors import StatisticsError
from casewise.stats.adaptive import QueryFrame, inclusion_at, sample_until_precise, size_weights


def world(rng, *, queries=450, accuracy=0.8, known=0.0):
    """Two items a query, judged rightly so often; what is known beforehand tells a share of how hard they are."""
    seen, shared, own = rng.normal(size=(queries, 2)), rng.normal(size=(queries, 1)), rng.normal(size=(queries, 2))
    latent = np.sqrt(known) * seen + np.sqrt(1 - known) * (np.sqrt(0.3) * shared + np.sqrt(0.7) * own)
    right = (latent < ndtri(accuracy)).sum(axis=1).astype(float)
    return seen, right


def frame_of(seen, *, unequal=False):
    size = size_weights(np.exp(seen.sum(axis=1) / 2)) if unequal else np.ones(len(seen))
    return QueryFrame(np.full(len(seen), 2.0), seen, size)


def test_inclusion_probabilities_add_up_to_the_sample_and_keep_their_ratio():
    size = np.array([1.0, 2.0, 1.0, 2.0] * 50)

    inclusion = inclusion_at(size, 60)

    assert inclusion.sum() == pytest.approx(60)
    assert inclusion[1] == pytest.approx(2 * inclusion[0])
    assert inclusion_at(size, 199).max() == 1


def test_every_query_can_be_drawn_and_none_is_much_likelier_than_another():
    size = size_weights(np.array([0.0, 0.1, 100.0, 1.0]))

    assert (size > 0).all()
    assert size.max() / size.min() <= 3 + 1e-9


def test_nothing_is_asked_twice_and_the_answer_is_exact_once_all_is_asked():
    rng = np.random.default_rng(1)
    seen, right = world(rng, queries=120)
    asked = []

    def ask(places):
        asked.extend(places.tolist())
        return right[places]

    found = sample_until_precise(frame_of(seen), ask, half_width=0.001, rng=rng)

    assert sorted(asked) == list(range(120))
    assert found.low == found.high == found.estimate == pytest.approx(right.sum() / 240)
    assert found.saved == 0


def test_it_stops_when_the_interval_is_narrow_enough():
    rng = np.random.default_rng(2)
    seen, right = world(rng, queries=3000)

    found = sample_until_precise(frame_of(seen), lambda new: right[new], half_width=0.03, rng=rng)

    assert found.reached
    assert (found.high - found.low) / 2 <= 0.03
    assert found.saved > 0.6
    assert (found.sample.inclusion > 0).all()


def test_a_judge_without_any_error_is_not_taken_for_perfect():
    rng = np.random.default_rng(3)
    seen, _ = world(rng, queries=2000)

    found = sample_until_precise(frame_of(seen), lambda new: np.full(len(new), 2.0), half_width=0.03, rng=rng)

    assert found.high == 1
    assert 0.95 < found.low < 0.995


@pytest.mark.parametrize("half_width", [0, -0.1, 0.5])
def test_widths_that_make_no_sense_are_refused(half_width):
    seen, right = world(np.random.default_rng(1), queries=10)

    with pytest.raises(StatisticsError, match="half width"):
        sample_until_precise(
            frame_of(seen), lambda new: right[new], half_width=half_width, rng=np.random.default_rng(1)
        )


def test_a_query_that_can_never_be_drawn_is_refused():
    with pytest.raises(StatisticsError, match="positive probability"):
        QueryFrame(np.ones(3), np.ones((3, 1)), np.array([1.0, 0.0, 1.0]))


@pytest.mark.slow
def test_the_estimate_is_unbiased_whatever_is_known_and_however_unequal_the_chances():
    rng = np.random.default_rng(4)
    seen, right = world(rng, known=0.5)
    truth = right.sum() / 900

    estimates = [
        sample_until_precise(frame_of(seen, unequal=True), lambda new: right[new], half_width=0.4, rng=rng).estimate
        for _ in range(400)
    ]

    assert np.mean(estimates) == pytest.approx(truth, abs=3.5 * float(np.std(estimates)) / 20)


@pytest.mark.slow
@pytest.mark.parametrize("accuracy", [0.8, 0.95, 0.98, 0.995])
@pytest.mark.parametrize("known", [0.0, 0.5])
def test_intervals_at_the_stop_cover_the_truth_in_93_to_99_of_100(accuracy, known):
    rng = np.random.default_rng(int(accuracy * 1000))
    held = 0
    for _ in range(250):
        seen, right = world(rng, accuracy=accuracy, known=known)
        frame = frame_of(seen, unequal=known > 0)
        found = sample_until_precise(frame, right.__getitem__, half_width=0.03, rng=rng)
        held += found.low <= right.sum() / 900 <= found.high

    # 250 runs: two standard errors are 0.03 at 93 % and 0.013 at 99 %.
    assert 0.93 - 0.03 <= held / 250 <= 0.99 + 0.013
