"""`fedbayes node check`: good configurations pass, every fault of a table is told with its line, and nothing is silently believed."""

import json
import re
import runpy
import sys
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from fedbayes.client.node.check import check
from fedbayes.client.node.file import WRONG
from fedbayes.client.text import limits as limit_words
from fedbayes.federation.node.policy import Policy

ROOT = Path(__file__).resolve().parents[3]
GOOD = """\
api_key: 11111111-2222-3333-4444-555555555555
server_url: https://server.example.org
port: 443
api_path: /api
task_dir: /home/node/tasks
encryption:
  enabled: true
  private_key: /home/node/key.pem
logging: {level: INFO, use_console: true, backup_count: 5, max_size: 1024, format: "%(message)s", datefmt: "%H"}
databases:
  - {label: default, uri: /data/patients.csv, type: csv, mount_mode: ro}
  - {label: ledger, uri: /data/fedbayes, type: folder}
policies:
  allowed_algorithms:
    - ^registry\\.example/algorithms/dp_naive_bayes:0\\.1\\.0-v6-4\\.15\\.2$
algorithm_env:
  FEDBAYES_MINIMUM_ROWS: "50"
  FEDBAYES_DENIED_COLUMNS: [name, postcode]
  FEDBAYES_MAXIMUM_EPSILON: "1"
  FEDBAYES_ALLOW_NON_PRIVATE: false
  FEDBAYES_LEDGER: ledger
  FEDBAYES_BUDGET_EPSILON: 5
  FEDBAYES_ID_COLUMNS: patient
"""
ENV = "algorithm_env:\n"

# what replaces what, the line where it is told, its level, what the line says
WRONGS = [
    ("policies:", "polices:", 13, "ignored", "did you mean 'policies'"),
    ("policies:", "POLICIES:", 13, "ignored", "did you mean 'policies'"),
    ("policies:", "polices:", 0, "unsafe", "any image may run"),
    ("  allowed_algorithms:", "  allowed_images:", 14, "ignored", "did you mean 'allowed_algorithms'"),
    ("policies:\n  allowed_algorithms:", "allowed_algorithms:", 13, "ignored", "it belongs under 'policies'"),
    ("algorithm_env:", "algorithms_env:", 16, "ignored", "did you mean 'algorithm_env'"),
    (ENV, "FEDBAYES_MINIMUM_COUNT: 9\n" + ENV, 16, "ignored", "limits belong under 'algorithm_env'"),
    (ENV, "node_extra_env: {FEDBAYES_MINIMUM_COUNT: '9'}\n" + ENV, 16, "ignored", "reaches the node and no algorithm"),
    (ENV, ENV + "  FEDBAYES_MINIMUM_ROWS: 60\n", 17, "ignored", "stands again further down"),
    (ENV, ENV + "  MINIMUM_COUNT: 9\n", 17, "ignored", "did you mean 'FEDBAYES_MINIMUM_COUNT'"),
    (ENV, ENV + "  fedbayes_minimum_count: 9\n", 17, "stops", "did you mean 'FEDBAYES_MINIMUM_COUNT'"),
    (ENV, ENV + "  FEDBAYES_MINIMUM_CUONT: 9\n", 17, "stops", "did you mean 'FEDBAYES_MINIMUM_COUNT'"),
    (ENV, ENV + "  FEDBAYES_ALLOW_PREDICTIONS: perhaps\n", 17, "stops", "cannot be read"),
    (ENV, ENV + "  FEDBAYES_BUDGET_DAYS: 0\n", 17, "stops", "days are an hour or more"),
    (ENV, ENV + "  FEDBAYES_BUDGET_DAYS: 1 year\n", 17, "stops", "no unit"),
    (ENV, ENV + '  FEDBAYES_MAXIMUM_DELTA: "1e-6,"\n', 17, "stops", "a number with a point"),
    (ENV, ENV + "  FEDBAYES_MAXIMUM_DELTA: 2\n", 17, "note", "promises nothing"),
    (ENV, ENV + "  FEDBAYES_MAXIMUM_REFUSALS: 50\n", 17, "unsafe", "found from refusals alone"),
    ("  FEDBAYES_ID_COLUMNS: patient\n", "", 16, "note", "list identifiers in FEDBAYES_ID_COLUMNS"),
    (ENV, ENV + "  FEDBAYES_BUDGET_DELTA: 0.5\n", 17, "note", "promises nothing"),
    (ENV, ENV + "  FEDBAYES_MINIMUM_COUNT: -5\n", 17, "stops", "a whole number, at least 0"),
    (ENV, ENV + "  FEDBAYES_MINIMUM_COUNT: 2.5\n", 17, "stops", "a whole number, at least 0"),
    (ENV, ENV + "  FEDBAYES_ALLOW_PREDICTIONS: ja\n", 17, "stops", '"true" or "false"'),
    (ENV, ENV + "  FEDBAYES_ALLOWED_COLUMNS: age sex\n", 17, "limit", "(1: age sex)"),
    (ENV, ENV + "  FEDBAYES_ALLOWED_COLUMNS: []\n", 17, "limit", "(none)"),
    (ENV, ENV + "  FEDBAYES_ALLOWED_FUNCTIONS: fit,evaluate\n", 17, "stops", "no partial_ function"),
    (
        ENV,
        ENV + "  FEDBAYES_ALLOWED_FUNCTIONS: fit,partial_open_channel,partial_prepair\n",
        17,
        "ignored",
        "'partial_prepair' is a function of no method that is installed here (did you mean 'partial_prepare'?)",
    ),
    (ENV, ENV + "  FEDBAYES_PINNED_KEYS: north\n", 17, "stops", "{organization: fingerprint}"),
    (ENV, ENV + "  FEDBAYES_PINNED_KEYS: {north: 12ab}\n", 17, "stops", "the key of north is no fingerprint"),
    (
        'algorithm_env:\n  FEDBAYES_MINIMUM_ROWS: "50"\n',
        'algorithm_env:\n  - FEDBAYES_MINIMUM_ROWS: "50"\nunknown:\n',
        17,
        "stops",
        "without dashes",
    ),
    ("enabled: true", 'enabled: "true"', 7, "unsafe", "write true without quotes"),
    (ENV, ENV + "  PKG_NAME: v6_mine\n", 17, "stops", "no task starts"),
    (ENV, ENV + "  FEDBAYES_MINIMUM_ORGANIZATIONS: 2\n", 17, "unsafe", "default of 3"),
    (ENV, ENV + "  FEDBAYES_MINIMUM_COUNT: 1\n", 17, "unsafe", "default of 5"),
    (ENV, ENV + "  FEDBAYES_ALLOW_FOREIGN_MODELS: true\n", 17, "unsafe", "one record"),
    (ENV, ENV + "  FEDBAYES_ALLOW_FORMULAS: yes\n", 17, "unsafe", "single rows"),
    (ENV, ENV + "  FEDBAYES_LONG_TERM_KEY: false\n", 17, "unsafe", "speak for the other organizations"),
    (ENV, ENV + "  FEDBAYES_ALLOW_PREDICTIONS: true\n", 17, "note", "single records"),
    ('EPSILON: "1"', 'EPSILON: "20"', 19, "note", "above 5"),
    ('  FEDBAYES_MAXIMUM_EPSILON: "1"\n', "", 16, "unsafe", "one release may cost any"),
    ("  FEDBAYES_BUDGET_EPSILON: 5\n", "", 16, "unsafe", "all releases together may cost any"),
    ("  FEDBAYES_ALLOW_NON_PRIVATE: false\n", "", 16, "note", "without differential privacy may leave"),
    ("  FEDBAYES_LEDGER: ledger\n", "", 16, "unsafe", "no ledger"),
    ("  FEDBAYES_LEDGER: ledger\n", "", 16, "stops", "BUDGET_EPSILON needs FEDBAYES_LEDGER"),
    ("FEDBAYES_LEDGER: ledger", "FEDBAYES_LEDGER: ledgre", 21, "stops", "no database 'ledgre'"),
    ("type: folder", "type: csv", 12, "stops", "must be of type folder"),
    ("type: folder", "type: folder, mount_mode: ro", 12, "stops", "read-only"),
    ("type: csv, mount_mode: ro", "type: csv", 11, "note", "copied into the volume"),
    ("type: csv,", "typ: csv,", 11, "ignored", "did you mean 'type'"),
    ("type: csv,", "typ: csv,", 11, "stops", "without 'type'"),
    ("type: csv,", "type: cvs,", 11, "stops", "no type of database"),
    ("label: ledger", "label: default", 12, "ignored", "the first one counts"),
    ("enabled: true", "enabled: false", 7, "unsafe", "encryption is off"),
    ("  private_key: /home/node/key.pem\n", "", 7, "stops", "needs 'private_key'"),
    ("encryption:\n  enabled: true\n  private_key: /home/node/key.pem\n", "", 0, "stops", "'encryption' is missing"),
    ("https://server.example.org", "http://server.example.org", 2, "unsafe", "without TLS"),
    ("https://server.example.org", "http://localhost", 2, "note", "'localhost' must be of this machine"),
    (ENV, "whitelist: {domains: [example.org]}\n" + ENV, 16, "note", "could send data there"),
    (ENV, "docker_services: {broker: rabbit}\n" + ENV, 16, "note", "containers of this machine"),
]
IMAGES = [
    (".*", "unsafe", "every image"),
    ("^.*$", "unsafe", "every image"),
    (r"registry\.example/algorithms/[a-z]+:1$", "unsafe", "begin with ^"),
    (r"^registry\.example/algorithms/verticox:.*", "unsafe", "end with $"),
    (r"^registry\.example/.*$", "unsafe", "stands for anything"),
    (r"^registry\.example/algorithms/[a-z_]+:1$", "note", "several images"),
    ("registry.example/algorithms/verticox", "note", "every version"),
    ("localhost:5000/algorithms/verticox", "note", "every version"),
]


def found_in(tmp_path, text):
    path = tmp_path / "node.yaml"
    path.write_text(text, encoding="utf-8")
    return check(path)


def test_a_good_configuration_has_nothing_wrong_and_every_limit_in_words(tmp_path):
    found = found_in(tmp_path, GOOD)
    assert [finding for finding in found if finding.level != "limit"] == []
    assert [finding.line for finding in found] == list(range(17, 24))
    texts = " ".join(finding.text for finding in found)
    assert "fewer than 50 rows" in texts
    assert "epsilon of 5." in texts
    assert "Columns that the administrator listed may not be used." in texts


@pytest.mark.parametrize(("old", "new", "line", "level", "part"), WRONGS, ids=lambda value: str(value)[-40:])
def test_every_fault_is_told_with_its_line(tmp_path, old, new, line, level, part):
    assert GOOD.count(old) == 1
    found = found_in(tmp_path, GOOD.replace(old, new))
    assert [finding for finding in found if (finding.line, finding.level) == (line, level) and part in finding.text]


@pytest.mark.parametrize(("pattern", "level", "part"), IMAGES)
def test_images_are_held_against_what_vantage6_matches(tmp_path, pattern, level, part):
    configuration = yaml.safe_load(GOOD)
    configuration["policies"]["allowed_algorithms"] = [pattern]
    found = found_in(tmp_path, yaml.safe_dump(configuration))
    assert [finding for finding in found if finding.level == level and part in finding.text]


@pytest.mark.parametrize("image", ["registry.example/algorithms/verticox:0.1.0", "registry.example/a@sha256:12ab"])
def test_exact_names_of_images_are_good(tmp_path, image):
    configuration = yaml.safe_load(GOOD)
    configuration["policies"]["allowed_algorithms"] = image
    assert not [finding for finding in found_in(tmp_path, yaml.safe_dump(configuration)) if finding.level in WRONG]


@pytest.mark.parametrize("organization", ["station", "helper"])
def test_the_dev_networks_own_configuration_is_good(tmp_path, monkeypatch, organization):
    monkeypatch.syspath_prepend(str(ROOT / "docker/network"))
    monkeypatch.setattr(sys, "argv", ["configure.py"])
    made = runpy.run_path(str(ROOT / "docker/network/configure.py"))
    name = made["HELPER"] if organization == "helper" else made["ORGANIZATIONS"][0]
    settings = {"api_keys": {name: "key"}, "api_path": "/api", "encrypted": True}
    configuration = made["node_configuration"](tmp_path, settings, name)
    found = found_in(tmp_path, yaml.safe_dump(configuration, sort_keys=False))
    assert [finding for finding in found if finding.level in WRONG] == []
    limits = [finding for finding in found if finding.level == "limit"]
    assert len(limits) == len(configuration["algorithm_env"])


def test_the_example_for_administrators_is_good_once_the_node_has_its_own_keys(tmp_path):
    text = (ROOT / "docs/node-administrators.md").read_text(encoding="utf-8")
    example = yaml.safe_load(re.search(r"```yaml\n(.*?)```", text, re.S)[1])
    found = found_in(tmp_path, yaml.safe_dump({**yaml.safe_load(GOOD), **example}))
    assert [finding for finding in found if finding.level in WRONG] == []


def test_every_limit_has_words_for_both_of_its_states():
    optional = {
        field.name
        for field in fields(Policy)
        if field.default is None or field.default is False or field.default is True
    }
    assert set(limit_words.SET) == {field.name for field in fields(Policy)}
    assert set(limit_words.UNSET) == optional


def test_the_command_tells_lines_and_ends_as_it_should(command, tmp_path):
    (tmp_path / "good.yaml").write_text(GOOD)
    (tmp_path / "bad.yaml").write_text(GOOD.replace("enabled: true", "enabled: false").replace("policies", "polices"))
    code, out, err = command("node", "check", "good.yaml")
    assert (code, err) == (0, "")
    assert "good.yaml: nothing unsafe, nothing ignored" in out
    code, out, err = command("node", "check", "bad.yaml")
    assert code == 1
    assert "line 7  unsafe   encryption is off" in out
    assert "bad.yaml: 2 unsafe, 1 ignored" in err
    code, out, _ = command("node", "check", "bad.yaml", "--json")
    assert code == 1
    assert [(told["line"], told["level"]) for told in json.loads(out)][:3] == [
        (0, "unsafe"),
        (7, "unsafe"),
        (13, "ignored"),
    ]


@pytest.mark.parametrize(
    ("text", "part"), [("", "holds no configuration"), ("- a", "holds no configuration"), ("a: [", "line 1")]
)
def test_what_is_no_configuration_is_answered_in_one_line(command, tmp_path, text, part):
    (tmp_path / "c.yaml").write_text(text)
    code, out, err = command("node", "check", "c.yaml")
    assert (code, out) == (2, "")
    assert part in err
    assert command("node", "check", "none.yaml")[0] == 2
