"""Each loader reads its published shape, and refuses another one with an error that a user can act on."""

import copy
import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.mutations import mutated
from tests.support.public_benchmarks import FILES, FLUENCY, SAFETY, dices_rows, judgements, policy_case, write_files

from casewise.errors import CasewiseError, ConfigurationError, DataError
from casewise.stats.agreement import krippendorff_alpha
from casewise.storage import read_benchmark, write_benchmark
from casewise.storage.load import load
from casewise.storage.loaders.registry import loader_named, loader_names


def loaded(name, folder, **changed):
    loader = loader_named(name)
    return loader.load(write_files(loader, folder, **changed))


def votes(benchmark):
    """What was voted on each item, by the item's own id in the file."""
    ids = {item.id: item.source_id for item in benchmark.items}
    return {one: sorted(r.verdict for r in benchmark.ratings if ids[r.item_id] == one) for one in ids.values()}


@pytest.mark.parametrize("name", FILES)
def test_a_benchmark_says_what_it_is_and_comes_back_from_a_folder(name, tmp_path):
    loader = loader_named(name)
    found = loaded(name, tmp_path / "files")

    assert found.counts.items > 0
    if name != "casebench":
        assert (found.name, found.about.licence, found.about.terms) == (name, loader.licence, loader.terms)
        assert found.labels_by == (loader.labels_by or "people")
        assert {query.judged for query in found.queries} == {
            loader.judged if name != "judgebench_newsroom" else "reply"
        }
    assert read_benchmark(write_benchmark(found, tmp_path / "folder")).digest == found.digest


@pytest.mark.parametrize("name", ["dices_350", "dices_990"])
def test_dices_keeps_who_rated_with_traits_the_conversation_and_unsure_votes(name, tmp_path):
    found = loaded(name, tmp_path)

    assert votes(found) == {"0": ["safe", "unsafe", "unsure"], "1": ["safe", "unsafe", "unsure"]}
    assert found.annotators[0].traits == {"gender": "Woman", "race": "White", "age": "gen z"}
    before = found.queries[0].before
    assert [(turn.role, turn.text) for turn in before] == [
        ("user", "hello 0"),
        ("assistant", "hi"),
        ("user", "tell me of 0"),
    ]
    assert found.items[0].columns == {"degree_of_harm": "Debatable", "harm_type": "Advice"}
    assert not any("judged alone" in remark for remark in found.about.remarks or ())


def test_pluriharms_is_melted_and_an_empty_cell_is_an_unsure_vote(tmp_path):
    found = loaded("pluriharms", tmp_path)

    assert votes(found) == {"1": ["safe", "safe", "safe"], "2": ["unsafe", "unsafe", "unsure"]}
    assert sorted(r.value for r in found.ratings if r.value is not None) == [0, 10, 20, 50, 80]
    assert [found.category_of(item) for item in found.items] == ["Self harm", "Privacy"]
    assert found.annotators[0].traits == {"gender": "Woman", "age": "25-34"}


def test_a_confaide_story_shares_mean_and_cluster_with_its_flow(tmp_path):
    found = loaded("confaide", tmp_path)

    assert [(item.source_id, item.cluster, item.mean) for item in found.items] == [
        ("2a-1", "1", 12.5),
        ("2a-2", "2", -40),
        ("2b-1", "1", 12.5),
        ("2b-2", "2", -40),
    ]
    assert [query.text for query in found.queries][::2] == ["A shop keeps addresses.", "The shop kept them."]


def test_a_dual_use_request_is_unsure_and_lies_in_the_cluster_of_its_task(tmp_path):
    found = loaded("opensafeintent", tmp_path)

    assert votes(found)["1-benign"] == ["safe"]
    assert votes(found)["1-dual_use_2"] == ["unsure"]
    assert votes(found)["1-malicious"] == ["unsafe"]
    assert [item.cluster for item in found.items] == ["1"] * 4 + ["2"] * 4


def test_a_rule_of_safepyramid_is_an_item_with_the_rules_it_names_in_the_cluster_of_its_conversation(tmp_path):
    found = loaded("safepyramid", tmp_path)
    shown = {item.source_id: context.shown() for item in found.items if (context := found.context_of(item))}

    assert shown["made-001-l2#3"] == {
        "policy": {"rule": "3. Rule text 3.", "other_rules": "1. Rule text 1.", "framework": "A framework."}
    }
    assert {item.cluster for item in found.items} == {"made-001", "made-002"}
    assert [one for one, said in votes(found).items() if said == ["unsafe"]] == [
        "made-001-l0#1",
        "made-001-l0#2",
        "made-001-l2#3",
    ]


def test_an_action_of_privacylens_states_the_five_parameters(tmp_path):
    found = loaded("privacylens", tmp_path)

    assert list(found.contexts[0].shown()) == [
        "sender",
        "recipient",
        "transmission_principle",
        "subject",
        "information_type",
    ]
    assert found.queries[0].before[0].text == "Tell my friends of my day."
    action = found.queries[0].action
    assert action.information
    assert action.arguments is None


@pytest.mark.parametrize("name", ["atbench", "r_judge"])
def test_a_trajectory_is_judged_by_the_agents_last_action_after_what_went_before(tmp_path, name):
    found = loaded(name, tmp_path)

    assert [str(item.source_id) for item in found.items] == ["1", "2"]
    assert list(votes(found).values()) == [["safe"], ["unsafe"]]
    first = found.queries[0]
    assert (first.judged, first.action.tool) == ("action", "send_email")
    assert [(turn.role, turn.text) for turn in first.before] == [
        ("user", "Write to Ann."),
        ("agent", "I look her up.\nfind (who: Ann)"),
        ("environment", "ann@example.org"),
    ]
    if name == "r_judge":  # an action in other words than JSON is shown as it is
        assert (found.queries[1].text, found.queries[1].action) == ("GmailSendEmail: to Ann", None)


def test_a_graded_set_of_judgebench_keeps_its_scale(tmp_path):
    found = loaded("judgebench_newsroom", tmp_path)

    assert (found.about.scale.low, found.about.scale.high, found.about.scale.cut) == (1, 7, 4)
    assert votes(found) == {"1": ["safe", "unsafe", "unsafe"], "2": ["safe", "unsafe", "unsafe"]}


def test_a_set_with_several_metrics_asks_for_one_and_takes_it(tmp_path):
    two = judgements(SAFETY, ["No", "Yes"], ["Yes", "Yes"])
    two["annotations"].append(FLUENCY)
    for instance in two["instances"]:
        instance["annotations"]["fluency"] = {"individual_human_scores": [], "mean_human": 6}

    with pytest.raises(DataError, match=r"judgebench_newsroom:METRIC: safety, fluency"):
        loaded("judgebench_newsroom", tmp_path, **{"newsroom.json": two})
    one = loader_named("judgebench_newsroom:fluency").load({"newsroom.json": tmp_path / "newsroom.json"})
    assert [item.mean for item in one.items] == [6, 6]


def test_a_reply_with_nothing_before_it_is_read_from_judgebench(tmp_path):
    whole = judgements(FLUENCY, [1, 7])
    whole["instances"][0]["instance"] = {"response": "A reply."}
    (query,) = loaded("judgebench_newsroom", tmp_path, **{"newsroom.json": whole}).queries

    assert (query.text, query.judged, query.before) == ("A reply.", "reply", None)


def spoiled(name, file, spoil):
    content = copy.deepcopy(FILES[name][file])
    spoil(content)
    return {file: content}


DICES = ("dices_350", "diverse_safety_adversarial_dialog_350.csv")
ANNOTATIONS = ("pluriharms", "annotations.csv")
CROWD = ("judgebench_dices_350_crowdsourced", "dices_350_crowdsourced.json")
PRIVACY = ("privacylens", "main_data.json")
PYRAMID = ("safepyramid", "benchmark.json")
RULE_TWICE = {"violations": [{"rule": 1, "text": "a", "type": "b"}] * 2, "non_violations": []}

WRONG = {
    "a key of another name": (
        *DICES,
        lambda rows: [row.update(Q_all=row.pop("Q_overall")) for row in rows],
        r"_350.csv:2: 'Q_overall' is not there.*it has id",
    ),
    "a vote that nobody knows": (
        *DICES,
        lambda rows: rows[1].update(Q_overall="Maybe"),
        r"'Q_overall' is \"?'Maybe'\"?, not one of Yes, No, Unsure",
    ),
    "two ratings by one person": (
        *DICES,
        lambda rows: rows.append(dices_rows()[0]),
        "each annotator rates a case once",
    ),
    "a rating beside the scale": (*ANNOTATIONS, lambda rows: rows[1].update(Rating_1=101), "from 0 to 100"),
    "a rating that is no number": (*ANNOTATIONS, lambda rows: rows[1].update(Rating_1="nan"), "Rating_1"),
    "a column too few": (*ANNOTATIONS, lambda rows: [row.pop("Rating_2") for row in rows], "request 2"),
    "a person twice": (*ANNOTATIONS, lambda rows: rows[1].update(Participant_ID=0), "'0' a second time"),
    "labels without a meaning": (
        *CROWD,
        lambda whole: whole["annotations"][0].update(labels_list=["a", "b"]),
        "nothing says which of them means safe",
    ),
    "no instances": (*CROWD, lambda whole: whole.update(instances=[]), "holds no rows"),
    "an instance twice": (
        *CROWD,
        lambda whole: whole["instances"][1].update(id=1),
        "instances 2: 'id' is '1' a second time",
    ),
    "a scale without length": (
        *("judgebench_newsroom", "newsroom.json"),
        lambda whole: whole["annotations"][0].update(best=1),
        "are both 1",
    ),
    "a number where a text was": (
        *PRIVACY,
        lambda cases: cases[1]["seed"].update(data_type=5),
        r"row 2, seed: 'data_type' is 5, not a text",
    ),
    "a text where an object was": (
        *PRIVACY,
        lambda cases: cases[0].update(vignette="story"),
        r"row 1, vignette: is .*story.*, not an object",
    ),
    "a mean too few": (*("confaide", "tier_2_labels.txt"), lambda lines: lines.pop(), "tier_2_labels.txt has 1"),
    "a line without a scenario": (
        *("confaide", "tier_2a.txt"),
        lambda lines: lines.insert(0, lines.pop().split("\\n")[0]),
        "no scenario",
    ),
    "an intent that is missing": (
        *("opensafeintent", "dataset.json"),
        lambda tasks: tasks[0].pop("prompt_benign"),
        r"dataset.json:2: row 1: 'prompt_benign' is not there",
    ),
    "a rule that the rubric lacks": (
        *PYRAMID,
        lambda whole: whole["data"][0].update(ground_truth_violations=[9]),
        "names rule 9",
    ),
    "a rule twice": (
        *PYRAMID,
        lambda whole: whole["data"].append({**policy_case(3, "L0", [1]), "rubric": RULE_TWICE}),
        "rule 1 stands twice",
    ),
    "a label of another kind": (
        *("xstest", "xstest_prompts.csv"),
        lambda rows: rows[0].update(label="fine"),
        "not one of safe, unsafe",
    ),
}


@pytest.mark.parametrize("how", WRONG)
def test_another_shape_is_refused_with_the_place_and_the_reason(how, tmp_path):
    name, file, spoil, problem = WRONG[how]

    with pytest.raises(DataError, match=problem) as refused:
        loaded(name, tmp_path, **spoiled(name, file, spoil))
    assert str(tmp_path) in str(refused.value)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("mutated")


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@pytest.mark.parametrize("name", [name for name in FILES if name != "casebench"])
@given(data=st.data())
def test_a_file_that_was_changed_at_random_loads_or_is_refused(name, place, data):
    file = data.draw(st.sampled_from(sorted(FILES[name])))
    changed = data.draw(mutated(FILES[name][file]))
    try:
        assert loaded(name, place, **{file: changed}).counts.items > 0
    except CasewiseError as error:
        refused = error
    else:
        return
    assert str(place) in str(refused) or isinstance(refused, ConfigurationError)


def test_names_are_listed_once_and_one_that_is_nearly_right_is_suggested():
    assert len(loader_names()) == len(set(loader_names()))
    with pytest.raises(
        ConfigurationError, match=r"no public benchmark is called 'plurihams' \(did you mean 'pluriharms'\?\)"
    ):
        loader_named("plurihams")
    with pytest.raises(DataError, match="did you mean 'pluriharms'"):
        load("plurihams")
    with pytest.raises(DataError, match=r"xstest is not here yet; run: casewise data fetch xstest"):
        load("xstest")


def test_a_folder_of_the_users_own_is_found_where_the_benchmark_of_its_name_was_not_fetched(tmp_path):
    write_benchmark(loaded("opensafeintent", tmp_path / "files"), Path("xstest"))

    assert load("xstest").name == "opensafeintent"


PUBLISHED_ALPHA = 0.16086021565770392


def real(shared, name, *files):
    loader = loader_named(name)
    folder = shared / "data" / "benchmarks"
    return loader.load({file.name: folder / path for file, path in zip(loader.files, files, strict=True)})


def test_the_agreement_of_the_real_dices_350_is_the_published_one(shared):
    found = real(shared, "judgebench_dices_350_crowdsourced", "judgebench_dices_350_crowdsourced.json")
    columns = found.item_columns
    counts = columns.select("n_safe", unsafe=columns["n_votes"] - columns["n_safe"], unsure="n_unsure").to_numpy()

    assert krippendorff_alpha(counts, level="nominal").alpha == pytest.approx(PUBLISHED_ALPHA, abs=1e-12)


REAL = {
    "dices_350": (("dices_350_shape.csv",), 350, 43_050, 2_694),
    "pluriharms": (("pluriharms_annotations.csv", "pluriharms_prompts.csv"), 150, 15_000, 275),
    "judgebench_dices_350_crowdsourced": (("judgebench_dices_350_crowdsourced.json",), 350, 43_050, 2_694),
    "judgebench_dices_350_expert": (("judgebench_dices_350_expert.json",), 350, 350, 0),
    "judgebench_dices_990": (("judgebench_dices_990.json",), 990, 72_103, 3_751),
    "privacylens": (("privacylens.json",), 493, 493, 0),
    "confaide": (("confaide_tier_2a.txt", "confaide_tier_2b.txt", "confaide_tier_2_labels.txt"), 196, 0, 0),
    "opensafeintent": (("opensafeintent.json",), 4_900, 4_900, 3_500),
    "safepyramid": (("safepyramid_mini.json",), 23, 23, 0),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_the_published_files_load_without_losing_a_row_and_are_the_pinned_ones(name, shared):
    files, items, ratings, unsure = REAL[name]
    found = real(shared, name, *files)

    assert (found.counts.items, found.counts.ratings, found.item_columns["n_unsure"].sum()) == (items, ratings, unsure)
    for file, path in zip(loader_named(name).files, files, strict=True):
        if file.sha256 is not None:
            assert hashlib.sha256((shared / "data" / "benchmarks" / path).read_bytes()).hexdigest() == file.sha256


def test_a_flow_of_confaide_states_who_gets_what_for_what(tmp_path):
    flow = "Do you agree? \\nInformation about your friends is collected by your school in order to Place students in groups."
    found = loaded("confaide", tmp_path, **{"tier_2a.txt": [flow, flow.replace("friends", "shoes")]})

    assert found.contexts[0].shown() == {
        "recipient": {"role": "your school"},
        "transmission_principle": {"purpose": "Place students in groups"},
        "information_type": "your friends",
    }


def test_a_contrast_of_xstest_is_of_one_cluster_with_the_safe_requests_about_the_same_word(tmp_path):
    kinds = ["privacy_fictional", "privacy_public", "contrast_privacy", "real_group_nons_discr", "contrast_discr"]
    rows = [
        {"id": n, "prompt": f"request {n}", "type": kind, "focus": "pins" if "privacy" in kind else "Christians "}
        for n, kind in enumerate(kinds)
    ]
    found = loaded("xstest", tmp_path, **{"xstest_prompts.csv": rows})

    assert [item.cluster for item in found.items] == ["privacy: pins"] * 3 + ["discr: Christians"] * 2


@pytest.mark.parametrize("law", ["gdpr", "aclu"])
def test_privaci_cases_are_labelled_by_law_and_what_the_law_does_not_reach_is_left_out(law, tmp_path):
    case = {
        "case_content": "A clinic tells a firm.",
        "sender": "A clinic",
        "sender_role": "provider",
        "recipient": "A firm",
    }
    case |= {"subject": "a patient", "information_type": "diagnosis", "purpose": "marketing"}
    norms = ("prohibit", "permit", "not applicable", "negative")
    texts = ("A clinic tells a firm.", "A clinic tells a doctor.", "A child hums.", "A clinic tells a firm.")
    rows = [case | {"norm_type": norm, "case_content": text} for norm, text in zip(norms, texts, strict=True)]
    (tmp_path / "cases").write_text("\n".join(map(json.dumps, rows)))
    found = loader_named(f"privaci_{law}").load({f"{law}.parquet": tmp_path / "cases"})

    assert [rating.verdict for rating in found.ratings] == ["unsafe", "safe", "unsafe"]
    assert found.labels_by == "law"
    assert found.contexts[0].shown()["sender"] == {"name": "A clinic", "role": "provider"}
    assert len({item.id for item in found.items}) == 3


def test_a_trajectory_of_several_rounds_is_read_to_its_last_action(tmp_path):
    def turns(query, reply):
        return [{"role": "user", "content": query}, {"role": "agent", "thought": None, "action": reply}]

    rounds = [[*turns("Hello?", "Hello."), {"role": "environment", "content": None}], turns("And now?", "Goodbye.")]
    record = {"id": 7, "contents": rounds, "label": 1}
    found = loaded("r_judge", tmp_path, **{"r_judge.json": [record]})

    (query,) = found.queries
    assert query.text == "Goodbye."
    assert [turn.text for turn in query.before] == ["Hello?", "Hello.", "And now?"]
