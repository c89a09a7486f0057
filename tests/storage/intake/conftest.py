"""What the tests of imports share: a file with the content of a test."""

import json

import pytest


@pytest.fixture
def file(tmp_path):
    def write(content, name="cases.csv"):
        path = tmp_path / name
        if isinstance(content, list):
            content = "\n".join(map(json.dumps, content))
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
