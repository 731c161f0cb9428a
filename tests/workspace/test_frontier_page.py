"""The table of the frontier on docs/comparison.md is that of the run's JSON file."""

import json

import frontier


def test_the_page_has_the_numbers_of_the_run():
    found = json.loads(frontier.NUMBERS.read_text(encoding="utf-8"))
    page = frontier.PAGE.read_text(encoding="utf-8")
    assert page.split(frontier.FIRST)[1].split(frontier.LAST)[0].strip() == frontier.table(found)


def test_the_figure_is_that_of_the_run(tmp_path):
    found = json.loads(frontier.NUMBERS.read_text(encoding="utf-8"))
    frontier.draw(found, tmp_path / "frontier.svg")
    assert (tmp_path / "frontier.svg").stat().st_size > 10_000
    assert frontier.FIGURE.exists()
