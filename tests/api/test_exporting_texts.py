"""What an export writes, in which format, and which texts leave only on request."""

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from casewise.api import exporting
from casewise.api.exporting import (
    ExportResult,
    batch_jobs,
    check_format,
    export,
    kind_of_source,
    paper,
    show_benchmark,
    show_run,
)
from casewise.errors import ConfigurationError, DataError
from casewise.storage.batch_jobs import BATCHES, JobEvent

TARGET, RUN = Path("out"), Path("run")


@pytest.fixture
def written(monkeypatch):
    """What each writer was given, of a source whose `kind` and terms are laid down."""
    world = SimpleNamespace(calls=list[Any](), kind="benchmark", restricted=False, plugin=None)
    loaded = SimpleNamespace(name="tea")

    def load(source):
        world.calls.append(("loaded", source))
        return SimpleNamespace(restricted=world.restricted, name=loaded.name)

    def writes(name, result):
        def write(*given, **options):
            world.calls.append((name, *given, options))
            return result

        return write

    monkeypatch.setattr("casewise.api.exporting.kind_of_source", lambda _source: world.kind)
    monkeypatch.setattr("casewise.api.exporting.load", load)
    monkeypatch.setattr("casewise.api.exporting.find_function", lambda _kind, _to: world.plugin)
    monkeypatch.setattr("casewise.api.exporting.part_names", lambda _kind: ["own"])
    monkeypatch.setattr("casewise.api.exporting.read_run", lambda _run: SimpleNamespace(benchmark_source="the run's"))
    monkeypatch.setattr("casewise.api.exporting.JudgeNumbers.from_runs", lambda runs, **_options: ("numbers", *runs))
    monkeypatch.setattr("casewise.api.exporting.item_view", lambda benchmark: ("items of", benchmark.name))
    monkeypatch.setattr("casewise.api.exporting.write_csv", writes("csv", None))
    monkeypatch.setattr("casewise.api.exporting.convert", writes("converted", ["the seed"]))
    monkeypatch.setattr("casewise.api.exporting.read_croissant_about", lambda about: ("facts of", about))
    finding = SimpleNamespace(title="Labels tie", share=0.256)
    monkeypatch.setattr("casewise.api.exporting.audit", lambda _benchmark: SimpleNamespace(findings=[finding]))
    monkeypatch.setattr("casewise.api.exporting.write_croissant", writes("croissant", ["licence"]))
    monkeypatch.setattr("casewise.api.exporting.export_replies", writes("replies", ("a note",)))
    monkeypatch.setattr("casewise.api.exporting.write_every_eval_ever", writes("eee", (TARGET / "eee", ("a note",))))
    monkeypatch.setattr("casewise.api.exporting.write_garak", writes("garak", TARGET))
    monkeypatch.setattr("casewise.api.exporting.write_pyrit", writes("pyrit", TARGET))
    monkeypatch.setattr("casewise.share.inspect_log.export_inspect_log", writes("inspect", TARGET))
    return world


def test_a_benchmark_is_written_with_notes_on_what_its_format_lacks(written):
    assert export("tea", TARGET, to="csv") == ExportResult(
        TARGET, ("casewise cannot read this file: cells like formulas begin with an apostrophe",)
    )
    assert export("tea", TARGET, to="published").notes == ("the published format cannot hold the seed",)
    export("tea", TARGET, to="hf")
    assert export("tea", TARGET, to="croissant", about=Path("a.toml")).notes == (
        "licence is not known; give it with --about FILE",
    )
    csv, published, hf, (_, benchmark, target, options) = [call for call in written.calls if call[0] != "loaded"]
    assert csv == ("csv", ("items of", "tea"), TARGET, {})
    assert published == ("converted", "tea", TARGET, {"to": "published"})
    assert hf == ("converted", "tea", TARGET, {"to": "huggingface"})
    assert (benchmark.name, target, options["about"]) == ("tea", TARGET, ("facts of", Path("a.toml")))
    assert options["biases"] == ["Labels tie (26 % of items)"]


@pytest.mark.parametrize("to", ["folder", "published", "parquet", "hf", "croissant", "csv"])
def test_texts_with_terms_are_written_only_on_request(written, to):
    written.restricted = True
    with pytest.raises(
        ConfigurationError, match="tea has terms that restrict its texts; add --with-texts to export them"
    ):
        export("tea", TARGET, to=to)
    assert written.calls == [("loaded", "tea")]
    assert export("tea", TARGET, to=to, with_texts=True).path == TARGET
    assert len(written.calls) == 3


def test_an_inspect_log_of_a_gated_benchmark_is_written_only_on_request(written):
    written.kind, written.restricted = "run", True
    with pytest.raises(ConfigurationError, match="an Inspect log holds queries, contexts and replies"):
        export(RUN, TARGET, to="inspect")
    assert written.calls == [("loaded", "the run's")]
    with pytest.raises(ConfigurationError, match="an Inspect log"):
        export(RUN, TARGET, to="inspect", benchmark="moved")
    assert written.calls[1:] == [("loaded", "moved")]
    export(RUN, TARGET, to="inspect", with_texts=True)
    written.restricted = False
    export(RUN, TARGET, to="inspect")
    assert [call[:3] for call in written.calls if call[0] == "inspect"] == [("inspect", RUN, TARGET)] * 2


@pytest.mark.parametrize("to", ["garak", "pyrit"])
def test_a_run_is_written_for_other_programs(written, to):
    written.kind = "run"
    assert export(RUN, TARGET, to=to) == ExportResult(TARGET)
    assert export(RUN, TARGET, to="eee", with_texts=True) == ExportResult(TARGET / "eee", ("a note",))
    export(RUN, TARGET, to="eee")
    numbers = ("numbers", RUN)
    assert written.calls == [
        (to, numbers, TARGET, {}),
        ("eee", numbers, TARGET, {"with_texts": True}),
        ("eee", numbers, TARGET, {"with_texts": False}),
    ]


def test_replies_are_written_without_their_texts_unless_these_are_asked_for(written):
    written.kind = "replies"
    assert export(RUN, TARGET, to="table") == ExportResult(TARGET, ("a note",))
    export(RUN, TARGET, to="table", with_texts=True)
    assert written.calls == [("replies", RUN, TARGET, {"with_replies": texts}) for texts in (False, True)]


@pytest.mark.parametrize(
    ("kind", "restricted", "refused"),
    [("replies", False, True), ("run", True, True), ("benchmark", True, True), ("run", False, False), ("benchmark", False, False)],
)  # fmt: skip
def test_a_format_of_a_package_gets_texts_with_terms_or_replies_only_on_request(written, kind, restricted, refused):
    written.kind, written.restricted, written.plugin = kind, restricted, lambda *given: written.calls.append(given)
    if refused:
        with pytest.raises(ConfigurationError, match="run has texts that casewise exports only on request"):
            export(RUN, TARGET, to="own")
        assert (RUN, TARGET) not in written.calls
    assert export(RUN, TARGET, to="own", with_texts=refused) == ExportResult(TARGET)
    assert written.calls[-1] == (RUN, TARGET)


def test_nothing_is_overwritten_and_facts_are_for_croissant(written, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a").touch()
    (tmp_path / "empty").mkdir()
    for taken in (tmp_path / "full", tmp_path / "full" / "a"):
        with pytest.raises(ConfigurationError, match=f"{taken} exists, and nothing is overwritten"):
            export("tea", taken, to="csv")
    with pytest.raises(ConfigurationError, match="--about works only with --to croissant"):
        export("tea", TARGET, to="csv", about=Path("a.toml"))
    assert written.calls == []
    assert export("tea", tmp_path / "empty", to="csv").path == tmp_path / "empty"


def test_the_format_is_the_first_of_its_kind_or_one_that_fits(written):
    for kind, first in {"benchmark": "folder", "run": "eee", "replies": "table", "study": "ratings"}.items():
        written.kind = kind
        assert (check_format("x", None), check_format("x", first), check_format("x", "own")) == (first, first, "own")
    with pytest.raises(ConfigurationError) as raised:
        check_format("x", "garak")
    assert str(raised.value) == "--to garak takes a run, and x is a study, which can go to ratings"
    with pytest.raises(
        ConfigurationError, match=r"--to is 'crossant' \(did you mean 'croissant'\?\); it can be .*, own$"
    ):
        check_format("x", "crossant")


def test_the_kind_of_a_source_follows_from_its_name_and_its_folder(monkeypatch, tmp_path):
    monkeypatch.setattr("casewise.api.exporting.kind_of", lambda folder: folder.name)
    for name in ("replies", "grades", "judgements"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").touch()
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "run.json").touch()
    monkeypatch.chdir(tmp_path)
    named = {"demo": "benchmark", "xstest": "benchmark", "s.toml": "study", str(tmp_path): "benchmark"}
    folders = {
        str(tmp_path / name): kind
        for name, kind in (("replies", "replies"), ("grades", "replies"), ("judgements", "run"))
    }
    assert {source: kind_of_source(source) for source in named | folders} == named | folders


# What is shown, and batch jobs.


def test_a_benchmark_or_one_of_its_items_is_shown():
    whole, item = show_benchmark("demo"), show_benchmark("demo", "1")

    assert whole.document.sections[0].heading == "Contents"
    assert whole.as_json() != item.as_json()
    assert item.document.title != whole.document.title


def job_log(folder: Path, *events: dict[str, Any]) -> None:
    folder.mkdir(parents=True)
    lines = [JobEvent.model_validate(event).model_dump_json() + "\n" for event in events]
    (folder / BATCHES).write_text("".join(lines))


def event(job: str, stage: str, hour: int, **facts: Any) -> dict[str, Any]:
    return {"job": job, "stage": stage, "at": datetime(2026, 11, 20, hour, tzinfo=UTC), **facts}


def test_batch_jobs_are_listed_from_the_oldest_and_those_that_ended_on_request(tmp_path):
    sent = {"provider": "openai", "model": "m", "names": ("a", "b"), "cost_at_most_usd": 0.5}
    expires = datetime(2026, 11, 21, 9, tzinfo=UTC)
    out = event("j2", "out", 9, batch="b-2", expires=expires, state="in_progress", words="half", late=("a",))
    job_log(Path("runs/late"), event("j2", "intended", 9, **sent), out, event("j2", "seen", 10, n_done=1))
    job_log(Path("replies/early"), event("j1", "intended", 8, **sent), event("j1", "ended", 10))
    (row,) = batch_jobs()

    assert row == {
        "run": "runs/late",
        "job": "j2",
        "batch": "b-2",
        "provider": "openai",
        "model": "m",
        "stage": "out",
        "state": "in_progress",
        "words": "half",
        "n_requests": 2,
        "n_done": 1,
        "n_late": 1,
        "since": "2026-11-20T09:00:00+00:00",
        "expires": "2026-11-21T09:00:00+00:00",
        "cost_at_most_usd": 0.5,
    }
    early, late = batch_jobs(ended=True)
    assert (early["job"], early["state"], early["words"], early["expires"], late) == ("j1", None, None, None, row)
    assert batch_jobs(["replies"]) == []
    with pytest.raises(DataError, match="there is no such folder"):
        batch_jobs(["nowhere"])
    assert exporting.HERE == ("runs", "replies")


def test_a_run_or_one_item_of_it_is_shown(monkeypatch):
    monkeypatch.setattr("casewise.api.exporting.run_json", lambda *named, benchmark: {"json": (*named, benchmark)})
    monkeypatch.setattr("casewise.api.exporting.run_page", lambda *named, benchmark: ("page", *named, benchmark))
    whole, item = show_run("run"), show_run(RUN, "1", benchmark="moved")

    assert (whole.as_json(), item.as_json()) == ({"json": (RUN, None, None)}, {"json": (RUN, "1", "moved")})
    page: Any = item.document
    assert page == ("page", RUN, "1", "moved")


@pytest.mark.parametrize("highest", [None, "the best judge"])
def test_the_paper_is_recomputed_over_the_benchmark_of_the_runs_or_casebench(monkeypatch, highest):
    asked = list[Any]()
    published = SimpleNamespace(highest=highest, table=1, replays=[SimpleNamespace(as_json=lambda: {"replay": 1})])

    def loaded(name):
        return SimpleNamespace(stated=f"{name}, as stated")

    def paper_numbers(benchmark, *, outputs, runs):
        asked.append((benchmark.stated, outputs, runs))
        return published

    monkeypatch.setattr("casewise.api.exporting.loaded_benchmark", loaded)
    monkeypatch.setattr(
        "casewise.api.exporting.read_runs", lambda _runs, **_options: SimpleNamespace(benchmark=loaded("the runs'"))
    )
    monkeypatch.setattr("casewise.api.exporting.output_files", lambda outputs: ("files", outputs))
    monkeypatch.setattr("casewise.api.exporting.paper_numbers", paper_numbers)
    monkeypatch.setattr("casewise.api.exporting.paper_document", lambda numbers, benchmark: (numbers, benchmark.stated))
    monkeypatch.setattr("casewise.api.exporting.conclusions_json", list)
    alone, over_runs = paper(outputs=Path("outputs")), paper(RUN)
    paper(benchmark="demo")

    assert alone.as_json() == {
        "benchmark": "casebench, as stated",
        "numbers": {"highest": highest, "table": 1, "replays": [{"replay": 1}]},
        "conclusions": [highest] if highest else [],
    }
    assert over_runs.as_json()["benchmark"] == "the runs', as stated"
    assert [where for where, *_ in asked] == ["casebench, as stated", "the runs', as stated", "demo, as stated"]
    assert asked[0][1:] == (("files", Path("outputs")), None)
