"""The room to look around in: what its pages say, whom it answers, and what it keeps."""

import re
import stat
from html import unescape

import pytest
from starlette.testclient import TestClient

from casewise import api
from casewise.evaluate.viewing import ItemFilter, select_items, view
from casewise.models.protocol import FakeModel
from casewise.storage.run_folder import ITEM_NOTES
from casewise.web.viewing import Links, ViewState, create_view, list_values, write_view

PORT = 8109
HERE = f"http://127.0.0.1:{PORT}"


@pytest.fixture
def runs(tmp_path):
    return [api.judge("demo", name, out=tmp_path / name.replace(":", "-")).path for name in ("linear", "constant:safe")]


@pytest.fixture
def viewed(runs):
    return view(*runs)


@pytest.fixture
def client(viewed):
    return TestClient(create_view(viewed, port=PORT), base_url=HERE, follow_redirects=False)


def rows(page):
    return [int(number) for number in re.findall(r'class="row-link">(\d+)\.', page.text)]


def test_an_address_shows_the_same_items_as_the_filter_names(client, viewed):
    wanted = {"series": "1", "outcome": "wrong", "people": "90"}
    page = client.get("/", params=wanted)

    table = viewed.table.items
    by_hand = [place + 1 for place, rate in enumerate(table["rate"]) if rate <= 0.1]
    assert by_hand
    assert rows(page) == by_hand
    assert f"{len(by_hand)} of 90 items" in page.text


@pytest.mark.parametrize(
    ("asked", "page", "pages", "shown"),
    [
        ({}, 1, 2, range(1, 51)),
        ({"page": "2"}, 2, 2, range(51, 91)),
        ({"page": "99"}, 2, 2, range(51, 91)),
        ({"q": "no such words"}, 1, 1, []),
    ],
)
def test_a_list_has_pages_of_fifty_items_and_always_a_first(viewed, asked, page, pages, shown):
    query = ItemFilter.from_query(asked)
    state = ViewState(viewed.table, {}, Links())
    values = list_values(state, query, select_items(viewed.table, query, tagged={}))

    assert (values["page"], values["pages"]) == (page, pages)
    assert values["wanted"].page == 1, "another filter begins at its first page"
    assert [row["place"] + 1 for row in values["rows"]] == [*shown]


def test_a_list_shows_what_the_contexts_of_a_query_say_otherwise_and_the_share_of_people(client, viewed):
    page, benchmark = unescape(client.get("/").text), viewed.table.benchmark
    first = benchmark.items[0]
    own, other = (
        context.texts()["recipient.type"] for context in (benchmark.context_of(first), benchmark.twin_of(first))
    )

    assert own != other
    assert own in page
    assert other in page
    assert "81 % safe" in page


def test_an_items_page_leads_to_the_next_of_the_same_list(client):
    listed = rows(client.get("/", params={"outcome": "wrong"}))
    page = client.get(f"/item/{listed[1]}", params={"outcome": "wrong"}).text

    assert f'rel="prev" href="/item/{listed[0]}?outcome=wrong"' in page
    assert f'rel="next" href="/item/{listed[2]}?outcome=wrong"' in page


def test_an_items_page_marks_what_its_twin_says_otherwise(client, viewed):
    benchmark = viewed.table.benchmark
    place = next(place for place, one in enumerate(benchmark.items) if benchmark.twin_of(one))
    page = client.get(f"/item/{place + 1}").text

    own, said = (benchmark.context_of(benchmark.items[place]), benchmark.twin_of(benchmark.items[place]))
    assert own.texts() != said.texts()
    assert "<ins>" in page or 'class="original"' in page
    twin = benchmark.pairs[benchmark.items[place].pair_id]
    other = next(one for one in twin if one.id != benchmark.items[place].id)
    assert f'href="/item/{benchmark.items.index(other) + 1}"' in page


def test_an_items_page_has_what_a_model_made_of_its_context_in_an_arm(tmp_path):
    run = api.attack("demo", "constant:safe", attacks="paraphrase:fake/rehearsal", noise="none", out=tmp_path / "run")
    client = TestClient(create_view(view(run.path), port=PORT), base_url=HERE)
    page = unescape(re.sub(r"<[^>]*>", "", client.get("/item/1").text))
    assert "In other words: " in page
    assert "no model has been asked" not in page


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": f"localhost:{PORT}"}, 200),
        ({"host": f"[::1]:{PORT}"}, 200),
        ({"host": "rebound.example"}, 403),
        ({"host": f"rebound.example:{PORT}"}, 403),
        ({"host": "127.0.0.1:1"}, 403),
        ({"origin": "https://elsewhere.example"}, 403),
        ({"origin": "null"}, 403),
    ],
)
def test_who_did_not_ask_for_this_machine_by_its_name_gets_nothing(client, headers, status):
    for path in ("/", "/item/1", "/static/viewing.css"):
        assert client.get(path, headers=headers).status_code == status


@pytest.mark.parametrize("origin", [None, "null", "https://elsewhere.example", "http://127.0.0.1:1"])
def test_a_note_from_another_page_is_not_kept(client, runs, origin):
    headers = {} if origin is None else {"origin": origin}

    assert client.post("/item/1/note", data={"text": "x"}, headers=headers).status_code == 403
    assert not (runs[0] / ITEM_NOTES).exists()


@pytest.mark.slow
def test_a_note_is_kept_beside_the_run_and_found_by_its_tag(client, runs, viewed):
    before = {path: path.read_bytes() for run in runs for path in run.iterdir() if path.is_file()}
    kept = client.post(
        "/item/4/note?outcome=wrong", data={"text": "<b>look</b>", "tags": "odd, again"}, headers={"origin": HERE}
    )

    assert (kept.status_code, kept.headers["location"]) == (303, "/item/4?outcome=wrong#notes")
    assert rows(client.get("/", params={"tag": "odd"})) == [4]
    assert "&lt;b&gt;look&lt;/b&gt;" in client.get("/item/4").text
    assert set(view(*runs).notes) == {viewed.table.benchmark.items[3].id}
    assert before == {path: path.read_bytes() for path in before}  # nothing of the runs was touched

    client.post("/item/4/note", data={"text": "", "tags": ""}, headers={"origin": HERE})
    assert rows(client.get("/", params={"tag": "odd"})) == []


def test_a_note_that_is_too_long_is_refused(client, runs):
    assert client.post("/item/1/note", data={"text": "x" * 20_001}, headers={"origin": HERE}).status_code == 422
    assert not (runs[0] / ITEM_NOTES).exists()


def test_what_is_not_there_or_cannot_be_is_said(client):
    assert client.get("/item/91").status_code == client.get("/item/0").status_code == 404
    bad = client.get("/", params={"label": "<script>"})
    assert bad.status_code == 400
    assert "&#39;label&#39; is" in bad.text
    assert "<script>" not in bad.text


@pytest.mark.slow
def test_no_script_is_needed_and_none_from_elsewhere_runs(client):
    answer = client.get("/", params={"q": '"><script>alert(1)</script>'})

    assert "<script>alert" not in answer.text
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy
    assert "style=" not in answer.text
    assert "onclick" not in answer.text


def links_of(folder, file):
    return {link for link in re.findall(r'(?:href|src)="([^"#]+)', (folder / file).read_text()) if link}


@pytest.mark.slow
def test_a_copy_opens_from_disk_and_every_link_of_it_leads_to_a_file(viewed, tmp_path):
    done = write_view(viewed, tmp_path / "copy", withheld=False)

    assert done.n_items == 90
    pages = sorted(path.name for path in (tmp_path / "copy").glob("*.html"))
    for page in pages:
        for link in links_of(tmp_path / "copy", page):
            assert (tmp_path / "copy" / unescape(link)).is_file(), (page, link)
    reached, ahead = set(), {"index.html"}
    while ahead:
        reached |= ahead
        ahead = {
            link for page in ahead for link in links_of(tmp_path / "copy", page) if link.endswith(".html")
        } - reached
    assert reached == set(pages)


@pytest.mark.slow
def test_a_copy_quotes_a_chatbot_only_where_that_is_wanted_and_is_then_its_owners_alone(tmp_path):
    replies = api.collect("demo", FakeModel("canary"), out=tmp_path / "replies")
    api.grade(replies, "keywords")
    viewed = view(replies.path)

    for quoted in (False, True):
        folder = tmp_path / f"copy-{quoted}"
        write_view(viewed, folder, withheld=False, quoted=quoted)
        assert ("canary" in "".join(path.read_text() for path in folder.glob("*.html"))) is quoted
        assert (stat.S_IMODE(folder.stat().st_mode) == 0o700) is quoted


def test_a_copy_without_consent_holds_no_text(viewed, tmp_path):
    write_view(viewed, tmp_path / "copy", only=ItemFilter(category=viewed.table.items["category"][0]), quoted=True)
    written = "".join(path.read_text() for path in (tmp_path / "copy").glob("*.html"))
    benchmark = viewed.table.benchmark

    assert "withheld" in written
    assert stat.S_IMODE((tmp_path / "copy").stat().st_mode) != 0o700, "there is no chatbot's reply to keep from others"
    for item in benchmark.items[:10]:
        assert benchmark.query[item.query_id].text not in written
        if context := benchmark.context_of(item):
            assert not any(text in written for text in context.texts().values() if len(text) > 25)


def test_a_copy_has_the_notes_on_its_own_items_alone(client, viewed, tmp_path):
    category = viewed.table.items["category"][0]
    inside = [row == category for row in viewed.table.items["category"]]
    for place, words in ((inside.index(True), "kept"), (inside.index(False), "left")):
        client.post(f"/item/{place + 1}/note", data={"text": words}, headers={"origin": HERE})
    write_view(viewed, tmp_path / "copy", only=ItemFilter(category=category), withheld=False)
    notes = (tmp_path / "copy" / ITEM_NOTES).read_text()

    assert ("kept" in notes, "left" in notes) == (True, False)


def test_where_judges_differ_is_one_click_away(client, runs, viewed):
    link = re.search(r'href="([^"]*)"[^>]*>judges differ<', client.get("/").text)
    assert link is not None
    differing = [place + 1 for place, verdict in enumerate(viewed.table.items["verdict_0"]) if verdict == 0]
    assert rows(client.get(unescape(link[1]))) == differing
    alone = TestClient(create_view(view(*runs[:1]), port=PORT), base_url=HERE)
    assert "judges differ" not in alone.get("/").text


def test_items_are_shown_and_found_by_their_owners_ids_with_the_owners_columns(tmp_path):
    lines = ["id,query,context,label,channel", *(f"T-{n},Question {n}?,A nurse asks.,safe,desk {n}" for n in (1, 2, 3))]
    (tmp_path / "cases.csv").write_text("\n".join(lines))
    benchmark = api.import_cases(tmp_path / "cases.csv", tmp_path / "ward")
    run = api.judge(tmp_path / "ward", "constant:safe", out=tmp_path / "run")
    client = TestClient(create_view(view(run.path), port=PORT), base_url=HERE)
    every, found = client.get("/").text, client.get("/", params={"q": "t-2"}).text
    page = client.get("/item/2").text

    assert all(f"T-{n}: Question {n}?" in every for n in range(1, 4))
    assert "T-2: Question 2?" in found
    assert "T-1: Question 1?" not in found
    assert "<h1>Item T-2 " in page
    assert "channel: desk 2" in page
    assert benchmark.find("T-2") == benchmark.items[1]
