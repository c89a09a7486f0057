import asyncio

from casewise.models.protocol import FakeModel
from casewise.models.wire import probe


def test_a_rehearsal_that_answers_every_elicitation_says_so_when_it_is_tried():
    assert asyncio.run(probe(FakeModel())).top_logprobs == 2
