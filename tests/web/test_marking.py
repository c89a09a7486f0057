"""The page on which a person marks stored replies, and the file that keeps the marks."""

import re

import pytest
from starlette.testclient import TestClient

from casewise.judges.reread import SAMPLE_COLUMNS, read_sample, write_rows
from casewise.web.marking import create_marking

HERE = "http://127.0.0.1:8111"


@pytest.fixture
def sample(tmp_path):
    """Three replies, one of which is marked already; the last is to be marked with a number."""
    rows = [
        dict.fromkeys(SAMPLE_COLUMNS, "")
        | {"id": name, "reply": f"<b>{name}</b>", "elicitation": kind, "verdict": mark}
        for name, kind, mark in (("first", "binary", "safe"), ("second", "binary", ""), ("third", "probability", ""))
    ]
    write_rows(tmp_path / "marks.csv", rows)
    return tmp_path / "marks.csv"


@pytest.fixture
def ended():
    """What happened when the readers were to be measured."""
    return []


@pytest.fixture
def client(sample, ended):
    app = create_marking(sample, port=8111, done=lambda: ended.append(True))
    return TestClient(app, base_url=HERE, headers={"origin": HERE})


def marks(sample):
    return {row["id"]: row["verdict"] for row in read_sample(sample)}


def test_every_reply_is_shown_with_its_words_or_a_field_and_what_is_marked(client, sample):
    page = client.get("/").text

    assert "1 of 3 marked" in page
    assert "&lt;b&gt;first&lt;/b&gt;" in page
    assert re.findall(r'name="second" value="(\w+)"', page) == ["safe", "unsafe", "none"]
    assert re.findall(r'value="(\w+)" checked', page) == ["safe"]
    assert '<input name="third" value=""' in page
    assert str(sample) in page


def test_marks_are_kept_in_the_file_and_the_others_stay(client, sample, ended):
    page = client.post("/", data={"second": " None ", "third": "0.5"})

    assert (page.status_code, "3 of 3 marked" in page.text, ended) == (200, True, [])
    assert marks(sample) == {"first": "safe", "second": "none", "third": "0.5"}


def test_a_mark_that_is_none_is_told_with_its_line_and_nothing_is_kept(client, sample, ended):
    page = client.post("/", data={"second": "safe", "third": "7", "measure": "1"})

    assert page.status_code == 422
    assert "marks.csv:4: &#39;verdict&#39; is &#39;7&#39;; it is a number from 0 to 1 or none" in page.text
    assert (marks(sample), ended) == ({"first": "safe", "second": "", "third": ""}, [])


def test_the_readers_are_measured_once_that_is_asked_for(client, sample, ended):
    page = client.post("/", data={"second": "unsafe", "measure": "1"}).text

    assert 'role="status"' in page
    assert "<form" not in page
    assert (marks(sample)["second"], ended) == ("unsafe", [True])


def test_the_page_answers_this_machine_alone_and_with_all_headers(client):
    assert client.get("/", headers={"host": "rebound.example"}).status_code == 403
    assert client.post("/", data={}, headers={"origin": "https://elsewhere.example"}).status_code == 403
    assert client.get("/static/casewise.css").status_code == 200
    assert client.get("/").headers["content-security-policy"].startswith("default-src 'none'")
