import threading

import pytest

torch = pytest.importorskip("torch", reason="needs the extra [local]: torch and transformers")
pytestmark = pytest.mark.local_model

from casewise.models.local import torch_threads  # noqa: E402


def test_each_thread_does_its_products_alone_and_the_others_as_before():
    before = torch.get_num_threads()
    pool = torch_threads()
    later: list[int] = []

    assert set(pool.map(lambda _: torch.get_num_threads(), range(8))) == {1}
    assert torch.get_num_threads() == before
    thread = threading.Thread(target=lambda: later.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    assert later == [before]
    assert torch_threads() is pool
