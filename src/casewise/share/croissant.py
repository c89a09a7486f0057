"""A benchmark described in Croissant 1.1 with its responsible-AI fields, beside Parquet files that the description names.

Sources: Croissant format specification 1.1 and Croissant RAI 1.0 (MLCommons). What a benchmark cannot know of itself (who made
it, under which address, who its annotators were) comes from a file; what is nowhere said is left out and named.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl

from casewise.records.base import Record, read_record
from casewise.storage.benchmark import Benchmark
from casewise.storage.benchmark_folder import new_folder, sha256, write_manifest, write_tables
from casewise.storage.files import json_text, write_text

TYPES = {
    pl.String: "sc:Text",
    pl.Enum: "sc:Text",
    pl.Int64: "sc:Integer",
    pl.Float64: "sc:Float",
    pl.Boolean: "sc:Boolean",
}


class CroissantAbout(Record):
    """The facts that a benchmark does not hold, from a TOML file with these keys, all optional."""

    url: str | None = None
    creators: tuple[str, ...] = ()
    published: date | None = None
    licence: str | None = None
    cite_as: str | None = None
    platform: tuple[str, ...] = ()
    """The platforms on which people annotated, such as the name of a recruiter."""
    demographics: tuple[str, ...] = ()
    """Demographics of the annotators, aggregated."""
    protocol: tuple[str, ...] = ()
    use_cases: tuple[str, ...] = ()
    biases: tuple[str, ...] = ()
    limitations: tuple[str, ...] = ()
    social_impact: str | None = None
    sensitive: tuple[str, ...] = ()
    maintenance: str | None = None


def read_croissant_about(path: Path | None) -> CroissantAbout:
    """Return the content of `path`; an empty record without a file.

    Raises DataError: it cannot be read, is not TOML, or has an unknown key.
    """
    return CroissantAbout() if path is None else read_record(path, CroissantAbout, "what Croissant asks for")


def write_croissant(
    benchmark: Benchmark, folder: Path, *, about: CroissantAbout = CroissantAbout(), biases: Sequence[str] = ()
) -> tuple[str, ...]:
    """Write `benchmark` as a new folder of Parquet files with `croissant.json` beside them: all of it or nothing.

    `biases`: what an audit found, a sentence each. Returns the fields that the description lacks and its readers ask for.

    Raises ConfigurationError: there is something at `folder` already, or it cannot be written.
    """
    with new_folder(folder) as draft:
        names = write_tables(benchmark, draft, under="")
        write_manifest(benchmark, draft, names=names)
        metadata = croissant_metadata(benchmark, draft, names, about, biases)
        write_text(draft / "croissant.json", json_text(metadata))
    return tuple(name for name in REQUESTED if name not in metadata)


REQUESTED = (
    "url",
    "creator",
    "datePublished",
    "license",
    "citeAs",
    "rai:dataAnnotationPlatform",
    "rai:annotatorDemographics",
)
"""The fields that venues ask for and only the maker of a benchmark can fill."""


def croissant_metadata(
    benchmark: Benchmark, folder: Path, names: Sequence[str], about: CroissantAbout, biases: Sequence[str]
) -> dict[str, Any]:
    itself, licence = benchmark.about, about.licence or benchmark.about.licence
    shown = [name for name in names if pl.scan_parquet(folder / name).select(pl.len()).collect().item()]
    stated = {
        "license": licence,
        "url": about.url,
        "creator": [{"@type": "Person", "name": name} for name in about.creators],
        "datePublished": about.published.isoformat() if about.published else None,
        "citeAs": about.cite_as,
        **responsible_ai_fields(benchmark, about, biases),
    }
    vocabulary = files("casewise.share").joinpath("croissant_context.json").read_text(encoding="utf-8")
    return {
        "@context": json.loads(vocabulary),
        "@type": "sc:Dataset",
        "conformsTo": ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"],
        "name": itself.name,
        "version": ".".join([*itself.version.split("."), "0", "0"][:3]),  # three numbers, as the format wants it
        "description": " ".join([itself.description or itself.name, *benchmark.notes()]),
        **{name: value for name, value in stated.items() if value},
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": name,
                "name": name,
                "contentUrl": name,
                "encodingFormat": "application/x-parquet",
                "contentSize": f"{(folder / name).stat().st_size} B",
                "sha256": sha256(folder / name),
            }
            for name in names
        ],
        "recordSet": [record_set(folder, name) for name in shown],
    }


def responsible_ai_fields(benchmark: Benchmark, about: CroissantAbout, biases: Sequence[str]) -> dict[str, Any]:
    """Return the responsible-AI fields that the benchmark, its audit and the file can fill."""
    votes = benchmark.item_columns["n_votes"].filter(benchmark.item_columns["n_votes"] > 0).unique().sort()
    per_item = " to ".join(str(n) for n in dict.fromkeys((votes[0], votes[-1]))) if len(votes) else None
    protocol = about.protocol or (
        ("Each item is a query with or without a context; people say whether a chatbot should respond or refuse.",)
        if len(votes)
        else ()
    )
    limits = (*about.limitations, *([benchmark.about.synthetic] if benchmark.about.synthetic else ()))
    return {
        "rai:dataAnnotationProtocol": list(protocol),
        "rai:dataAnnotationPlatform": list(about.platform),
        "rai:annotationsPerItem": per_item,
        "rai:annotatorDemographics": list(about.demographics),
        "rai:dataUseCases": list(about.use_cases),
        "rai:dataBiases": [*about.biases, *biases],
        "rai:dataLimitations": list(limits),
        "rai:dataSocialImpact": about.social_impact,
        "rai:personalSensitiveInformation": list(about.sensitive),
        "rai:dataReleaseMaintenancePlan": about.maintenance,
    }


def record_set(folder: Path, name: str) -> dict[str, Any]:
    table = Path(name).stem
    columns = pl.read_parquet_schema(folder / name)
    return {
        "@type": "cr:RecordSet",
        "@id": table,
        "name": table,
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{table}/{column}",
                "name": column,
                "dataType": TYPES[type(kind)],
                "source": {"fileObject": {"@id": name}, "extract": {"column": column}},
            }
            for column, kind in columns.items()
        ],
    }
