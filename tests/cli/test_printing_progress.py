import io

import pytest
from rich.console import Console

from casewise.cli.printing import progress_bar


@pytest.mark.parametrize("width", [66, 80, 119, 120])
@pytest.mark.parametrize("label", ["judging demo", "judging casebench_shapes: openai/gpt-4o-mini-2024-07-18"])
def test_every_number_of_a_run_can_be_read(width, label):
    written = io.StringIO()
    console = Console(file=written, width=width, force_terminal=True, color_system=None)
    bar = progress_bar(console)
    more = "$12.34, 1,234 unscored, 12 retries"
    task = bar.add_task(label, total=100_000, rate="1,234/s", more=more)
    bar.update(task, completed=43_210)
    console.print(bar.get_renderable())

    line = written.getvalue()
    for number in ("43210/100000", "1,234/s", "-:--:--", more):
        assert number in line
    assert len(line.rstrip("\n").splitlines()) == 1
    assert ("\u2501" in line) is (width == 120)
