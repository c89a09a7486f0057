"""Rules of the house that hold for all code: imports, and texts of reports that are built and never repaired."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from casewise.cli.app import SECTIONS

ROOT = Path(__file__).parents[1]


def test_the_import_contracts_are_kept():
    contracts = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert contracts.returncode == 0, contracts.stdout + contracts.stderr


@pytest.mark.parametrize("folder", ["benchmarks", "scripts"])
def test_what_a_benchmark_or_a_script_imports_of_casewise_is_there(folder):
    missing = []
    for file in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "casewise":
                missing += [f"{file.name}:{node.lineno}: {node.module}.{name.name}" for name in node.names
                            if not _is_there(node.module, name.name)]  # fmt: skip

    assert missing == []


def _is_there(module: str, name: str) -> bool:
    try:
        return hasattr(importlib.import_module(module), name) or bool(importlib.import_module(f"{module}.{name}"))
    except ModuleNotFoundError:
        return False


READERS = {"ask", "judges", "models", "replies", "storage", "transforms"}
"""The rooms that read and change other people's texts: replies, files, contexts under attack. All others write their own."""

NOT_PROSE = {
    "cli/run_file.py:keys_of": "names of options as keys",
    "contexts/foreign_text.py:language_of": "words of a text whose language is sought",
    "contexts/generation.py:flatten_values": "keys of a model's reply",
    "database/engine.py:migrate": "a path in a configuration",
    "deciding/decider_file.py": "the hash within a file of JSON",
    "notation.py:spoken": "an identifier of the data",
    "reports/charts.py:svg": "characters in a specification that the renderer cannot take",
    "reports/comparison.py:xml_text": "characters that XML cannot hold",
    "reports/document.py:looks_numeric": "reads a cell and leaves it as it is",
    "reports/formats.py:without_controls": "control characters, which a terminal must not get",
    "share/every_eval_ever.py:path_name": "a name of a file",
    "share/every_eval_ever.py:results": "a number in JSON",
    "stats/costs.py:refusals": "the name of a sum",
    "studies/language.py:Translator": "fills the fields of a template",
    "studies/prolific.py:ProlificClient": "a status of Prolific's",
    "studies/recruiters.py:ParameterRecruiter": "fills the fields of an address",
    "studies/report_parts.py:write_mixed_model": "a script in R, and strings in it",
    "studies/rounds.py:init_study": "the name of a new study",
    "studies/wording.py:fill": "fills the fields of a template",
    "web/review.py:view_of": "the id of a field",
    "web/security.py:password_problem": "a password",
    "web/viewing.py:create_view": "line ends of a form's text",
}
"""The places that replace characters in what is no prose, with what it is."""


def test_texts_are_built_and_never_repaired():
    found = {
        f"{path}:{function}"
        for file in _sources(ROOT / "src/casewise")
        for function in _replacing(file)
        if (path := file.relative_to(ROOT / "src/casewise")).parts[0] not in READERS
    }

    assert [place for place in found if not {place, place.partition(":")[0]} & NOT_PROSE.keys()] == []
    assert [place for place in NOT_PROSE if not any(hit.startswith(place) for hit in found)] == []


WRITERS = {"count", "count_of", "interval", "number", "p_value", "percent", "points", "share", "text", "render", "join"}
"""The functions of `notation` and `text` that write what a page shows."""

READING = {
    *("startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition", "split", "rsplit"),
    *("splitlines", "strip", "lstrip", "rstrip", "find", "index"),
}


def test_no_code_reads_what_it_has_just_written_for_a_page():
    places = [
        f"{file.relative_to(ROOT)}:{line}"
        for file in _sources(ROOT / "src/casewise")
        for line in _reads_of_written(file)
    ]

    assert places == []


def test_the_search_for_reads_of_written_text_finds_both_forms(tmp_path):
    file = tmp_path / "page.py"
    file.write_text(
        "def f(x):\n    p = p_value(x)\n    p.startswith('<')\n    share(x).removeprefix('-')\n    x.strip()\n"
    )

    assert list(_reads_of_written(file)) == [3, 4]


def _reads_of_written(file: Path) -> Iterator[int]:
    """The lines that call a method of `READING` on what a function of `WRITERS` returned, directly or by a local name."""
    source = file.read_text(encoding="utf-8")
    used = re.search(rf"\.({'|'.join(READING)})\(", source) and re.search(rf"\b({'|'.join(WRITERS)})\(", source)
    for function in ast.parse(source).body if used else ():
        nodes = list(ast.walk(function))
        names = {
            node.targets[0].id
            for node in nodes
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and _is_written(node.value)
        }
        for node in nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in READING:
                read = node.func.value
                if _is_written(read) or (isinstance(read, ast.Name) and read.id in names):
                    yield node.lineno


def _is_written(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in WRITERS


def test_no_template_replaces_characters_in_what_it_shows():
    pages = sorted((ROOT / "src/casewise").rglob("templates/**/*.html"))

    assert len(pages) > 40
    assert [page.name for page in pages if re.search(r"\|\s*replace\b", page.read_text(encoding="utf-8"))] == []


def _sources(room: Path) -> list[Path]:
    return sorted(room.rglob("*.py"))


def _replacing(file: Path) -> list[str]:
    """The outermost functions of a file that call `sub`, or `replace` with an old and a new text."""
    functions, source = [], file.read_text(encoding="utf-8")
    if not re.search(r"\.(subn?|replace)\(", source):
        return []
    for outer in ast.parse(source).body:
        calls = [node for node in ast.walk(outer) if isinstance(node, ast.Call)]
        named = [(call.func.attr, len(call.args)) for call in calls if isinstance(call.func, ast.Attribute)]
        if any(name in {"sub", "subn"} or (name == "replace" and n > 1) for name, n in named):
            functions.append(getattr(outer, "name", ""))
    return functions


NO_PATHS = {
    "option": "an option of the command, quoted where it is made",
    "email": "an address, which has no spaces",
    "purpose": "the label of a key, which is no command",
    "person.annotator": "an id of letters and digits",
    "annotator_id": "an id of letters and digits",
    "self.name": "the name of a public set, of letters and digits",
}
"""What a printed command holds that needs no quotes, with the reason."""


def test_a_path_in_a_printed_command_is_quoted_for_the_shell():
    given = {
        (str(file.relative_to(ROOT)), argument)
        for file in _sources(ROOT / "src/casewise")
        for argument in _arguments_of_commands(file)
    }

    assert NO_PATHS.keys() <= {argument for _, argument in given}
    assert [place for place in given if not place[1].startswith("shlex.") and place[1] not in NO_PATHS] == []


def _arguments_of_commands(file: Path) -> Iterator[str]:
    """The expressions that a file writes right after the words of one of casewise's commands."""
    command = re.compile(
        rf"casewise ({'|'.join(name for section in SECTIONS.values() for name in section)})( [a-z]+| --?[a-z-]+| \0)* $"
    )
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            before = ""
            for part in node.values:
                if isinstance(part, ast.FormattedValue) and command.search(before):
                    yield ast.unparse(part.value)
                before += str(part.value) if isinstance(part, ast.Constant) else "\0"


def test_a_result_prints_its_fields_and_no_address():
    """A dataclass without a `repr` of its own has that of `ShortRepr`, itself or by its base."""
    bare = []
    for file in sorted((ROOT / "src/casewise").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and any(
                "repr=False" in ast.unparse(mark) for mark in node.decorator_list
            ):
                named = any(isinstance(part, ast.FunctionDef) and part.name == "__repr__" for part in node.body)
                bare += [] if node.bases or named else [f"{file.name}: {node.name}"]

    assert bare == []
