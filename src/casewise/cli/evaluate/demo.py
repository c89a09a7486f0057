"""`casewise demo`: the main job on what is embedded, from a judge to a page."""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from casewise import api
from casewise.cli.documents import DocumentOptions, FormatOption
from casewise.cli.printing import JsonOption, note

__all__ = ["demo"]

NEXT = (
    ("view {out}", "look around in what was judged, item by item"),
    ("data show demo 1", "read an item as the judge sees it"),
    ("judge demo --judge constant:intended", "a judge to hold it against"),
    ("data fetch casebench", "the published benchmark, once you accept its terms"),
)


def demo(
    out: Annotated[Path, typer.Option("--out", help="Where the run goes.")] = Path("runs/demo"),
    form: FormatOption = None,
    as_json: JsonOption = False,
) -> None:
    """Judge the embedded demo benchmark with the embedded linear judge, and report."""
    run = api.judge("demo", "linear", out=out)
    found = run.report()
    page = out / "report.html"
    api.write_text(page, found.to_html())
    found.write_metrics(out)
    DocumentOptions(form=form, as_json=as_json).present(found, full=False)
    note(f"\nThe page: {page}")
    called = how_it_was_called()
    note("Next:")
    with_web = find_spec("uvicorn") is not None
    for command, what in NEXT if with_web else NEXT[1:]:
        note(f"  {called} {command.format(out=out):<40} {what}")
    if not with_web:
        note(f"  pip install 'casewise[web]', and then {called} {NEXT[0][0].format(out=out)}: {NEXT[0][1]}")


def how_it_was_called() -> str:
    """`casewise`, or the path it was started by where the shell would not find it by name."""
    return "casewise" if shutil.which("casewise") or not Path(sys.argv[0]).is_file() else sys.argv[0]
