"""The demonstration: files, table, report; the domain is public."""

import json

import pandas as pd
import pytest

from fedbayes.client import demo, demo_report

pytest.importorskip("v6_dp_naive_bayes")


def test_hospitals_share_the_training_records_and_the_test_records_stay_out(tmp_path):
    records = demo.load()
    parts = demo.split(records, tmp_path, 3)
    train = pd.concat([pd.read_csv(path) for path in parts.files.values()])
    assert len(train) + len(parts.test) == len(records) == 569
    assert [len(pd.read_csv(path)) for path in parts.files.values()] == [128, 107, 85, 64, 43]
    assert set(train.columns) == set(demo.DOMAIN)


def test_demo_writes_result_report_and_table(command, tmp_path):
    code, out, err = command("demo", "--out", "out", "--repeats", "1")
    assert code == 0
    for part in (
        "pooled records, no privacy",
        "federated, private",
        "hospital-5 alone, private",
        "accuracy",
        "AUC",
        "out/report.html",
    ):
        assert part in out
    assert "partial_open_channel" in err
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert result["privacy"]["differentially_private"] is True
    assert result["privacy"]["epsilon"] == pytest.approx(1.0)
    assert result["federation"]["rounds"] <= 4
    page = (tmp_path / "out" / "report.html").read_text()
    for part in ("Comparison", "Five hospitals", "worst radius", "epsilon = 1"):
        assert part in page
    assert len(list((tmp_path / "out" / "hospitals").iterdir())) == 5


def test_table_has_means_and_spreads():
    table = {demo_report.FEDERATED: [demo.Scores(0.9, 0.8), demo.Scores(0.7, 0.6)]}
    assert demo_report.rows(table) == [("federated, private", "0.800 ± 0.100", "0.700 ± 0.100")]


@pytest.mark.parametrize(
    ("options", "part"),
    [(["--repeats", "0"], "--repeats"), (["--epsilon", "0"], "--epsilon"), (["--out", "file"], "--out")],
)
def test_wrong_options(command, tmp_path, options, part):
    (tmp_path / "file").write_text("not a folder")
    code, _, err = command("demo", *options)
    assert code == 2
    assert part in err
