"""Runs on a server, against a client that answers as vantage6's `UserClient` does."""

import json
import logging
from types import SimpleNamespace

import pytest

from fedbayes.client.exits import TaskFailed, UsageProblem, code_of
from fedbayes.client.running import connection, remote
from fedbayes.client.running.local import Job
from fedbayes.federation import errors

JOB = Job("dp_naive_bayes", "fit", {"label": "y"})
PLACE = remote.RemotePlace(collaboration=1, image="registry/algorithm:1")


class DummyCryptor:
    pass


class RSACryptor:
    pass


class Server:
    """State of a server, told through `request` and the sub-clients that are used."""

    def __init__(self, statuses=("active", "completed"), result='{"model": 1}', log="", encrypted=False, accepts=True):
        self.statuses = list(statuses)
        self.log, self.encrypted, self.accepts, self.text = log, encrypted, accepts, result
        self.created, self.killed = [], []
        self.whoami = SimpleNamespace(organization_id=1)
        self.cryptor = DummyCryptor()
        self.task = SimpleNamespace(create=self._create, kill=self.killed.append)
        self.result = SimpleNamespace(from_task=lambda task: {"data": [{"id": 1, "result": self.text}]})

    def _create(self, **arguments):
        self.created.append(arguments)
        return {"id": 7} if self.accepts else {"msg": "Organizations are not in the collaboration"}

    def request(self, endpoint, params=None, attempts_on_timeout=None):
        if endpoint == "organization":
            return {"data": [{"id": 1, "name": "north"}, {"id": 2, "name": "south"}]}
        if endpoint == "collaboration/1":
            return {"encrypted": self.encrypted}
        if endpoint == "task/7/status":
            status = self.statuses.pop(0)
            if isinstance(status, BaseException):
                raise status
            return {"status": status} if status else {"msg": "Connection error"}
        if endpoint == "task":
            return {
                "data": [
                    {"id": 9, "name": "round 2:b", "status": "active"},
                    {"id": 8, "name": "round 1:a", "status": "completed"},
                ]
            }
        return {"data": self._runs(params["task_id"])}

    def _runs(self, task):
        if task == 7:
            return [
                {"id": 1, "status": "crashed" if self.log else "completed", "organization": {"id": 1}, "log": self.log}
            ]
        status = "completed" if task == 8 else "active"
        return [{"id": task, "status": status, "organization": {"id": 2}, "log": ""}]


@pytest.fixture(autouse=True)
def _fast(monkeypatch):
    monkeypatch.setattr(remote, "POLL_SECONDS", 0.0)


def test_result_comes_back_and_rounds_are_told_once():
    server, events = Server(statuses=("pending", "active", "active", "completed")), []
    assert remote.run(server, JOB, PLACE, events.append) == {"model": 1}
    assert [(event["event"], event["name"]) for event in events] == [
        ("start", "round 1:a"),
        ("end", "round 1:a"),
        ("start", "round 2:b"),
    ]
    assert events[0]["organization"] == "south"
    sent = server.created[0]
    assert sent["organizations"] == [1]
    assert sent["input_"] == {"method": "fit", "kwargs": {"label": "y"}}
    assert sent["databases"] == [{"label": "default"}]
    assert server.killed == []


@pytest.mark.parametrize("wanted", [2, "south"])
def test_organization_by_id_or_name(wanted):
    server = Server()
    remote.run(server, JOB, remote.RemotePlace(1, "i", organization=wanted))
    assert server.created[0]["organizations"] == [2]


def test_unknown_organization_is_refused_before_anything_runs():
    server = Server()
    with pytest.raises(UsageProblem, match="north"):
        remote.run(server, JOB, remote.RemotePlace(1, "i", organization="east"))
    assert server.created == []


def test_error_class_is_read_from_the_log():
    server = Server(
        statuses=("failed",), log="info > x\nerror > fedbayes-error: BudgetError: south: epsilon 1 was asked for"
    )
    with pytest.raises(errors.BudgetError, match="south") as caught:
        remote.run(server, JOB, PLACE)
    assert code_of(caught.value) == 3


def test_failure_without_a_told_cause():
    with pytest.raises(TaskFailed, match="see its log"):
        remote.run(Server(statuses=("failed",), log="no cause"), JOB, PLACE)


def test_interruption_kills_the_task():
    server = Server(statuses=("active", KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        remote.run(server, JOB, PLACE)
    assert server.killed == [7]


def test_time_out_kills_the_task():
    server = Server(statuses=("active",) * 5)
    with pytest.raises(TaskFailed, match="in time"):
        remote.run(server, JOB, remote.RemotePlace(1, "i", timeout=-1.0))
    assert server.killed == [7]


def test_lost_server_is_told():
    with pytest.raises(TaskFailed, match="stopped telling"):
        remote.run(Server(statuses=("active", None)), JOB, PLACE)


def test_refused_task_is_wrong_usage():
    with pytest.raises(UsageProblem, match="not in the collaboration"):
        remote.run(Server(accepts=False), JOB, PLACE)


@pytest.mark.parametrize("encrypted", [True, False])
def test_key_must_fit_the_collaboration(encrypted):
    server = Server(encrypted=encrypted)
    server.cryptor = DummyCryptor() if encrypted else RSACryptor()
    with pytest.raises(UsageProblem, match="--key"):
        remote.run(server, JOB, PLACE)
    assert server.created == []


@pytest.mark.parametrize("text", [None, "", "not json"])
def test_unreadable_result_is_a_failure(text):
    with pytest.raises(TaskFailed, match="--key"):
        remote.run(Server(result=text), JOB, PLACE)


# -- connecting ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address", ["localhost", "ftp://x", "https://", "http://localhost:port", "https://u:word@x/api", "https://u@x"]
)
def test_addresses_are_checked(address):
    with pytest.raises(UsageProblem, match="--server") as refusal:
        connection.connect(connection.Access(address, "user", "word"))
    assert "word@" not in str(refusal.value)


def test_silent_server_is_a_failure():
    with pytest.raises(TaskFailed, match="does not answer"):
        connection.connect(connection.Access("http://127.0.0.1:9/api", "user", "word"))


@pytest.fixture
def key_file(tmp_path):
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    path = tmp_path / "key.pem"
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption())
    path.write_bytes(key.private_bytes(*form))
    return path


@pytest.fixture
def user_client(monkeypatch):
    """A `UserClient` that is let in at once; notes what is done with keys."""
    from vantage6.client import UserClient

    done = SimpleNamespace(keys=[], public=None)

    def let_in(self, username, password, mfa_code=None):
        self.whoami = SimpleNamespace(organization_id=1)

    monkeypatch.setattr(UserClient, "authenticate", let_in)
    monkeypatch.setattr(UserClient, "request", lambda self, *_, **__: {"public_key": done.public})
    monkeypatch.setattr(UserClient, "setup_encryption", lambda self, key: done.keys.append(key))
    return done


def test_connecting_is_quiet_and_uses_the_port_of_the_address(user_client, capsys):
    client = connection.connect(connection.Access("https://server.example/api", "user", "word"))
    assert (client.host, client.port, client.path) == ("https://server.example", 443, "/api")
    assert user_client.keys == [None]
    logging.getLogger().error("anything else")
    assert capsys.readouterr().out == ""


def test_own_key_is_used(user_client, key_file):
    connection.connect(connection.Access("http://localhost:5000", "user", "word", key=key_file))
    assert user_client.keys == [str(key_file)]


def test_a_key_that_the_server_does_not_know_never_replaces_the_known_one(user_client, key_file):
    user_client.public = "c29tZXRoaW5nIGVsc2U="
    with pytest.raises(UsageProblem, match="nothing was changed"):
        connection.connect(connection.Access("http://localhost:5000", "user", "word", key=key_file))
    assert user_client.keys == []


def test_a_file_that_is_no_key_is_refused(user_client, tmp_path):
    (tmp_path / "key.pem").write_text("no key")
    with pytest.raises(UsageProblem, match="--key"):
        connection.connect(connection.Access("http://localhost:5000", "user", "word", key=tmp_path / "key.pem"))
    assert json.dumps(user_client.keys) == "[]"
