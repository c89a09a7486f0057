"""The settings that the environment names."""

import stat
from pathlib import Path

import pytest

from casewise.errors import ConfigurationError
from casewise.settings import Settings, database_named, from_environment, kept_key, outputs_folder

KEY = "k" * 32


def test_a_key_has_32_characters_at_least_and_an_address_is_one_of_the_web():
    assert not Settings(secret_key=KEY).behind_tls
    assert Settings(secret_key=KEY, site_url="https://x.example").behind_tls
    with pytest.raises(ConfigurationError, match="the secret key has 31 characters; it needs at least 32"):
        Settings(secret_key=KEY[1:])
    with pytest.raises(ConfigurationError, match="starts with http:// or https://"):
        Settings(secret_key=KEY, site_url="ftp://x.example")


def test_a_key_is_not_shown():
    assert KEY not in repr(Settings(secret_key=KEY))


def test_arguments_go_before_the_environment_and_the_environment_before_the_defaults():
    named = {
        "CASEWISE_DATABASE": "other.db",
        "CASEWISE_SITE_URL": "https://a.example/",
        "CASEWISE_SECRET_KEY": KEY,
        "CASEWISE_ERASURES": "gone.jsonl",
    }
    found, given = from_environment(named), from_environment(named, database="d.db", site_url="http://b.example")

    assert found == Settings(database="other.db", secret_key=KEY, erasures="gone.jsonl", site_url="https://a.example")
    assert (given.database, given.site_url) == ("d.db", "http://b.example")
    plain = from_environment({"CASEWISE_SECRET_KEY": KEY})
    assert plain == Settings(secret_key=KEY)
    assert database_named(None, {}) == "casewise.db"


def test_a_key_is_made_once_beside_the_database_for_its_owner_alone(tmp_path):
    first, again = (from_environment({}, database=f"sqlite:///{tmp_path}/a.db") for _ in range(2))
    file = tmp_path / "a.key"

    assert first.secret_key == again.secret_key == file.read_text().strip()
    assert len(first.secret_key) >= 64
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_named_file_holds_the_key(tmp_path):
    (tmp_path / "key").write_text(f" {KEY}\n")

    assert from_environment({"CASEWISE_SECRET_KEY_FILE": str(tmp_path / "key")}).secret_key == KEY


def test_a_database_server_needs_a_key_that_all_workers_share():
    with pytest.raises(ConfigurationError, match="set CASEWISE_SECRET_KEY or CASEWISE_SECRET_KEY_FILE"):
        from_environment({}, database="postgresql://host/db")


def test_a_key_that_cannot_be_kept_or_read_is_an_error(tmp_path):
    with pytest.raises(ConfigurationError, match="no key can be kept here"):
        kept_key(tmp_path / "absent" / "key")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ConfigurationError, match="the key cannot be read"):
        kept_key(tmp_path / "folder")


def test_the_folder_of_outputs_is_one_that_there_is(tmp_path):
    assert outputs_folder({}) is None
    assert outputs_folder({"CASEWISE_OUTPUTS": str(tmp_path)}) == Path(tmp_path)
    with pytest.raises(ConfigurationError, match="there is no such folder"):
        outputs_folder({"CASEWISE_OUTPUTS": str(tmp_path / "absent")})
