"""The page with the figures says what is in bench/results."""

import re

from bench.page import PAGE, PICTURES, page, results


def test_the_page_is_made_from_the_results() -> None:
    assert PAGE.read_text() == page(results()), "run: make performance"


def test_its_pictures_are_there() -> None:
    named = set(re.findall(r"assets/performance/(\w+\.svg)", PAGE.read_text()))
    assert named == {path.name for path in PICTURES.iterdir()}
