"""`casewise run` and `casewise init`: an evaluation from judges to gates, in one file.

The keys of a run file are the options of `judge`, `report` and `gate`; nothing is declared here a second time.
"""

from __future__ import annotations

import io
import json
import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

from cyclopts import CycloptsError, Parameter
from cyclopts.annotations import resolve_optional

from casewise import api
from casewise.cli.judge import (
    BeforeRunOptions,
    all_complete,
    folders_of,
    perform_with_consent,
    plan_runs,
    print_planned,
    print_summary,
    runs_json,
    test_connection,
)
from casewise.cli.options import BEFORE_RUN, WRITTEN
from casewise.cli.printing import is_json_output, note, print_json, say
from casewise.errors import CasewiseError, ConfigurationError, ExitCode, did_you_mean, one_of, unknown_key
from casewise.evaluate import comparison
from casewise.records.base import read_toml
from casewise.storage.files import write_text

if TYPE_CHECKING:
    from cyclopts import Argument


def heading_of(parameter: Parameter) -> str:
    """Return the heading under which help shows an option."""
    group: Any = parameter.group
    return str(group[0].name)


NOT_IN_A_FILE = frozenset(map(heading_of, (BEFORE_RUN, WRITTEN)))
"""Options of `run` itself, and places of single documents: pages of a run file have places of their own."""

SET_ELSEWHERE = {"report": ("runs", "benchmark", "full"), "gate": ("run", "benchmark")}
"""Parameters of a command that follow from the rest of the file."""


@cache
def keys_of(command: str) -> dict[str, Argument]:
    """Return the options of a command that a run file may set, by key."""
    from casewise.cli.app import app

    arguments = {
        argument.name.lstrip("-").lower().replace("-", "_"): argument
        for argument in app[command].assemble_argument_collection(parse_docstring=True)
        if argument.show and heading_of(argument.parameter) not in NOT_IN_A_FILE
    }
    return {key: argument for key, argument in arguments.items() if key not in SET_ELSEWHERE.get(command, ())}


TITLE = """\
# An evaluation: judges, benchmarks, a report, gates.
# casewise run {file} --dry-run   estimates the calls and their cost.
# casewise run {file}             asks, writes the reports and checks the gates; the same command resumes it.
# The keys are the options of casewise judge, report and gate: max_cost is --max-cost.
# Paths start in the folder of the command."""

REPORT = """\
[report]                                # a page for each benchmark; a leaderboard where there are several runs"""

GATE = """\
# [[gate]]                              # as casewise gate; baseline may be a judge of this file; repeat for more gates
# judge = ["…"]                         # The judges that have to pass. Default: all but the baseline.
# benchmark = ["…"]                     # The benchmarks on which they have to. Default: all."""

COLUMN, WIDTH = 40, 118
"""The column at which comments begin, and the length of the longest line."""


def init(
    file: Path = Path("eval.toml"),
    /,
    *,
    benchmark: tuple[str, ...] = ("demo",),
    judge: tuple[str, ...] = ("linear",),
) -> None:
    """Write a run file for casewise run: every option with its default and a comment.

    Parameters
    ----------
    file
        A new TOML file.
    benchmark
        A benchmark, as for casewise judge. May be repeated.
    judge
        Who judges, as for casewise judge. May be repeated.
    """
    if file.suffix != ".toml":
        raise ConfigurationError(
            f"a run file ends in .toml, and {str(file)!r} does not; a benchmark is given as --benchmark {shlex.quote(str(file))}"
        )
    if file.exists():
        raise ConfigurationError(f"{file} exists, and nothing is overwritten; choose another name")
    write_text(file, run_file(file, {"benchmark": benchmark, "judge": judge, "out": f"runs/{file.stem}"}))
    say(f"{file} is written; next: casewise run {shlex.quote(str(file))} --dry-run", file=str(file))


def run_file(file: Path, values: Mapping[str, Any]) -> str:
    """Return the text of a run file in which these keys are set."""
    lines, heading = [TITLE.format(file=file)], ""
    for key, argument in keys_of("judge").items():
        group = heading_of(argument.parameter)
        if group != heading and group not in ("Arguments", "Parameters"):
            lines.append(f"\n# {group}")
        heading = group
        lines.append(key_line(key, argument, values.get(key)))
    lines += ["", REPORT, *(key_line(key, argument) for key, argument in keys_of("report").items())]
    gate = [key_line(key, argument, "") for key, argument in keys_of("gate").items()]
    return "\n".join([*lines, "", GATE, *gate, ""])


def key_line(key: str, argument: Argument, value: Any = None) -> str:
    """Return the line of a key with its comment; commented out where nothing is set. An empty `value` sets nothing."""
    default = argument.field_info.default
    value = default if value is None else value
    if isinstance(value, (bool, int, float)) or (value and isinstance(value, (str, tuple))):
        text = f"{key} = {json.dumps(value, ensure_ascii=False)}"
    else:
        hint = resolve_optional(argument.hint)
        several = get_origin(hint) in (list, tuple)
        shown = {int: "N", float: "X", bool: "true"}.get(get_args(hint)[0] if several else hint, '"…"')
        text = f"# {key} = {f'[{shown}]' if several else shown}"
    comment = " ".join((argument.parameter.help or "").split())
    line = f"{text:<{COLUMN - 1}} # {comment}"
    if len(line) <= WIDTH:
        return line
    above = textwrap.wrap(comment, WIDTH - 2, initial_indent="# ", subsequent_indent="# ")
    return "\n".join([*above, text])


def parse(command: str, tokens: Sequence[str]) -> tuple[Any, Any]:
    """Return a command's function and its parameters."""
    from casewise.cli.app import app

    function, bound, *_ = app.parse_args([command, *tokens], exit_on_error=False, print_error=False)
    return function, bound


def tokens_of(table: Mapping[str, Any], command: str, where: str = "") -> list[str]:
    """Return the values of a table as the options of a command. Raises ConfigurationError: a key is not known."""
    keys = keys_of(command)
    if wrong := unknown_key(table, keys, within=where):
        raise ConfigurationError(wrong)
    return [
        f"{keys[key].name}={item}" if keys[key].name.startswith("-") else str(item)
        for key, value in table.items()
        for item in as_list(value)
        if item != ""
    ]


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


@contextmanager
def name_file_in_errors(path: Path) -> Iterator[None]:
    """Add the file to the errors of the block."""
    try:
        yield
    except (CasewiseError, CycloptsError) as error:
        from casewise.cli.app import error_message

        raise ConfigurationError(f"{path}: {error_message(error)}") from error


@dataclass(frozen=True)
class GateTable:
    """A table `[[gate]]`: the options of `casewise gate`, the baseline, and the judges and benchmarks that it is for."""

    tokens: list[str]
    baseline: str | None
    judges: list[str]
    benchmarks: list[str]


@dataclass(frozen=True)
class RunFile:
    """A run file, checked as far as possible without a judge or a benchmark."""

    path: Path
    judging: dict[str, Any]
    """The keys above the tables, as the parameters of `casewise judge`."""
    report: list[str]
    """The options of `casewise report`."""
    gates: list[GateTable]

    @classmethod
    def read(cls, path: Path) -> RunFile:
        """Read a run file.

        Raises DataError: it is no TOML. ConfigurationError: a key is not known, is missing, or holds no such value.
        """
        tables = dict(read_toml(path, "a run file"))
        with name_file_in_errors(path):
            report, gates = tables.pop("report", {}), as_list(tables.pop("gate", []))
            judging = read_judging(tables)
            if not isinstance(report, dict):
                raise ConfigurationError("report is no table; write [report]")
            report_tokens = tokens_of(report, "report", "report.")
            parse("report", ["RUN", *report_tokens])
            wheres = [f"gate {place}: " if len(gates) > 1 else "gate." for place in range(1, len(gates) + 1)]
            read = [read_gate(table, judging, where=where) for table, where in zip(gates, wheres, strict=True)]
        return cls(path, judging, report_tokens, read)

    @property
    def out(self) -> Path:
        """The folder of everything that the file makes."""
        return self.judging["out"] or Path("runs") / self.path.stem

    def folders(self) -> dict[str, dict[str, Path]]:
        """Return the folder of each run, by benchmark and judge."""
        return folders_of(self.judging["benchmark"], self.judging["judge"], self.out)

    def gate_calls(self) -> Iterator[tuple[str, str, list[str]]]:
        """Yield the benchmark, the judge and the arguments of each call of `casewise gate`."""
        for gate in self.gates:
            for source in (source for source in self.folders() if source in gate.benchmarks):
                folders = self.folders()[source]
                baseline = [f"--baseline={folders.get(gate.baseline, gate.baseline)}"] if gate.baseline else []
                for judge in gate.judges:
                    yield source, judge, [str(folders[judge]), *baseline, *gate.tokens]

    def keep(self) -> None:
        """Keep a copy of the file with the runs."""
        copy, text = self.out / self.path.name, self.path.read_text(encoding="utf-8")
        if copy.exists() and copy.read_text(encoding="utf-8") != text:
            note(f"{self.path} has changed since the last session; {copy} is its newest version")
        if not (copy.exists() and copy.samefile(self.path)):
            copy.parent.mkdir(parents=True, exist_ok=True)
            write_text(copy, text)


def read_judging(top: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys above the tables as the parameters of `casewise judge`."""
    keys, of_report = keys_of("judge"), keys_of("report")
    if stray := [key for key in top if key not in keys and key in of_report | keys_of("gate")]:
        raise ConfigurationError(
            f"{stray[0]} is a key of {'[report]' if stray[0] in of_report else '[[gate]]'}; put it there"
        )
    if wrong := unknown_key(top, [*keys, "report", "gate"]):
        raise ConfigurationError(wrong)
    for key in ("benchmark", "judge"):
        if not top.get(key):
            raise ConfigurationError(f"{key} is missing: name at least one {key}")
    _, bound = parse("judge", tokens_of(top, "judge"))
    bound.apply_defaults()
    return dict(bound.arguments)


def read_gate(table: Any, judging: Mapping[str, Any], *, where: str) -> GateTable:
    """Return a table `[[gate]]` of a file. Raises ConfigurationError: it is no gate of the file's judges and benchmarks."""
    if not isinstance(table, dict):
        raise ConfigurationError("gate is no table; write [[gate]]")
    options = {key: value for key, value in table.items() if key not in ("judge", "benchmark", "baseline")}
    tokens, baseline = tokens_of(options, "gate", where), table.get("baseline") or None
    parse("gate", ["RUN", *tokens])
    if bool(table.get("max_drop")) == bool(table.get("max_turned")):
        raise ConfigurationError(f"give either {where}max_drop or {where}max_turned")
    if table.get("max_drop"):
        comparison.parse_margins(table["max_drop"])
    chosen = {key: as_list(table.get(key) or judging[key]) for key in ("judge", "benchmark")}
    for key, names in chosen.items():
        for name in names:
            one_of(name, judging[key], f"{where}{key}")
    if baseline and baseline not in judging["judge"] and not api.exporting.is_run(baseline):
        near = did_you_mean(baseline, judging["judge"])
        raise ConfigurationError(f"{where}baseline is {baseline!r}{near}; it is a judge of this file or a run folder")
    if chosen["judge"] == [baseline]:
        raise ConfigurationError(
            f"{where}baseline is {baseline!r}, and no other judge is compared with it; name another judge or baseline"
        )
    if not table.get("judge"):
        chosen["judge"] = [judge for judge in chosen["judge"] if judge != baseline]
    return GateTable(tokens, baseline, chosen["judge"], chosen["benchmark"])


def run(file: Path, /, *, before: Annotated[BeforeRunOptions, BEFORE_RUN] = BeforeRunOptions()) -> None:
    """Carry out a run file: run the judges, write the reports, check the gates. The same command resumes a run that was
    stopped.

    Exit codes are those of casewise gate: 1 if a gate fails, 3 if it cannot tell.

    Parameters
    ----------
    file
        A TOML file, as casewise init writes it.
    """
    run_file = RunFile.read(file)
    options = {name: run_file.judging[name] for name in ("plan", "items", "model", "calls", "local")}
    with name_file_in_errors(file):
        planned = plan_runs(run_file.folders(), **options, needs_key=not before.dry_run)
    if before.test_connection:
        test_connection([plan.judge for plan in planned], run_file.judging["calls"], agreed=before.yes)
        return
    if before.dry_run:
        print_planned(planned, [run.estimate() for run in planned])
        n = len(list(run_file.gate_calls()))
        note(f"then: reports in {run_file.out}, {n} gate{'' if n == 1 else 's'}")
        return
    runs = perform_with_consent(planned, agreed=before.yes)
    run_file.keep()
    document: dict[str, Any] = {"runs": runs_json(runs, planned)}
    if not is_json_output():
        for plan, performed_run in zip(planned, runs, strict=False):
            print(f"{plan.label}:")
            print_summary(performed_run.summary, performed_run.path, then=None)
    if not all_complete(runs, planned) or any(plan.summary.n_unavailable for plan in runs):
        if is_json_output():
            print_json(document)
        raise SystemExit(ExitCode.STOPPED)
    codes = [*write_reports(run_file, document), *check_gates(run_file, document)]
    if is_json_output():
        print_json(document)
    raise SystemExit(combined_exit_code(codes))


def combined_exit_code(codes: Sequence[int]) -> int:
    """Return the exit code of several commands: a failed gate's, else an inconclusive gate's, else the first that is not 0.

    Examples
    --------
    >>> [combined_exit_code(codes) for codes in ([0, 3, 1], [0, 5, 3], [0, 5, 0], [])]
    [1, 3, 5, 0]
    """
    of_gates = [int(code) for code in (ExitCode.NO, ExitCode.CANNOT_TELL) if code in codes]
    return next((code for code in (*of_gates, *codes) if code), ExitCode.DONE.value)


def write_reports(run_file: RunFile, document: dict[str, Any]) -> Iterator[int]:
    """Write the report of each benchmark and, of several runs, the leaderboard; yield exit codes."""
    reports: dict[str, Any] = {}
    for source, of_judges in run_file.folders().items():
        folders = [str(folder) for folder in of_judges.values()]
        page = next(iter(of_judges.values())).parent / "report.html"
        code, reports[source] = run_command("report", [*folders, *run_file.report, f"--html={page}"])
        yield code
    document["reports"] = reports
    every = [str(folder) for of_judges in run_file.folders().values() for folder in of_judges.values()]
    if len(every) > 1:
        options = {argument.name for argument in keys_of("leaderboard").values()}
        shared = [token for token in run_file.report if token.partition("=")[0] in options]
        page = run_file.out / "leaderboard.html"
        code, document["leaderboard"] = run_command("leaderboard", [*every, *shared, f"--html={page}"])
        yield code


def check_gates(run_file: RunFile, document: dict[str, Any]) -> Iterator[int]:
    """Check every gate; yield exit codes."""
    document["gates"] = []
    for source, judge, tokens in run_file.gate_calls():
        if not is_json_output():
            print(f"\ngate: {judge} on {source}")
        code, printed = run_command("gate", tokens)
        document["gates"].append({"benchmark": source, "judge": judge, "exit_code": code, "gate": printed})
        yield code


def run_command(command: str, tokens: Sequence[str]) -> tuple[int, Any]:
    """Call a command; return its exit code and, with --json, its document."""
    function, bound = parse(command, tokens)
    printed = io.StringIO()
    code: int = ExitCode.DONE
    try:
        if is_json_output():
            with redirect_stdout(printed):
                function(*bound.args, **bound.kwargs)
        else:
            function(*bound.args, **bound.kwargs)
    except SystemExit as ended:
        code = int(ended.code or 0)
    return code, json.loads(printed.getvalue()) if printed.getvalue() else None
