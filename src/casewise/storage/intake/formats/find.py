"""The format of a file, found by its content."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path

from casewise.errors import DataError
from casewise.plugins import all_parts, builtin_parts
from casewise.storage.intake.formats.format import NO_TABLES, FileOptions, GivenFile, Level, TableFormat
from casewise.storage.intake.table import Table

OWN = (
    "excel",
    "inspect_log",
    "columnar",
    "promptfoo",
    "deepeval",
    "provider_batches",
    "lm_eval",
    "label_studio",
    "argilla",
    "potato",
    "doccano",
    "traces",
    "split_json",
    "qualtrics",
    "mturk",
    "prolific",
    "mlflow",
    "langfuse",
    "phoenix",
    "delimited",
    "objects",
)
"""Modules with the formats of casewise itself, each under `FORMATS`, in the order in which a file is compared with them."""


def own_formats() -> dict[str, TableFormat]:
    """Return the formats of casewise itself, by name."""
    modules = (import_module(f"{__package__}.{module}") for module in OWN)
    return {form.name: form for module in modules for form in module.FORMATS}


@cache
def formats() -> tuple[TableFormat, ...]:
    """Return every format that can be used: those that other packages bring, and then those of casewise."""
    builtin_formats = builtin_parts("formats")
    every = all_parts("formats", TableFormat)
    return (*(form for name, form in every.items() if name not in builtin_formats), *builtin_formats.values())


def read_any_table(path: Path, options: FileOptions = FileOptions()) -> Table:
    """Return the table that a file or folder holds, in whichever format it is; `Table.format` names the format.

    Raises DataError: it is in no format that casewise knows, or holds nothing; the message says where.
    """
    file = GivenFile(path, options)
    form = first_match("folder" if path.is_dir() else "bytes", file)
    if form is None:
        if path.is_dir():
            problem = "is a folder, and no export of an annotation tool that casewise knows; give a file of it"
            raise DataError(path, None, problem)
        if not file.head.strip():
            raise DataError(path, None, "is empty")
        start = file.head.lstrip()[:16].lower()
        if kind := next((kind for magic, kind in NO_TABLES.items() if start.startswith(magic)), None):
            raise DataError(path, None, kind)
        if file.members:
            raise DataError(
                path,
                None,
                "is a ZIP archive that casewise does not know; unpack it and give the folder, or a file of it",
            )
        form = (
            first_match("objects", file.objects[0].values)
            if file.is_json
            else next(form for form in formats() if form.name == "CSV")
        )
        assert form is not None  # every object is one of some format
    table = named(form, form.read(file)).where(options.where)
    if (sheet := first_match("sheet", table)) is not None:
        table = named(sheet, sheet.read(table))
    return table.without_empty_rows()


def named(form: TableFormat, table: Table) -> Table:
    """Return a table with the name of its format; CSV itself says whether it has tabs."""
    if form.name != "CSV":
        table.format = form.name
    return table


def first_match(level: Level, seen: object) -> TableFormat | None:
    """Return the first format of a level that matches what was seen of a file."""
    return next((form for form in formats() if form.level == level and form.matches(seen)), None)
