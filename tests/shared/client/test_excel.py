"""Excel files on this machine: what is wrong with one is told with its name, to whom it belongs."""

import pandas as pd
from openpyxl import Workbook


def hidden_first(path):
    """Write a workbook whose first sheet is hidden."""
    book = Workbook()
    book.active.append(["x"])
    book.active.sheet_state = "hidden"
    book.create_sheet("table").append(["x"])
    book.save(path)


def run_with(file, parties, *more):
    return (
        "run",
        "client_toy",
        "fit",
        *parties[:4],
        "--party",
        f"c={file}",
        "--arg",
        "column=x",
        *more,
        "--out",
        "r.json",
    )


def test_what_a_station_says_of_an_excel_file_is_told_to_its_owner_by_its_name(command, parties, tmp_path):
    hidden_first(tmp_path / "h.xlsx")
    remedy = "the first sheet of the table h.xlsx is hidden; put the sheet of the table first"
    for words in (("domain", "draft", "h.xlsx"), run_with("h.xlsx", parties)):
        code, _, err = command(*words)
        assert code == 2
        assert err.strip().splitlines()[-1] == f"error: {remedy}"


def test_a_file_is_not_blamed_for_another_problem(command, parties, tmp_path):
    pd.DataFrame({"x": range(20), "code": [2.0**60] * 20}).to_excel(tmp_path / "long.xlsx", index=False)
    (tmp_path / "d.yaml").write_text("columns:\n  code: {type: number, bounds: [0, 1.0e+30]}\n")
    code, _, err = command(*run_with("long.xlsx", parties, "--policy", "c:minimum_rows=50", "--dictionary", "d.yaml"))
    assert code != 0
    assert "rows" in err.splitlines()[-1]
    assert "2^53" not in err


def test_which_sheet_of_several_is_read_is_told_wherever_a_file_is_read(command, parties, tmp_path):
    """A workbook often begins with a page of explanations: it was drafted from, without a word."""
    with pd.ExcelWriter(tmp_path / "two.xlsx") as book:
        pd.DataFrame({"x": range(20)}).to_excel(book, sheet_name="Read me", index=False)
        pd.DataFrame({"y": range(20)}).to_excel(book, sheet_name="Data", index=False)
        pd.DataFrame({"z": [1]}).to_excel(book, sheet_name="old", index=False)
        book.book["old"].sheet_state = "hidden"
    note = "note: two.xlsx: the first sheet, 'Read me', is read, and no other: 'Data'"
    command("domain", "draft", "two.xlsx", "--out", "d.yaml")
    (tmp_path / "cox.json").write_text('{"model": {"coefficients": [{"feature": "x", "coefficient": 0.1}]}}')
    for words in (
        ("domain", "draft", "two.xlsx"),
        ("domain", "check", "d.yaml", "two.xlsx"),
        ("predict", "cox.json", "two.xlsx"),
        run_with("two.xlsx", parties),
    ):
        code, _, err = command(*words)
        assert code == 0, err
        assert err.splitlines().count(note) == 1, err
    pd.DataFrame({"x": range(20)}).to_excel(tmp_path / "one.xlsx", index=False)
    assert "note" not in command("domain", "draft", "one.xlsx")[2]


def test_how_a_csv_file_is_read_is_told_by_draft_and_check_too(command, tmp_path):
    (tmp_path / "s.csv").write_text("x;y\n1,5;2\n2,5;3\n")
    for words in (("domain", "draft", "s.csv", "--out", "s.yaml"), ("domain", "check", "s.yaml", "s.csv")):
        assert command(*words)[2].startswith("note: s.csv: columns are separated by semicolons, a comma in a number")
