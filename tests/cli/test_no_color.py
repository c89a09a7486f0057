"""Who asks for no colour gets none, on a terminal that could show it."""

import os
import pty
import subprocess
import sys

import pytest


@pytest.mark.slow
@pytest.mark.parametrize("asked", [False, True])
def test_no_color_is_kept_to_on_a_terminal(asked):
    leader, follower = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    environment |= {"TERM": "xterm-256color"} | ({"NO_COLOR": "1"} if asked else {})
    command = [sys.executable, "-m", "casewise", "show", "demo"]
    process = subprocess.Popen(command, stdout=follower, stderr=follower, env=environment)
    os.close(follower)
    said = b""
    try:
        while part := os.read(leader, 65536):
            said += part
    except OSError:  # how a terminal whose other end is closed ends on Linux
        pass
    os.close(leader)

    assert process.wait() == 0
    colours = [
        code for code in (b"\x1b[3", b"\x1b[9", b"\x1b[4") if any(code + bytes([d]) in said for d in b"01234567")
    ]
    assert b"Categories" in said
    assert bool(colours) is not asked
