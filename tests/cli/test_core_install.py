"""What works without any extra, and without the rooms of studies, contexts, the database and the web."""

from __future__ import annotations

import subprocess
import sys

import pytest

EXTRAS = ("alembic", "argon2", "cryptography", "fastapi", "inspect_ai", "itsdangerous", "psycopg", "sqlalchemy", "starlette", "torch", "transformers", "uvicorn")  # fmt: skip

ROOMS = ("casewise.studies", "casewise.contexts", "casewise.database", "casewise.web")

KNOW_THE_ROOMS = (
    "api.studies",
    "api.prolific",
    "cli.study",
    "cli.prolific",
    "cli.contexts",
    "cli.serve",
    "share.inspect_task",
)
"""Modules besides these rooms that know them; the last needs Inspect AI."""

WITHOUT = f"""
import shlex
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {EXTRAS!r} or name.startswith({ROOMS!r}):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocked())
"""

IMPORT_ALL = f"""{WITHOUT}
import importlib
import pkgutil
import casewise

skipped = (*{ROOMS!r}, "casewise.__main__", *("casewise." + name for name in {KNOW_THE_ROOMS!r}))
names = ["casewise"]
for package in names:
    for found in pkgutil.iter_modules(importlib.import_module(package).__path__, package + "."):
        if found.name not in skipped:
            names.append(found.name) if found.ispkg else importlib.import_module(found.name)
print(len(names))
"""

COMMANDS = f"""{WITHOUT}
from casewise.cli.app import main
for line in sys.argv[1:]:
    sys.argv[1:] = shlex.split(line)
    try:
        main()
    except SystemExit as end:
        assert end.code in (None, 0, 3), line
"""


@pytest.mark.slow
def test_the_core_is_imported_where_studies_contexts_database_and_web_are_not():
    done = subprocess.run([sys.executable, "-c", IMPORT_ALL], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 15


@pytest.mark.slow
def test_a_judge_is_run_reported_compared_and_attacked_without_any_extra_and_without_these_rooms(tmp_path):
    lines = (
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
    )
    command = [sys.executable, "-c", COMMANDS, *lines]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False
    )  # one process: starting takes a second
    assert done.returncode == 0, done.stderr
    assert "No module named" not in done.stderr, done.stderr
    assert "pip install" not in done.stderr, done.stderr
