"""The front door: a page one can read, commands that load when they are called, and no room below the api."""

import ast
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from scripts.write_commands import leaves
from tests.support.command import invoke as casewise_here
from tests.support.command import program

import casewise
from casewise.cli.app import SECTIONS, app, show_docstring_as_help
from casewise.plugins import install_command

CLI = Path(casewise.__file__).parent / "cli"
ENTRIES = [(name, line) for section in SECTIONS.values() for name, (_, line) in section.items()]


@pytest.mark.slow
def test_the_page_of_all_commands_is_in_sections_a_line_each():
    said = program(COLUMNS="80").out.splitlines()

    for heading, section in SECTIONS.items():
        assert (f"{heading}:" in said) == bool(section)
    for name, text in ENTRIES:
        assert [line for line in said if line.split()[:1] == [name] and line.rstrip().endswith(text)], name
    assert max(map(len, said)) <= 80


@pytest.mark.parametrize("name", [name for name, _ in ENTRIES])
def test_every_entry_is_a_command_with_help_of_its_own(name):
    show_docstring_as_help(name)

    assert app[name].name == (name,)
    assert app[name].help or list(app[name])


def test_the_page_of_all_commands_loads_none_of_them():
    check = (
        "import sys; sys.argv = ['casewise', '--help']\n"
        "from casewise.cli.app import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([n for n in sys.modules if n.startswith(('casewise.api', 'casewise.cli.')) "
        "and n not in ('casewise.api', *map('casewise.cli.{}'.format, ('app', 'help')))])"
    )

    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.slow
def test_h_is_help_everywhere():
    for words in ((), ("judge",), ("data",), ("show",), ("study", "open")):
        assert casewise_here(*words, "-h").out == casewise_here(*words, "--help").out


def test_a_path_that_is_no_text_is_refused_before_anything_is_written():
    said = casewise_here("judge", "demo", "--judge", "constant:safe", "--out", "run\udcfc")

    assert said.code == 2
    assert "is not utf-8: rename the file" in said.err
    assert not list(Path().glob("run*"))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("leaderbord",), "did you mean 'leaderboard'?"),
        (("judge", "demo", "--judge", "constnat:safe"), "did you mean 'constant:safe'?"),
        (("judge", "demo", "--judge", "linear", "--elicit", "probabilty"), "did you mean 'probability'?"),
        (("judge", "demo", "--judge", "linear", "--items", "claer"), "did you mean 'clear'?"),
        (("audit", "demo", "--fail-on", "lables"), "did you mean 'labels'?"),
        (("gate", "x", "--baseline", "y", "--max-drop", "acuracy=0.1"), "did you mean 'accuracy'?"),
        (("study", "check", "--frezee"), "did you mean '--freeze'?"),
        (("compare", "x", "y", "--full"), "casewise compare has no option --full; casewise compare --help-all lists"),
        (("judge", "demo"), "casewise judge --help explains it"),
    ],
)
def test_what_is_nearly_a_name_is_told(words, says):
    said = casewise_here(*words)

    assert said.code == 2
    assert says in said.err


@pytest.mark.slow
def test_a_shell_is_given_what_completes_a_line():
    script = app.generate_completion(shell="bash")

    assert "leaderboard" in script
    assert "retry-unscored" in script


@pytest.mark.slow
@pytest.mark.parametrize("words", [["serve"], ["serve", "decider.json"]])
def test_what_an_extra_brings_is_asked_for_by_its_name_and_is_no_bug(words):
    program = f"import sys; sys.modules['uvicorn'] = None; sys.argv = ['casewise', *{words}]; from casewise.cli.app import main; main()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (2, f"error: this needs uvicorn: {install_command('web')}\n")


@pytest.mark.slow
def test_the_demo_prints_its_answer_and_leads_on(monkeypatch, capsys, tmp_path):
    said = casewise_here("demo", "--out", tmp_path / "demo")

    assert "agrees with people on" in " ".join(said.out.split())
    assert "Labels: votes" not in said.out
    assert "show demo 1" in said.err


def options():
    for names in leaves(app):
        command = app
        for name in names:
            command = command[name]
        for option in command.assemble_argument_collection(parse_docstring=True):
            if option.name.startswith("--") and option.parse:
                yield option.name, " ".join((option.parameter.help or "").split()), repr(option.field_info.default)


def declarations():
    """The texts of the source that can be an option's help: of fields, of `help=`, and of commands."""
    for file in Path(casewise.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                yield from (part.value for part in node.body[1:] if isinstance(part, ast.Expr))
            elif isinstance(node, ast.keyword) and node.arg == "help":
                yield node.value
            elif isinstance(node, ast.FunctionDef) and file.parent.name == "cli" and ast.get_docstring(node):
                yield node.body[0].value  # type: ignore[attr-defined]  # it has a docstring


@pytest.mark.slow
def test_an_option_is_declared_once_and_has_one_default():
    source = "\n".join(" ".join(str(node.value).split()) for node in declarations() if isinstance(node, ast.Constant))
    defaults = defaultdict(set)
    for name, text, default in options():
        defaults[name, text].add(default)

    assert len(defaults) > 200
    assert {option: values for option, values in defaults.items() if len(values) > 1} == {}
    assert [name for name, text in defaults if source.count(text) != 1] == []


def test_an_interruption_during_a_command_says_how_to_go_on(monkeypatch, capsys):
    def interrupted(_source):
        raise KeyboardInterrupt

    monkeypatch.setattr("casewise.storage.load.read_benchmark", interrupted)
    said = casewise_here("judge", "demo", "--judge", "linear")

    assert said.code == 130
    assert "error: interrupted; the same command" in said.err
