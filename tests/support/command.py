"""The command line, in this process and as a program."""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest

from casewise.cli.app import main


class Said(NamedTuple):
    """What a command wrote, and its exit code."""

    code: int
    out: str
    err: str


class Command:
    """Runs `casewise` in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def __call__(self, *arguments: object) -> Said:
        self.monkeypatch.setattr(sys, "argv", ["casewise", *(str(argument) for argument in arguments)])
        self.capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 0
        return Said(code, *self.capsys.readouterr())


def program(*arguments: object, cwd: Path | None = None, **environment: str) -> Said:
    """Run `casewise` as a program of its own."""
    import os

    command = [sys.executable, "-m", "casewise", *(str(argument) for argument in arguments)]
    process = subprocess.run(
        command, capture_output=True, check=False, cwd=cwd, env=os.environ | environment, timeout=120
    )
    return Said(
        process.returncode, process.stdout.decode("utf-8", "replace"), process.stderr.decode("utf-8", "replace")
    )


class Result(NamedTuple):
    """What a command came to: as `Said`, with both streams in the order in which they were written."""

    exit_code: int
    stdout: str
    stderr: str
    output: str


def invoke(*arguments: object) -> Result:
    """Run `casewise` in this process, where no fixture captures what it writes."""
    streams, both = (io.StringIO(), io.StringIO()), io.StringIO()
    before = sys.argv
    sys.argv = ["casewise", *map(str, arguments)]
    code = 0
    try:
        with redirect_stdout(Tee(streams[0], both)), redirect_stderr(Tee(streams[1], both)):
            try:
                main()
            except SystemExit as stop:
                code = stop.code if isinstance(stop.code, int) else 0
    finally:
        sys.argv = before
    return Result(code, streams[0].getvalue(), streams[1].getvalue(), both.getvalue())


class Tee(io.StringIO):
    """Writes to several streams."""

    def __init__(self, *streams: io.StringIO) -> None:
        super().__init__()
        self.streams = streams

    def write(self, text: str) -> int:
        """Write to each."""
        for stream in self.streams:
            stream.write(text)
        return len(text)
