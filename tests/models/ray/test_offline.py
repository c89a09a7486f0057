import asyncio

import pytest

from casewise.errors import ConfigurationError
from casewise.models import ray as offline
from casewise.models.local import RayOptions
from casewise.models.protocol import ReplyOptions, as_messages
from casewise.models.ray import OfflineModel


def test_what_waits_goes_in_one_round_and_each_reply_to_whoever_asked():
    rounds = []

    def backwards(rows):
        rounds.append(len(rows))
        said = [row | {"generated_text": row["messages"][0]["content"].upper(), "num_input_tokens": 3} for row in rows]
        return said[::-1]

    async def asked():
        model = OfflineModel("vllm-offline:tiny", backwards)
        found = await asyncio.gather(*(model.reply(as_messages(text), ReplyOptions(8)) for text in ("a", "b", "c")))
        await model.close()
        return found

    replies = asyncio.run(asked())

    assert rounds == [3]
    assert [(one.text, one.usage.input_tokens) for one in replies] == [("A", 3), ("B", 3), ("C", 3)]


def test_how_a_reply_is_drawn_is_handed_on():
    seen = []

    def kept(rows):
        seen.extend(rows)
        return [row | {"generated_text": "safe"} for row in rows]

    model = OfflineModel("vllm-offline:tiny", kept)
    asyncio.run(model.reply(as_messages("a"), ReplyOptions(8, 0.6, top_p=0.9, seed=4)))

    assert seen[0]["sampling_params"] == {"max_tokens": 8, "temperature": 0.6, "top_p": 0.9, "seed": 4}


def test_without_a_gpu_it_says_what_runs_there(monkeypatch):
    class NoGpu:
        @staticmethod
        def cluster_resources():
            return {"CPU": 2.0}

    monkeypatch.setattr(offline, "connected", lambda _address: NoGpu)

    with pytest.raises(ConfigurationError, match="has none; hf:org/model --engine ray"):
        OfflineModel.load("vllm-offline:org/model", RayOptions())
