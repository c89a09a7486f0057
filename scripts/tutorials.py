"""Runs the tutorials: `python scripts/tutorials.py` writes what their commands say today into `docs/tutorials/`; with names, into those alone.

A tutorial is a page with blocks that are run in order, in one empty folder. In a `console` block each line after `$ ` is a
command and what follows is what it printed; a `python` block is a script, and a `text` block right after it is what it
printed. A block under `<!-- not run: … -->` stays as it is. `…` on a line of its own stands for lines left out: the stretches between are found again by their first lines.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = ["PAGES", "alike", "as_run"]

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "tutorials"
PAGES = sorted(FOLDER.glob("*.md"))
BLOCK = re.compile(
    r"(?P<not_run><!-- not run: [^>]+ -->\n)?```console\n(?P<console>.*?)```|```python\n(?P<python>.*?)```\n\n```text\n(?P<text>.*?)```",
    re.DOTALL,
)
LEFT_OUT = "…"
WIDTH = "88"
VARYING = re.compile(r"\d+(\.\d+)? (ms|s|a second)\b|\d{4}-\d\d-\d\d|[0-9a-f]{20}")


def as_run(page: str, folder: Path) -> str:
    """The text of a tutorial with what its blocks print when they are run in `folder`."""

    def block(found: re.Match[str]) -> str:
        if found["not_run"]:
            return found[0]
        if found["console"] is not None:
            return f"```console\n{_session(found['console'], folder)}```"
        printed = _shortened(_printed([sys.executable, "-c", found["python"]], folder), found["text"])
        return f"```python\n{found['python']}```\n\n```text\n{printed}```"

    return BLOCK.sub(block, page)


def alike(page: str) -> str:
    """A page without what differs from one run to the next: seconds, days, and a study's address."""
    return VARYING.sub("#", page)


def _session(text: str, folder: Path) -> str:
    lines = []
    for entry in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, said = re.fullmatch(r"((?:[^\n]*\\\n)*[^\n]*\n)(.*)", entry, re.DOTALL).groups()  # type: ignore[union-attr]  # it ends with a line
        program, *arguments = shlex.split(command.replace("\\\n", " "))
        if program != "casewise":
            raise ValueError(f"a tutorial runs casewise alone, not {program!r}")
        printed = _printed([sys.executable, "-m", "casewise", *arguments], folder)
        lines.append(f"$ {command}{_shortened(printed, said)}")
    return "".join(lines)


def _printed(command: list[str], folder: Path) -> str:
    """What it prints, errors among it."""
    environment = {**os.environ, "COLUMNS": WIDTH, "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"}
    done = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"{command} ended with {done.returncode}:\n{done.stdout}")
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


def _shortened(printed: str, shown: str) -> str:
    """`printed` with the same stretches left out as in `shown`; all of it where nothing was shown."""
    if LEFT_OUT not in shown.splitlines():
        return printed
    lines, found, at = printed.splitlines(), [], 0
    for number, stretch in enumerate(re.split(rf"^{LEFT_OUT}$\n?", shown, flags=re.MULTILINE)):
        wanted = stretch.splitlines()
        if number:
            found.append(LEFT_OUT)
        if wanted:
            begins = (i for i in range(at, len(lines)) if alike(lines[i]) == alike(wanted[0]))
            at = next(begins, len(lines))
            if at == len(lines):
                raise ValueError(f"no line is {wanted[0]!r} any more in:\n{printed}")
            found += lines[at : at + len(wanted)]
            at += len(wanted)
    return "".join(f"{line}\n" for line in found)


def main() -> None:
    chosen = [FOLDER / f"{name}.md" for name in sys.argv[1:]] or PAGES
    for path in chosen:
        with tempfile.TemporaryDirectory() as folder:
            path.write_text(as_run(path.read_text(encoding="utf-8"), Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    main()
