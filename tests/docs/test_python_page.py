"""What docs/how-to/python.md shows of a client of one's own works against a server."""

import asyncio
import gc
import re
import threading
from pathlib import Path

import pytest
from tests.support.fault_server import FaultServer

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "python.md"


@pytest.fixture
def server():
    found, ready, done = FaultServer(), threading.Event(), threading.Event()

    async def serve():
        async with found:
            ready.set()
            while not done.is_set():
                await asyncio.sleep(0.01)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(10)
    yield found
    done.set()
    thread.join()


@pytest.mark.parametrize("package", [pytest.param("openai", marks=pytest.mark.inspect), "litellm"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the example leaves closing its client to its program's end
def test_clients_of_others_ask_and_are_read_as_every_judge_is(server, monkeypatch, package):
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # it would fetch prices when it is imported
    pytest.importorskip(package, reason=f"{package} is not installed; its example is checked where it is")
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    (example,) = [block for block in blocks if re.search(rf"^(?:from|import) {package}\b", block, flags=re.MULTILINE)]
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.port}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-nothing")
    names: dict[str, object] = {}

    exec(compile(example, "example", "exec"), names)

    run = names["run"]
    assert (run.summary.n_judged, run.summary.n_unscored) == (90, 0)  # type: ignore[attr-defined]  # it is a Run
    assert sum(server.prompts.values()) == 90
    names.clear()
    gc.collect()
