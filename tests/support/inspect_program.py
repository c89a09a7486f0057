"""Inspect AI's own program, as a user runs it."""

import json
import os
import subprocess
import sys
from pathlib import Path

INSPECT = Path(sys.executable).with_name("inspect")


def environment(server=None):
    found = {**os.environ, "INSPECT_LOG_FORMAT": "eval", "OPENAI_API_KEY": "sk-anything", "INSPECT_DISPLAY": "plain"}
    return found | ({"OPENAI_BASE_URL": server.url} if server else {})


def program(*words, server=None):
    """Run `inspect` with these words and return what it printed."""
    done = subprocess.run(
        [str(INSPECT), *words], env=environment(server), capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def the_log(folder):
    """Return the one log in a folder, as Inspect reads it."""
    (path,) = Path(folder).glob("*.eval")
    return json.loads(program("log", "dump", str(path)))
