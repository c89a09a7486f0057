import numpy as np
import pytest

from casewise.stats.intervals import clopper_pearson_interval
from casewise.stats.study_tables import share_limits


@pytest.mark.parametrize(("value", "people", "counted"), [(True, 10, 10), (False, 10, 10), (True, 80, 50)])
def test_ratings_that_are_all_alike_count_by_queries_or_by_people_where_these_are_fewer(value, people, counted):
    query, person = (part.ravel() for part in np.meshgrid(np.arange(50), np.arange(people), indexing="ij"))

    limits = share_limits(np.full(len(query), value), query, person, level=0.95)

    low, high = clopper_pearson_interval(float(value), counted)
    assert limits == pytest.approx({"ci_low": low, "ci_high": high})
