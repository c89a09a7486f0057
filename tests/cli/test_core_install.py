"""What works without any extra: everything but the web app, the review room and the database."""

from __future__ import annotations

import shlex
import subprocess
import sys

import pytest

EXTRAS = ("alembic", "argon2", "cryptography", "fastapi", "inspect_ai", "itsdangerous", "psycopg", "sqlalchemy", "starlette", "torch", "transformers", "uvicorn")  # fmt: skip

WITHOUT_EXTRAS = f"""
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {EXTRAS!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocked())
from casewise.cli.app import main
main()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("core")


def casewise(folder, line):
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRAS, *shlex.split(line)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_judge_is_run_reported_compared_and_attacked_without_any_extra(folder):
    for line in (
        "judge demo --judge linear --out run",
        "judge demo --judge constant:safe --out other",
        "report run",
        "compare run other",
        "leaderboard run other",
        "gate run --baseline run --max-drop accuracy=0.05",
        "attack demo --judge linear --attacks claim:authority/user/safe --defences none --noise none --out attacked",
        "robustness attacked",
        "audit demo",
        "power study --groups 5 --effect-size 0.4 --alpha 0.05 --power 0.8",
        "replies collect demo --model fake/rehearsal --out replies",
        "export demo --to parquet --out tables",
        "show run",
        "show demo",
        "show guards",
        "doctor",
    ):
        done = casewise(folder, line)
        assert "No module named" not in done.stderr, (line, done.stderr)
        assert "pip install" not in done.stderr, (line, done.stderr)
        assert done.returncode in (0, 3), (line, done.stderr)
