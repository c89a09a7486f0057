"""Roles of columns: as their owner names them, or as a column's own name says."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from typing import Any, get_args

from casewise.errors import ConfigurationError, did_you_mean
from casewise.notation import hyphened, spoken
from casewise.options import Hidden
from casewise.records import ParameterSet, paper_parameters
from casewise.records.item import Judged
from casewise.storage.entries import MOST_LISTED
from casewise.storage.intake.table import Table, structured
from casewise.storage.words import plain_name

KINDS: tuple[Judged, ...] = get_args(Judged)
"""The words for the kind of thing that is judged."""


def named(*names: str) -> Any:
    """Return an option for a column that is usually called one of `names`; capitals, spaces and hyphens do not count."""
    return field(default=None, metadata={"names": names})


@dataclass(frozen=True)
class CaseColumns:
    """The column of each part of a case: None takes the column whose name says it, empty means that there is none."""

    query: str | None = named("query", "prompt", "question", "request", "user_query", "input", "messages")
    """The column with the query: a text, or a chat as a list of messages, whose last user message is the query."""
    reply: str | None = None
    """The column with a chatbot's reply to the query, if the reply is what people judged."""
    tool_call: str | None = named("tool_call")
    """The column with the action of an agent: an object with tool, arguments and perhaps agent, recipient, subject, information
    and direction."""
    id: str | None = named("case_id", "item_id", "source_id", "id")
    """The column with your own id of the case; reports show it."""
    judged: str | None = named("judged")
    """The kind of thing that is judged: request, reply or action; or the column that says it."""
    before: str | None = named("before", "conversation", "history")
    """The column with the conversation before the query: a text, or a list of turns with role and text."""
    context: str | None = named("context", "circumstances", "situation", "setting")
    """The column with the context: free text, or an object of parameters."""
    context_as: str = "situation"
    """The group.parameter that holds a context of free text. A group alone means its description."""
    parameters: Hidden[Mapping[str, str]] = field(default_factory=dict)
    """Further columns, by the context parameter that each states: group.parameter."""
    category: str | None = named("category", "topic", "harm_category")
    """The column with the category; '' for none. A case without one is uncategorised."""
    cluster: str | None = named("cluster", "cluster_id")
    """The column with the cluster of a case, such as a conversation. Default: cases of one query are a cluster."""
    pair: str | None = named("pair", "pair_id")
    """The column with the id of the pair, or larger group, of contexts."""
    intended: str | None = named("intended_safe", "intended", "context_intended_to_be_safe")
    """The column with the intent of the context's author: safe or unsafe."""
    annotator: str | None = named(
        "annotator", "annotator_id", "rater", "rater_id", "worker", "worker_id", "participant", "participant_id"
    )
    """The column with the annotator, if each row is one rating; or with a list of them, beside a list of votes."""
    trait: tuple[str, ...] = ()
    """A column with a trait of the annotator; may be repeated. Columns whose names begin with trait. count as well."""
    raters: str | None = None
    """Pattern of columns that hold one person's vote each, such as 'human_*'; or their names with commas."""
    vote: str | None = named("vote")
    """The column with one person's vote: safe, unsafe or unsure."""
    value: str | None = named("value")
    """The column with one person's rating on the scale."""
    votes: str | None = named("votes", "ratings", "verdicts")
    """The column with a list of votes or of ratings on the scale, one for each person."""
    n_safe: str | None = named("n_safe", "safe_votes", "votes_safe", "safe_count")
    """The column with the number of safe votes."""
    n_unsafe: str | None = named("n_unsafe", "unsafe_votes", "votes_unsafe", "unsafe_count")
    """The column with the number of unsafe votes."""
    n_unsure: str | None = named("n_unsure", "unsure_votes", "votes_unsure", "unsure_count")
    """The column with the number of unsure votes."""
    n_votes: str | None = named("n_votes", "n_ratings", "total_votes", "total")
    """The column with the number of all safe and unsafe votes."""
    label: str | None = named(
        "label",
        "verdict",
        "judgement",
        "judgment",
        "decision",
        "gold",
        "gold_label",
        "human_label",
        "human",
        "is_safe",
        "is_unsafe",
    )
    """The column with one verdict for the case."""
    rate: str | None = named("safe_rate", "share_safe")
    """The column with the share of people who say safe. With --n-votes it gives the votes."""
    mean: str | None = named("mean", "mean_rating")
    """The column with the mean rating on the scale, if the file has no single ratings."""
    case: tuple[str, ...] = ()
    """A case of a row that holds several, as PART=COLUMN,…: context=safe_context,label=label_a. Parts are named as these options,
    a parameter as group.parameter, a judge's column as judge; label, vote and intended also take the word safe or unsafe. Repeat it
    for each case."""

    @classmethod
    def from_rows(cls, names: Collection[str]) -> CaseColumns:
        """Return the columns of rows as `benchmark_from_rows` takes them: each is called as its option is."""
        options: dict[str, Any] = {option: option if option in names else "" for option in OPTIONS}
        return cls(**options, reply="")

    @property
    def named(self) -> dict[str, str]:
        """The options that name a column, and its name."""
        return {
            option: name
            for option in (*OPTIONS, "reply")
            if (name := getattr(self, option)) and not (option == "judged" and name in KINDS)
        }

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are named for parts, parameters and traits."""
        return (*self.named.values(), *self.parameters, *self.trait)

    @property
    def judged_word(self) -> str | None:
        """The kind of thing that is judged in every row; None where the rows say it."""
        if self.judged in KINDS:
            return self.judged
        return "reply" if self.reply else "action" if self.tool_call else None


OPTIONS: dict[str, tuple[str, ...]] = {
    option.name: option.metadata["names"] for option in fields(CaseColumns) if "names" in option.metadata
}
"""The options that name one column each, and what it is usually called."""

REPLIES = re.compile(
    r"(?!(?:judge|expected|reference|correct|gold|ideal)_).*?(?:response|reply|completion|generation)"
    r"|(?:(?:model|assistant|llm|ai|bot|chatbot)_)?answer"
)
"""Names of columns with replies. Labels may be about these or about the requests, so the user has to say which."""

ON_SCALE = ("value", "mean")
"""The options that need a scale."""

ONE_OF_SEVERAL = ("id", "n_votes", "category")
"""Options for which the first usual name is taken where a file has several; for the others the user has to choose."""

TRAIT = "trait."
"""The prefix of a column that holds a trait of the annotator."""

UNNAMED = re.compile(r"column \d+|__UNNAMED__\d+")
"""A column of a sheet without a name in its first line."""

DOTTED = re.compile(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*")
"""The name of a column that states a context's parameter by itself, if its group is known or has the name of a context."""


def find_columns(
    columns: Sequence[str],
    stated: CaseColumns,
    *,
    scale: bool = False,
    parameters: ParameterSet | None = None,
    has_ratings: bool = True,
) -> CaseColumns:
    """Return the `stated` columns, and for each part that these leave open the one among `columns` whose name is usual for it.

    `scale`: whether there is a scale, without which no column is taken to hold values on it.

    Raises ConfigurationError: a stated column is not there, two columns could be meant, or one is missing that is required,
    ratings included where the table `has_ratings`.
    """
    for name in stated.names:
        check_there(name, columns)
    raters = rater_columns(columns, stated.raters)
    if stated.raters and not raters:
        raise ConfigurationError(f"no column is called like {stated.raters!r}; {listed(columns)}")
    used_columns = {*stated.names, *raters}
    plain: dict[str, list[str]] = {}
    for name in columns:
        plain.setdefault(plain_name(name), []).append(name)
    of_parameters = dict(stated.parameters)
    known = parameters or paper_parameters()
    groups = (*known.group_names, stated.context_as.partition(".")[0], *OPTIONS["context"])
    of_groups = [name for name in columns if DOTTED.fullmatch(name) and name.partition(".")[0] in groups]
    for dotted in (*known.names, *of_groups):
        column = next(iter(plain.get(plain_name(dotted), ())), None)
        if column is not None and column not in used_columns and dotted not in of_parameters.values():
            of_parameters[column] = dotted
            used_columns.add(column)
    columns_by_role: dict[str, Any] = {}
    for option, names in OPTIONS.items():
        if getattr(stated, option) is not None:
            continue
        candidates = [column for name in names for column in plain.get(name, ()) if column not in used_columns]
        if option in ON_SCALE and not scale:
            candidates = []
        if len(candidates) > 1 and option not in ONE_OF_SEVERAL:
            options = " or ".join(f"--{hyphened(option)} {name!r}" for name in candidates)
            raise ConfigurationError(
                f"{' and '.join(map(repr, candidates))} could both be the {spoken(option)}; give {options}, or "
                f"--{hyphened(option)} '' for none"
            )
        columns_by_role[option] = candidates[0] if candidates else ""
    chosen = replace(stated, parameters=of_parameters, **columns_by_role)
    chosen = replace(chosen, reply=reply_column(chosen, columns, used_columns))
    if has_ratings:
        check_columns(chosen, columns)
    return chosen


def columns_of(
    table: Table,
    stated: CaseColumns,
    *,
    scale: bool = False,
    parameters: ParameterSet | None = None,
    has_ratings: bool = True,
) -> CaseColumns:
    """Return the roles of a table's columns as `find_columns` does, where a stated name may be a part of objects.

    `annotations.label` is the `label` of the object in `annotations`, or the list of the labels of the objects there. It becomes
    a column of the table.
    """
    for name in stated.names:
        if name not in table.columns and "." in name:
            cells = parts_of_objects(table, name)
            if any(cell is not None for cell in cells):
                table.columns[name] = cells
    try:
        return find_columns(table.names, stated, scale=scale, parameters=parameters, has_ratings=has_ratings)
    except ConfigurationError as error:
        if not (inner := names_in_objects(table)):
            raise
        raise ConfigurationError(f"{error}. A part of an object is named with a point: {', '.join(inner)}") from error


def parts_of_objects(table: Table, name: str) -> list[Any]:
    """Return the cells that `column.part` names; None where there are no objects."""
    column, _, path = name.partition(".")
    return [part_of(structured(cell), path) for cell in table.columns.get(column, [None] * len(table))]


def part_of(value: Any, path: str) -> Any:
    """Return the part of an object at a path with points, or the list of these parts in a list of objects; None if it has none."""
    if isinstance(value, list):
        inner = [part_of(each, path) for each in value if isinstance(each, Mapping)]
        return inner if any(part is not None for part in inner) else None
    if not isinstance(value, Mapping):
        return None
    if path in value:
        return value[path]
    key, point, rest = path.partition(".")
    return part_of(value.get(key), rest) if point else None


MOST_PARTS = 8
"""Parts of objects that a message lists."""


def names_in_objects(table: Table) -> list[str]:
    """Return the first names of parts of the objects in a table's first row."""
    names = []
    for column, cells in table.columns.items():
        value = structured(cells[0]) if cells else None
        value = value[0] if isinstance(value, list) and value else value
        names += [f"{column}.{key}" for key in value] if isinstance(value, Mapping) else []
    return names[:MOST_PARTS]


def reply_column(chosen: CaseColumns, columns: Sequence[str], used_columns: Collection[str]) -> str:
    """Return the column with the replies that are judged, or nothing.

    Raises ConfigurationError: there are requests and replies, and no option says which of them the labels are about.
    """
    if chosen.reply is not None:
        return chosen.reply
    used = {*used_columns, *chosen.named.values()}
    candidates = [name for name in columns if REPLIES.fullmatch(plain_name(name)) and name not in used]
    if (
        not candidates
        or not (chosen.query or chosen.tool_call)
        or chosen.judged in ("request", "action")
        or (chosen.judged and chosen.judged not in KINDS)
    ):
        return ""
    if chosen.judged == "reply" and len(candidates) == 1:
        return candidates[0]
    options = " or ".join(f"--reply {name!r}" for name in candidates)
    raise ConfigurationError(
        f"the file has requests ({chosen.query!r}) and replies ({', '.join(map(repr, candidates))}); say what the labels are "
        f"about: --judged request, or {options}"
    )


def rater_columns(columns: Sequence[str], pattern: str | None) -> dict[str, str]:
    """Return the columns that hold one person's votes each, and the person: what the pattern's * stands for.

    Raises ConfigurationError: the pattern has not exactly one *, and is no list of columns.
    """
    if not pattern:
        return {}
    if "*" not in pattern and {*(named := [name.strip() for name in pattern.split(",")])} <= {*columns}:
        return {name: name for name in named}
    if pattern.count("*") != 1:
        raise ConfigurationError(
            f"--raters is {pattern!r}; write * once for the person, as in 'human_*', or the names of the columns with commas"
        )
    start, _, end = pattern.partition("*")
    return {name: name[len(start) : len(name) - len(end)] or name for name in columns if fnmatchcase(name, pattern)}


def check_columns(chosen: CaseColumns, columns: Sequence[str]) -> None:
    """Check that a case has a query and something that people decided. Raises ConfigurationError: it has not."""
    if not chosen.query and not chosen.tool_call:
        further = len(columns) == 1 or any(map(UNNAMED.fullmatch, columns))
        header = ", or give the line that names the columns with --header-line" if further else ""
        raise ConfigurationError(f"no column has a name like query; name it with --query{header}; {listed(columns)}")
    if chosen.n_safe and not (chosen.n_votes or chosen.n_unsafe):
        raise ConfigurationError(
            f"{chosen.n_safe!r} counts safe votes, but of how many? Name the column with --n-unsafe or --n-votes; "
            f"{listed(columns)}"
        )
    if not {"vote", "value", "votes", "n_safe", "label", "rate", "mean"} & set(chosen.named) and not (
        chosen.raters or chosen.tool_call
    ):
        raise ConfigurationError(
            "no column holds what people decided; name it: --label (one word a case), --votes (a list of words), --raters (a "
            "column a person), --n-safe with --n-unsafe or --n-votes (counts), --rate (the share that says safe), --annotator with --vote (a "
            f"rating a row), --case (several cases a row), or --value and --mean (on a scale); {listed(columns)}"
        )


def check_there(name: str, columns: Sequence[str]) -> None:
    """Check that there is a column called `name`. Raises ConfigurationError: there is none."""
    if name not in columns:
        raise ConfigurationError(f"there is no column {name!r}{did_you_mean(name, columns)}; {listed(columns)}")


def listed(columns: Sequence[str]) -> str:
    """Return the first columns of a table, in words."""
    more = f" and {len(columns) - MOST_LISTED:,} more" if len(columns) > MOST_LISTED else ""
    return f"the columns are: {', '.join(columns[:MOST_LISTED])}{more}"
