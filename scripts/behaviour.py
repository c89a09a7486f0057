"""Records what every command prints and writes, and compares two recordings, so that a renovation can show it kept both.

    python scripts/behaviour.py record OUT_DIR [--source SRC] [--shared DIR] [--only GLOB] [--workers N]
    python scripts/behaviour.py compare BEFORE AFTER [--allow FILE]

`record` keeps exit codes, output and files: text as it is, HTML by its visible text and counts of elements, others by
presence. `--only` records some groups of `behaviour_scenarios.py` anew. `compare` exits with 1 at any difference that no
entry of the allow file covers: `[[difference]] scenario = "glob" where = "regex" reason = "..."`, the regex found in the
place or the text of a difference. Written for Linux and macOS: commands run in forks.
"""

from __future__ import annotations

import argparse
import atexit
import fnmatch
import gc
import importlib
import json
import os
import re
import runpy
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NoReturn

from behaviour_compare import compare
from behaviour_scenarios import FILES, GROUPS

REPOSITORY = Path(__file__).parents[1]
LOADED = ("casewise.cli.app", "casewise.api", "casewise.web", "sklearn.linear_model", "sklearn.feature_extraction.text")
CASEWISE = (sys.executable, "-m", "casewise")
TEXT = {".json", ".jsonl", ".md", ".tex", ".html", ".csv", ".toml", ".txt", ".py", ""}
KEPT_APART = (".db", ".key", "-wal", "-shm", ".lock", ".pyc")
"""Files of which not even the presence is recorded: a server makes them when it likes."""


class Runner:
    """A process that has everything loaded and runs each command line in a copy of itself (fork), as a fresh
    `python -m casewise` would, but without the second or two that loading takes."""

    def __init__(self, environment: dict[str, str]) -> None:
        program = [sys.executable, str(Path(__file__).resolve()), "run-each"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(program, env=environment, stdin=pipe, stdout=pipe, text=True)

    def run(self, words: list[str], *, variables: dict[str, str], home: Path) -> int:
        """The exit code of one command line, run in `home/work`; what it prints is in `home/stdout`, `home/stderr`."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps([words, variables, str(home)]), file=self.process.stdin, flush=True)
        return int(self.process.stdout.readline())

    def close(self) -> None:
        """Let it end."""
        self.process.communicate()


def run_each(_: argparse.Namespace) -> int:
    """What a `Runner` starts: commands in, exit codes out."""
    for name in LOADED:
        with suppress(ImportError):
            importlib.import_module(name)
    gc.freeze()
    while line := sys.stdin.readline():
        words, variables, home = json.loads(line)
        if child := os.fork():
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        else:
            run_one(words, variables=variables, home=Path(home))
    return 0


def run_one(words: list[str], *, variables: dict[str, str], home: Path) -> NoReturn:
    """Be `python -m casewise` with these words, and end without the long farewell of a large process."""
    signal.alarm(600)
    os.chdir(home / "work")
    os.environ.clear()
    os.environ.update(variables)
    for descriptor, path in enumerate((Path(os.devnull), home / "stdout", home / "stderr")):
        flags = os.O_RDONLY if descriptor == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        os.dup2(os.open(path, flags, 0o600), descriptor)
    sys.path[0], sys.argv = str(home / "work"), ["casewise", *words]
    code: object = 0
    try:
        runpy.run_module("casewise", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        code = ended.code or 0
    except BaseException:  # noqa: BLE001 - whatever a program dies of is said
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001 - as a process ends: pools are told to, then joined
    atexit._run_exitfuncs()  # noqa: SLF001 - os._exit leaves them out
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1)


def environment(home: Path) -> dict[str, str]:
    """None of this machine's settings; one thread, so that sums come in one order."""
    places = {name: str(home) for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")}
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"), "1")
    source = home.parent / "src"
    path = {"PYTHONPATH": str(source)} if source.is_dir() else {}
    terminal = {"NO_COLOR": "1", "COLUMNS": "80", "TERM": "dumb", "LANG": "C.UTF-8", "TZ": "UTC"}
    return {"PATH": os.environ["PATH"]} | places | threads | path | terminal


@dataclass
class Group:
    """A folder in which lines run one after the other."""

    name: str
    home: Path
    shared: Path | None
    runner: Runner
    recorded: dict[str, Any] = field(default_factory=dict)
    port: str = ""
    seen: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def work(self) -> Path:
        return self.home / "work"

    def prepare(self) -> None:
        for name, words in FILES.items():
            (self.work / name).parent.mkdir(parents=True, exist_ok=True)
            (self.work / name).write_text(words, encoding="utf-8")
        if self.shared:
            (self.work / "shared").symlink_to(self.shared)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])
        self.changed()

    def changed(self) -> list[Path]:
        """Files that are new or other than when this was last asked."""
        now = {}
        for folder, _, names in os.walk(self.work):
            for path in (Path(folder, name) for name in names if not name.endswith(KEPT_APART)):
                state = path.stat()
                now[path.relative_to(self.work).as_posix()] = (state.st_mtime_ns, state.st_size)
        before, self.seen = self.seen, now
        return [self.work / name for name in sorted(now) if before.get(name) != now[name]]

    def run(self, lines: str) -> None:
        self.prepare()
        with ExitStack() as servers:
            for line in (one.strip() for one in lines.strip().splitlines()):
                first, _, rest = line.partition(" ")
                if first == "!":
                    step, *words = shlex.split(rest)
                    STEPS[step](self.work, *words)
                    self.changed()
                elif first == "&":
                    servers.callback(stop, self.serve(rest.split()[0]))
                else:
                    for command in both(line):
                        self.command(command)

    def command(self, line: str) -> None:
        words = shlex.split(line.removeprefix("~ ").replace("{port}", self.port))
        variables = dict(word.split("=", 1) for word in words if re.match(r"[A-Z_]+=", word))
        code = self.runner.run(words[len(variables) :], variables=environment(self.home) | variables, home=self.home)
        stdout, stderr = (self.home / name for name in ("stdout", "stderr"))
        name = f"{self.name}: {line}"
        times = 1 + sum(known == name or known.startswith(f"{name} (time ") for known in self.recorded)
        name += f" (time {times})" if times > 1 else ""
        self.recorded[name] = {
            "loose": line.startswith("~"),
            "code": code,
            "stdout": self.placeless(stdout.read_text(encoding="utf-8", errors="replace")),
            "stderr": self.placeless(stderr.read_text(encoding="utf-8", errors="replace")),
            "files": {str(path.relative_to(self.work)): self.content(path) for path in self.changed()},
        }

    def content(self, path: Path) -> str | None:
        """Text as it is, HTML by what is seen and the number of each element, nothing of other files."""
        if path.suffix not in TEXT:
            return None
        words = self.placeless(path.read_text(encoding="utf-8", errors="replace"))
        return Seen.of(words) if path.suffix == ".html" else words

    def placeless(self, words: str) -> str:
        places = [(self.work, "<work>"), (self.home, "<home>"), (self.home.parent, "<root>"), (REPOSITORY, "<repo>")]
        for place, name in places + ([(self.shared, "<shared>")] if self.shared else []):
            words = words.replace(str(place), name)
        return re.sub(rf"(?<![\w.]){self.port}(?!\w)", "<port>", words)

    def serve(self, what: str) -> subprocess.Popen[bytes]:
        """`casewise serve`, or a server that answers as a model's does."""
        program = [*CASEWISE, "serve", "--port", self.port]
        if what == "server":
            program = [sys.executable, "-m", "tests.support.fault_server", "--port", self.port, "--latency", "0"]
        place = self.work if what == "casewise" else REPOSITORY
        quiet = subprocess.DEVNULL
        server = subprocess.Popen(program, cwd=place, env=environment(self.home), stdout=quiet, stderr=quiet)
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", int(self.port))) == 0:
                    break
            time.sleep(0.1)
        self.changed()
        return server


def both(line: str) -> list[str]:
    """The line without and with `--json` where it says so."""
    plain = line.removesuffix(" [--json]")
    return [plain] if plain == line else [plain, f"{plain} --json"]


def stop(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    server.wait(30)


class Seen(HTMLParser):
    """What a page shows, line by line, and how many of each element it has."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.tags: Counter[str] = Counter()
        self.hidden = 0

    @classmethod
    def of(cls, page: str) -> str:
        parser = cls()
        parser.feed(page)
        counts = [f"<{tag}> {count}" for tag, count in sorted(parser.tags.items())]
        return "\n".join([*counts, *parser.lines])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - as the parser calls it
        self.tags[tag] += 1
        self.hidden += tag in {"script", "style"}

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in {"script", "style"}

    def handle_data(self, data: str) -> None:
        if not self.hidden and data.strip():
            self.lines.append(" ".join(data.split()))


def edit(work: Path, name: str, old: str, new: str) -> None:
    words = (work / name).read_text(encoding="utf-8")
    assert old in words, (name, old)
    (work / name).write_text(words.replace(old, new), encoding="utf-8")


def head(work: Path, name: str, count: str) -> None:
    """Keep the first rows of a JSON array."""
    rows = json.loads((work / name).read_text(encoding="utf-8"))
    (work / name).write_text(json.dumps(rows[: int(count)]), encoding="utf-8")


def spoil(work: Path, name: str) -> None:
    """Put a line in front that is no JSON."""
    (work / name).write_text("{spoiled\n" + (work / name).read_text(encoding="utf-8"), encoding="utf-8")


def release(work: Path, name: str) -> None:
    """From a published JSON: one as the release has it, with the intent as a further vote, and two judges' outputs."""
    rows = json.loads((work / name).read_text(encoding="utf-8"))
    for row in rows:
        votes = row["scores"][:20]
        counted = [*votes, 1 if row["context_intended_to_be_safe"] else 2]
        row |= {"scores": votes, "safe_rate": counted.count(1) / 21}
    (work / "released.json").write_text(json.dumps(rows), encoding="utf-8")
    for row in rows:
        row["scores"].append(1 if row["context_intended_to_be_safe"] else 2)
    for file, values in {
        "output_binary": ("safe", "unsafe", "safe"),
        "output_score": (9, 2, 6, 4),
        "renamed": (3, 8),
    }.items():
        judged = [row | {"some-model": values[at % len(values)]} for at, row in enumerate(rows)]
        (work / f"{file}.json").write_text(json.dumps(judged), encoding="utf-8")


def approve(work: Path, name: str) -> None:
    """Turn every context of a backup into an approved one."""
    words = (work / name).read_text(encoding="utf-8")
    (work / name).write_text(words.replace('"phase":"generated"', '"phase":"approved"'), encoding="utf-8")


STEPS: dict[str, Callable[..., None]] = {
    "edit": edit,
    "head": head,
    "spoil": spoil,
    "release": release,
    "approve": approve,
}


def help_lines(group: Group) -> None:
    """The help of every command, found from the top."""
    group.prepare()
    pending = [""]
    while pending:
        above = pending.pop(0)
        line = f"{above} --help".strip()
        group.command(line)
        listed = group.recorded[f"{group.name}: {line}"]["stdout"].partition("Show this message and exit.\n")[2]
        pending += [f"{above} {name}".strip() for name in re.findall(r"^  ([a-z]\S*)", listed, re.MULTILINE)]


def record(arguments: argparse.Namespace) -> int:
    """Run all groups, two at a time, and write a file for each."""
    began = time.monotonic()
    arguments.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="behaviour-") as root:
        if arguments.source:
            shutil.copytree(arguments.source, Path(root) / "src", ignore=shutil.ignore_patterns("__pycache__"))

        runners: SimpleQueue[Runner] = SimpleQueue()
        for _ in range(arguments.workers):
            runners.put(Runner(environment(Path(root) / "nobody")))

        def work(name: str) -> str:
            group = Group(name, Path(root) / name, arguments.shared, runners.get())
            group.work.mkdir(parents=True)
            try:
                help_lines(group) if name == "help" else group.run(GROUPS[name])
            finally:
                runners.put(group.runner)
                text = json.dumps(group.recorded, indent=1, ensure_ascii=False)
                (arguments.out / f"{name}.json").write_text(text, encoding="utf-8")
            return f"{name}: {len(group.recorded)} scenarios after {time.monotonic() - began:.0f} s"

        wanted = [name for name in ("help", *GROUPS) if fnmatch.fnmatch(name, arguments.only)]
        possible = [name for name in wanted if arguments.shared or "shared/" not in GROUPS.get(name, "")]
        with ThreadPoolExecutor(arguments.workers) as pool:
            for done in as_completed([pool.submit(work, name) for name in possible]):
                print(done.result(), flush=True)
        for _ in range(arguments.workers):
            runners.get().close()
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description="What every command prints and writes, recorded and compared.")
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("record")
    one.add_argument("out", type=Path)
    one.add_argument("--source", type=lambda text: Path(text).resolve(), help="src folder; else what is installed")
    one.add_argument("--shared", type=lambda text: Path(text).resolve(), help="folder with the developers' data")
    one.add_argument("--only", default="*", help="groups to run, as a glob")
    one.add_argument("--workers", type=int, default=2)
    one.set_defaults(run=record)
    other = commands.add_parser("compare")
    other.add_argument("before", type=Path)
    other.add_argument("after", type=Path)
    other.add_argument("--allow", type=Path, help="TOML list of differences that are meant")
    other.set_defaults(run=compare)
    inner = commands.add_parser("run-each")
    inner.set_defaults(run=run_each)
    arguments = parser.parse_args()
    return int(arguments.run(arguments))


if __name__ == "__main__":
    sys.exit(main())
