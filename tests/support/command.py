"""The command line, in this process and as a program."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from casewise.cli.app import main


class Said(NamedTuple):
    """What a command wrote, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def output(self) -> str:
        return self.out + self.err


def invoke(*arguments: object) -> Said:
    """Run `casewise` in this process."""
    code, argv = 0, ["casewise", *map(str, arguments)]
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err, patch.object(sys, "argv", argv):
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 0
    return Said(code, out.getvalue(), err.getvalue())


def program(*arguments: object, cwd: Path | None = None, **environment: str) -> Said:
    """Run `casewise` as a program of its own."""
    command = [sys.executable, "-m", "casewise", *(str(argument) for argument in arguments)]
    process = subprocess.run(
        command, capture_output=True, check=False, cwd=cwd, env=os.environ | environment, timeout=120
    )
    return Said(
        process.returncode, process.stdout.decode("utf-8", "replace"), process.stderr.decode("utf-8", "replace")
    )
