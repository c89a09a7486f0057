"""Public benchmarks that casewise knows by name: where each comes from, and how its rows are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from casewise.errors import DataError
from casewise.records import RatingScale
from casewise.records.base import shipped_toml
from casewise.storage.benchmark import Benchmark
from casewise.storage.entries import Entry, json_entries, json_entry, once, text_lines, text_or_json
from casewise.storage.loaders.agents import trajectory_rows
from casewise.storage.loaders.loader import Loader, Rows, SourceFile, build_benchmark, github, recipe, table_entries
from casewise.storage.loaders.twin import TWIN
from casewise.storage.published import read_published
from casewise.storage.words import VerdictWords
from casewise.text import count_of

# CASE-Bench: 450 requests, each with a context meant to be safe and one meant to be unsafe, and the votes of 20 people.


CASEBENCH_REPOSITORY = "BriansIDP/CASEBench"
CASEBENCH_COMMIT = "135f221e0e3e4cdc9a7d17288fa6b54c8aa45d0a"

CASEBENCH_DATA, CASEBENCH_TEMPLATE = github(
    CASEBENCH_REPOSITORY,
    CASEBENCH_COMMIT,
    {
        "data/CASEBench_data.json": "49bc10879c5350061eb1239b4f14f1a756683ca39e7e2abfc85fba70f9faac0c",
        "scripts/template.py": "1b83b0e36a5e0f43c2443983069f58548b76f313d0a1d7624cf1e12ce3353dfe",
    },
)

PROMPTS = replace(CASEBENCH_TEMPLATE, name="prompts.py")
"""The wording that the paper's judges were asked in. It is read, never run: see `casewise.ask.prompts`."""

OUTPUT_CHECKSUMS = shipped_toml("casewise.storage.loaders", "casebench_outputs.toml")

OUTPUTS = tuple(
    replace(file, name=f"outputs/{path}")
    for path, file in zip(
        OUTPUT_CHECKSUMS,
        github(
            CASEBENCH_REPOSITORY, CASEBENCH_COMMIT, {f"exp/{path}": each for path, each in OUTPUT_CHECKSUMS.items()}
        ),
        strict=True,
    )
)
"""The answers of the judges that the paper reports, as its authors published them."""

CASEBENCH = Loader(
    name="casebench",
    title="CASE-Bench (Sun et al., 2025)",
    size="450 requests in 900 contexts, 20 people each",
    judged="request",
    labels_by="people",
    licence="not stated",
    terms=(
        "CASE-Bench (Sun et al., 2025) builds on the queries of SORRY-Bench, whose owners grant access on request and "
        "for research. The texts are harmful by design, and its safe contexts can serve as jailbreak templates. Accept "
        "only if you have the right to use both, will use them to evaluate or improve safety, and will not pass them on."
    ),
    source=f"{CASEBENCH_REPOSITORY} @{CASEBENCH_COMMIT[:7]}",
    files=(CASEBENCH_DATA,),
    load=lambda files: read_published(files[CASEBENCH_DATA.name]),
    extra={"prompts": (PROMPTS,), "outputs": OUTPUTS},
)


# DICES: conversations with a chatbot whose last reply many people rated, with the traits of each person.


DICES_VOTES = {"Yes": "unsafe", "No": "safe", "Unsure": "unsure"}
"""`Q_overall` asks whether the reply is unsafe for any reason."""

DICES_TRAITS = ("gender", "race", "age", "education", "locale")

SPEAKER = re.compile(r"^(USER|LAMDA|A|B):", re.MULTILINE)


@cache
def turns(text: str) -> str | list[dict[str, str]]:
    """Return a conversation before a reply as its turns; the last one to speak is the user. A text of another form stays a
    text.
    """
    marks = list(SPEAKER.finditer(text))
    if not marks or text[: marks[0].start()].strip():
        return text
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    spoken = [(mark[1], text[mark.end() : end].strip()) for mark, end in zip(marks, ends, strict=True)]
    if not all(text_ for _, text_ in spoken):
        return text
    user = spoken[-1][0]
    return [{"role": "user" if speaker == user else "assistant", "text": text_} for speaker, text_ in spoken]


def dices_rows(path: Path) -> Rows:
    for entry in table_entries(path):
        row: dict[str, Any] = {
            "id": entry.name("item_id"),
            "query": entry.text("response"),
            "before": turns(entry.text("context")),
            "annotator": entry.name("rater_id"),
            "vote": entry.word("Q_overall", DICES_VOTES),
        }
        row |= {f"trait.{name}": entry.text(f"rater_{name}") for name in DICES_TRAITS if entry.has(f"rater_{name}")}
        row |= {name: entry.text(name) for name in ("degree_of_harm", "harm_type") if entry.has(name)}
        yield entry, row


# PluriHarms: 150 requests whose harm 100 people rated from 0 to 100, with traits of each person.


PLURIHARMS_TRAITS = {
    "Race_Ethnicity": "race",
    "Gender": "gender",
    "Sexual_Orientation": "sexual_orientation",
    "Age": "age",
    "Political_Affiliation": "politics",
    "Education": "education",
    "Religion_Importance": "religion",
    "Social_Media_Frequency": "social_media",
    "Toxicity_Experience": "toxicity_experience",
    "Income": "income",
}

ACTION = "action_"


def requests(path: Path) -> dict[str, dict[str, Any]]:
    """Return the row of each request, by its index."""
    rows_by_index: dict[str, dict[str, Any]] = {}
    indices: set[str] = set()
    for entry in table_entries(path):
        kinds = {key: entry.number(key) for key in entry.values if key.startswith(ACTION)}
        row = {"id": once(entry, "Question_Index", indices), "query": entry.text("Question_Content")}
        if kinds:
            row["category"] = max(kinds, key=lambda key: kinds[key]).removeprefix(ACTION).replace("_", " ")
        if entry.has("Harm_Level"):
            row["harm_level"] = str(entry.number("Harm_Level"))
        rows_by_index[row["id"]] = row
    return rows_by_index


def pluriharms_rows(annotations: Path, prompts: Path) -> Rows:
    by_index, people = requests(prompts), set[str]()
    for entry in table_entries(annotations):
        person = {"annotator": once(entry, "Participant_ID", people)}
        person |= {f"trait.{name}": entry.text(key) for key, name in PLURIHARMS_TRAITS.items() if entry.has(key)}
        for index, request in by_index.items():
            key = f"Rating_{index}"
            if key not in entry.values:
                entry.refuse(f"{key!r} is not there, and {prompts.name} has a request {index}")
            answer = {"value": entry.number(key)} if entry.has(key) else {"vote": "unsure"}
            yield entry, request | person | answer


# PrivacyLens: actions of an agent, each a violation of privacy by design, with the parameters of Contextual Integrity.


def privacylens_rows(path: Path) -> Rows:
    ids: set[str] = set()
    for entry in json_entries(path):
        seed, story, trajectory = entry.entry("seed"), entry.entry("vignette"), entry.entry("trajectory")
        yield (
            entry,
            {
                "id": once(entry, "name", ids),
                "query": (
                    f"{trajectory.text('final_action')}: {seed.text('transmission_principle')}, with {seed.text('data_type')} of "
                    f"{seed.text('data_subject')}, to {seed.text('data_recipient')}"
                ),
                "before": [{"role": "user", "text": trajectory.text("user_instruction")}],
                "tool_call": {
                    "tool": trajectory.text("final_action"),
                    "recipient": seed.text("data_recipient"),
                    "subject": seed.text("data_subject"),
                    "information": seed.text("data_type"),
                },
                "context": {
                    "sender": {"role": seed.text("data_sender"), "name": seed.text("data_sender_name")},
                    "recipient": {"role": seed.text("data_recipient")},
                    "transmission_principle": {
                        "channel": seed.text("transmission_principle"),
                        "circumstances": story.text("story"),
                    },
                    "subject": seed.text("data_subject"),
                    "information_type": seed.text("data_type"),
                },
                "category": seed.text("source"),
                "label": "unsafe",
            },
        )


# ConfAIde, tier 2: flows of information, and the mean of people's answers on whether a flow meets their expectations.


def scenario(entry: Entry) -> str:
    """Return a line without the question before it, which ends in an escaped line break."""
    question, mark, story = entry.text("line").partition("\\n")
    if not mark or not story.strip():
        entry.refuse(f"holds no scenario after {question[:40]!r} and an escaped line break (\\n)")
    return story.strip()


FLOW = re.compile(
    r"Information about (?P<subject>.+?) is collected by (?P<recipient>.+?) in order to (?P<purpose>.+?)\.?"
)
"""The sentence of a flow of tier 2a: what flows, to whom, and what for."""


def flow_of(text: str) -> dict[str, Any] | None:
    """Return the parameters of Contextual Integrity that a flow states; None of one in another form."""
    match = FLOW.fullmatch(text)
    return match and {
        "information_type": match["subject"],
        "recipient": {"role": match["recipient"]},
        "transmission_principle": {"purpose": match["purpose"]},
    }


def confaide_rows(tier_2a: Path, tier_2b: Path, labels: Path) -> Rows:
    means = [entry.number("line") for entry in text_lines(labels)]
    for tier, path in (("2a", tier_2a), ("2b", tier_2b)):
        lines = text_lines(path)
        if len(lines) != len(means):
            raise DataError(path, None, f"has {count_of(len(lines), 'line')}, and {labels.name} has {len(means)}")
        for entry, mean in zip(lines, means, strict=True):
            row = {"id": f"{tier}-{entry.line}", "cluster": str(entry.line), "category": f"tier {tier}", "mean": mean}
            told = scenario(entry)
            yield entry, row | {"query": told, "context": flow_of(told)}


# OpenSafeIntent: tasks, each asked with a benign, a dual-use and a malicious intent.


OPENSAFEINTENT_PROMPTS = {"prompt_benign": "safe", "prompt_dual_use": "unsure", "prompt_malicious": "unsafe"}

PARAPHRASES = ("prompt_dual_use_2", "prompt_dual_use_3", "prompt_dual_use_4", "prompt_dual_use_5")


def opensafeintent_rows(path: Path) -> Rows:
    for task, entry in enumerate(json_entries(path), 1):
        shared = {
            "category": entry.text("harm_domain"),
            "cluster": str(task),
            "task_type": entry.text("task_type"),
            "task": entry.text("underlying_task"),
        }
        for key, vote in (OPENSAFEINTENT_PROMPTS | {key: "unsure" for key in PARAPHRASES if entry.has(key)}).items():
            intent = key.removeprefix("prompt_")
            yield entry, shared | {"id": f"{task}-{intent}", "query": entry.text(key), "vote": vote, "intent": intent}


# SafePyramid: conversations with policies of numbered rules, and the set of rules that each conversation violates.


MOST_RULES = 10_000

LEVEL = re.compile(r"-l\d+$", re.IGNORECASE)


def rules_of(entry: Entry) -> dict[int, dict[str, Any]]:
    """Return the rules of a case by number: their text, their kind, the rules that they go together with."""
    rubric, rules = entry.entry("rubric"), dict[int, dict[str, Any]]()
    for part in ("violations", "non_violations"):
        for rule in rubric.entries(part):
            number = rule.whole_in(rule.value("rule"), "rule", 1, MOST_RULES)
            if number in rules:
                rule.refuse(f"rule {number} stands twice in the rubric")
            paired = rule.list("paired_with") if rule.has("paired_with") else []
            paired = [rule.whole_in(partner, "paired_with", 1, MOST_RULES) for partner in paired]
            rules[number] = {"text": rule.text("text"), "type": rule.text("type"), "paired": paired}
    if not rules:
        rubric.refuse("has no rules")
    return rules


def safepyramid_rows(path: Path) -> Rows:
    """Return a row a case and rule."""
    ids: set[str] = set()
    for entry in json_entry(path).entries("data"):
        case, rules = once(entry, "id", ids), rules_of(entry)
        violated = {
            entry.whole_in(partner, "ground_truth_violations", 1, MOST_RULES)
            for partner in entry.list("ground_truth_violations")
        }
        if strange := violated - set(rules):
            entry.refuse(f"'ground_truth_violations' names rule {min(strange)}, which the rubric does not have")
        for number, rule in sorted(rules.items()):
            policy = {"rule": f"{number}. {rule['text']}"}
            if partners := [f"{partner}. {rules[partner]['text']}" for partner in rule["paired"] if partner in rules]:
                policy["other_rules"] = "\n".join(partners)
            if entry.has("framework"):
                policy["framework"] = entry.text("framework")
            yield (
                entry,
                {
                    "id": f"{case}#{number}",
                    "query": entry.text("conversation"),
                    "context": {"policy": policy},
                    "category": entry.text("level"),
                    "cluster": LEVEL.sub("", case),
                    "label": "unsafe" if number in violated else "safe",
                    "case": case,
                    "rule": number,
                    "rule_type": rule["type"],
                    "domain": entry.text("domain"),
                },
            )


# XSTest: requests that sound unsafe and are safe, and contrasts to them that are unsafe.


CONTRAST = "contrast_"

FAMILIES = {
    "nons_group_real_discr": "discr",
    "real_group_nons_discr": "discr",
    "privacy_public": "privacy",
    "privacy_fictional": "privacy",
}
"""Types of safe requests whose contrasts have a name of their own."""


def xstest_rows(path: Path) -> Rows:
    ids: set[str] = set()
    for entry in table_entries(path):
        kind = entry.text("type")
        by_type = "unsafe" if kind.startswith(CONTRAST) else "safe"
        label = entry.word("label", {"safe": "safe", "unsafe": "unsafe"}) if entry.has("label") else by_type
        row = {"id": once(entry, "id", ids), "query": entry.text("prompt"), "category": kind, "label": label}
        if entry.has("focus"):
            family = FAMILIES.get(kind, kind.removeprefix(CONTRAST))
            row |= {"cluster": f"{family}: {entry.text('focus')}", "focus": entry.text("focus")}
        yield entry, row


# PrivaCI-Bench: court cases and made-up ones under laws of privacy, with the parameters of Contextual Integrity.


def privaci_parties(entry: Entry) -> dict[str, Any]:
    """Return the parameters of Contextual Integrity that a case states."""
    stated: dict[str, Any] = {}
    for party in ("sender", "recipient", "subject"):
        parts = {"name": entry.values.get(party), "role": entry.values.get(f"{party}_role")}
        if parts := {name: part for name, part in parts.items() if part}:
            stated[party] = "; ".join(map(text_or_json, parts.values())) if party == "subject" else parts
    if entry.has("information_type"):
        stated["information_type"] = entry.value("information_type")
    terms = {"consent": entry.values.get("consent_form"), "purpose": entry.values.get("purpose")}
    if terms := {name: term for name, term in terms.items() if term}:
        stated["transmission_principle"] = terms
    return stated


NORMS = VerdictWords(also_known=(("positive", "safe"), ("negative", "unsafe")))
"""Words for a norm; its code takes positive for permit, and negative for prohibit."""


def privaci_rows(path: Path) -> Rows:
    for entry in table_entries(path):
        norm = entry.text("norm_type")
        reading = NORMS.read(norm, "norm_type")
        if reading is None:
            entry.refuse(f"'norm_type' is {norm!r}; it is permit, prohibit or not applicable")
        if reading.vote == "not applicable":
            continue
        row = {
            "query": entry.text("case_content").strip(),
            "context": privaci_parties(entry) or None,
            "label": reading.vote,
        }
        row |= {
            name: text_or_json(entry.values[name])
            for name in ("followed_articles", "violated_articles")
            if entry.has(name)
        }
        yield entry, row


# JUDGE-BENCH: sets of people's and experts' judgements in one JSON shape, of which one metric is read.


JUDGEBENCH_REPOSITORY, JUDGEBENCH_COMMIT, PREFIX = "dmg-illc/JUDGE-BENCH", "5a0bf50", "judgebench_"
JUDGEBENCH_SCORES = "individual_human_scores"

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
    """Return the scale of a graded or continuous metric: from its worst to its best, cut in the middle."""
    low, high = sorted((worst := metric.number("worst"), best := metric.number("best")))
    if low == high:
        metric.refuse(f"'worst' and 'best' are both {low:g}")
    return RatingScale(low=low, high=high, cut=(low + high) / 2, safe="above" if best > worst else "below")


def text_of(entry: Entry) -> dict[str, Any]:
    """Return the query of an instance: a text, or an object with what came before and perhaps a response."""
    if isinstance(entry.value("instance"), str):
        return {"query": entry.text("instance")}
    parts = entry.entry("instance")
    texts = (
        text_or_json(value).replace("\\n", "\n").strip() for key, value in parts.values.items() if key != "response"
    )
    before = "\n".join(texts)
    reply = {"judged": "reply", "before": before or None}
    return {"query": parts.text("response"), **reply} if parts.has("response") else {"query": before}


def judgebench_rows(whole: Entry, metric: str, words: Mapping[str, str], scale: RatingScale | None) -> Rows:
    ids = set[str]()
    for entry in whole.entries("instances"):
        row, answers = {"id": once(entry, "id", ids)} | text_of(entry), entry.entry("annotations").entry(metric)
        scores = answers.list(JUDGEBENCH_SCORES)
        if scale and scores:
            row["votes"] = [answers.number_in(score, JUDGEBENCH_SCORES, scale.low, scale.high) for score in scores]
        elif scale:
            row["mean"] = answers.number("mean_human", scale.low, scale.high)
        else:
            labels = map(text_or_json, scores or [answers.value("majority_human")])
            row["votes"] = [answers.word_in(label, JUDGEBENCH_SCORES, words) for label in labels]
        yield entry, row


def load_judgebench(name: str, metric_name: str, files: Mapping[str, Path]) -> Benchmark:
    whole = json_entry(*files.values())
    metrics = {metric.text("metric"): metric for metric in whole.entries("annotations")}
    if (metric := metrics.get(metric_name or "".join(metrics))) is None:
        example = f"{name.partition(':')[0]}:METRIC: {', '.join(metrics)}"
        whole.refuse(f"name one of its metrics after a colon, as in {example}")
    graded = metric.word("category", {"graded": True, "continuous": True, "categorical": False})
    scale, words = (scale_of(metric), {}) if graded else (None, meaning(metric))
    meanings = ", ".join(f"{label} means {vote}" for label, vote in words.items())
    cut_words = f"the verdict changes at {scale.cut:g}, the middle of its scale" if scale else meanings
    experts = str(whole.values.get("expert_annotator", "false")).lower() == "true"
    remark = f"The metric is {metric.text('metric')}: {cut_words}."
    loader = replace(judgebench(name), labels_by="experts" if experts else "people", remark=remark)
    return build_benchmark(
        loader, whole.path, judgebench_rows(whole, metric.text("metric"), words, scale), scale=scale, repeats="keep"
    )


def judgebench(name: str) -> Loader:
    """Return the loader of one set; `SET:METRIC` names a metric of a set with several."""
    of_set, _, metric = name.removeprefix(PREFIX).partition(":")
    facts = judgebench_sets().get(of_set, {"licence": "as its authors say"})
    path, sha256 = facts.get("path"), facts.get("sha256")
    return Loader(
        name=name,
        title=f"JUDGE-BENCH, {of_set} (Bavaresco et al., 2025)",
        size=facts.get("size", "as its file says"),
        judged="reply" if of_set.startswith("dices") else "request",
        labels_by=facts.get("labels_by"),
        licence=facts["licence"],
        terms="Its sets keep the licences of their own authors. Some texts are offensive or unsafe.",
        source=f"{JUDGEBENCH_REPOSITORY} @{JUDGEBENCH_COMMIT}",
        files=github(JUDGEBENCH_REPOSITORY, JUDGEBENCH_COMMIT, {f"data/{path}": sha256})
        if path
        else (SourceFile(f"{of_set}.json"),),
        load=partial(load_judgebench, name, metric),
        metrics=() if metric else tuple(facts.get("metrics", ())),
    )


@cache
def judgebench_sets() -> dict[str, dict[str, Any]]:
    return shipped_toml("casewise.storage.loaders", "judgebench.toml")


# The sets of `sets.toml`, each with the function that reads its rows.


ROWS: dict[str, Callable[..., Rows]] = {
    "dices_350": dices_rows,
    "dices_990": dices_rows,
    "pluriharms": pluriharms_rows,
    "privacylens": privacylens_rows,
    "confaide": confaide_rows,
    "opensafeintent": opensafeintent_rows,
    "safepyramid": safepyramid_rows,
    "xstest": xstest_rows,
    "privaci_gdpr": privaci_rows,
    "privaci_hipaa": privaci_rows,
    "privaci_ai_act": privaci_rows,
    "privaci_aclu": privaci_rows,
    "atbench": trajectory_rows,
    "r_judge": trajectory_rows,
}


@cache
def own_loaders() -> Mapping[str, Loader]:
    """Return the loaders of casewise itself, by name."""
    recipes = shipped_toml("casewise.storage.loaders", "sets.toml")
    of_recipes = (recipe(name, recipes[name], rows) for name, rows in ROWS.items())
    sets = (judgebench(f"{PREFIX}{name}") for name, facts in judgebench_sets().items() if facts.get("listed"))
    return {loader.name: loader for loader in (CASEBENCH, TWIN, *of_recipes, *sets)}
