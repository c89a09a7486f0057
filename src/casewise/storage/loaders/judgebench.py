"""JUDGE-BENCH: sets of people's and experts' judgements in one JSON shape, of which one metric is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from casewise.records import RatingScale
from casewise.records.base import shipped_toml
from casewise.storage.benchmark import Benchmark
from casewise.storage.entries import Entry, json_entry, once, text_or_json
from casewise.storage.loaders.loader import Loader, SourceFile, built, github

REPOSITORY, COMMIT, PREFIX = "dmg-illc/JUDGE-BENCH", "5a0bf50", "judgebench_"
SCORES = "individual_human_scores"

YES_NO = {"yes": "safe", "no": "unsafe", "unsure": "unsure"}
"""In sets of yes and no the question asks whether the text is safe, sound or well formed."""


def meaning(metric: Entry) -> dict[str, str]:
    """Return the verdict that each label of a categorical metric means."""
    labels = [text_or_json(label) for label in metric.list("labels_list")]
    if metric.has("best") and metric.has("worst"):
        return {text_or_json(metric.value("best")): "safe", text_or_json(metric.value("worst")): "unsafe"}
    if not labels or not {label.lower() for label in labels} <= set(YES_NO):
        metric.refuse(f"its labels are {', '.join(labels) or 'not stated'}, and nothing says which of them means safe")
    return {label: YES_NO[label.lower()] for label in labels}


def scale_of(metric: Entry) -> RatingScale:
    """The scale of a graded or continuous metric: from its worst to its best, cut in the middle."""
    low, high = sorted((worst := metric.number("worst"), best := metric.number("best")))
    if low == high:
        metric.refuse(f"'worst' and 'best' are both {low:g}")
    return RatingScale(low=low, high=high, cut=(low + high) / 2, safe="above" if best > worst else "below")


def text_of(entry: Entry) -> dict[str, Any]:
    """An instance is a text, or an object with what came before and perhaps a response."""
    if isinstance(entry.value("instance"), str):
        return {"query": entry.text("instance")}
    parts = entry.entry("instance")
    texts = (
        text_or_json(value).replace("\\n", "\n").strip() for key, value in parts.values.items() if key != "response"
    )
    before = "\n".join(texts)
    reply = {"judged": "reply", "before": before or None}
    return {"query": parts.text("response"), **reply} if parts.has("response") else {"query": before}


def rows(
    whole: Entry, metric: str, words: Mapping[str, str], scale: RatingScale | None
) -> Iterator[tuple[Entry, dict[str, Any]]]:
    ids = set[str]()
    for entry in whole.entries("instances"):
        row, answers = {"id": once(entry, "id", ids)} | text_of(entry), entry.entry("annotations").entry(metric)
        scores = answers.list(SCORES)
        if scale and scores:
            row["votes"] = [answers.number_in(score, SCORES, scale.low, scale.high) for score in scores]
        elif scale:
            row["mean"] = answers.number("mean_human", scale.low, scale.high)
        else:
            labels = map(text_or_json, scores or [answers.value("majority_human")])
            row["votes"] = [answers.word_in(label, SCORES, words) for label in labels]
        yield entry, row


def load(name: str, metric_name: str, files: Mapping[str, Path]) -> Benchmark:
    (path,) = files.values()
    whole = json_entry(path)
    metrics = {metric.text("metric"): metric for metric in whole.entries("annotations")}
    if (metric := metrics.get(metric_name or "".join(metrics))) is None:
        example = f"{name.partition(':')[0]}:METRIC: {', '.join(metrics)}"
        whole.refuse(f"name one of its metrics after a colon, as in {example}")
    graded = metric.word("category", {"graded": True, "continuous": True, "categorical": False})
    scale, words = (scale_of(metric), {}) if graded else (None, meaning(metric))
    meanings = ", ".join(f"{label} means {vote}" for label, vote in words.items())
    how = f"the verdict changes at {scale.cut:g}, the middle of its scale" if scale else meanings
    experts = str(whole.values.get("expert_annotator", "false")).lower() == "true"
    remark = f"The metric is {metric.text('metric')}: {how}."
    loader = replace(judgebench(name), labels_by="experts" if experts else "people", remark=remark)
    return built(loader, path, rows(whole, metric.text("metric"), words, scale), scale=scale)


def judgebench(name: str) -> Loader:
    """The loader of one set; `SET:METRIC` names a metric of a set with several."""
    of_set, _, metric = name.removeprefix(PREFIX).partition(":")
    facts = judgebench_sets().get(of_set, {"licence": "as its authors say"})
    path, sha256 = facts.get("path"), facts.get("sha256")
    return Loader(
        name=name,
        title=f"JUDGE-BENCH, {of_set} (Bavaresco et al., 2025)",
        size=facts.get("size", "as its file says"),
        judged="reply" if of_set.startswith("dices") else "request",
        labels_by=None,
        licence=facts["licence"],
        terms="Its sets keep the licences of their own authors. Some texts are offensive or unsafe.",
        source=f"{REPOSITORY} @{COMMIT}",
        files=github(REPOSITORY, COMMIT, {f"data/{path}": sha256}) if path else (SourceFile(f"{of_set}.json"),),
        load=partial(load, name, metric),
    )


@cache
def judgebench_sets() -> dict[str, dict[str, str]]:
    return shipped_toml("casewise.storage.loaders", "judgebench.toml")
