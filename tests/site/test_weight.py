"""A first visit to a page stays light: everything it loads, compressed, against the budget."""

import page_weight

BUDGET_KB = 1500
WHOLE_BOOK_MB = 15


def test_a_first_visit_stays_within_the_budget(weights, page):
    assert weights[page]["total_kB"] <= BUDGET_KB, page_weight.summary({page: weights[page]})


def test_the_measurement_counts_scripts_style_sheets_fonts_and_the_page(weights, page):
    suffixes = {path.rsplit(".", 1)[-1] for path in weights[page]["files"]}
    assert {"html", "js", "css", "woff2"} <= suffixes


def test_the_whole_book_without_its_jupyter_stays_small(html):
    book, _ = page_weight.site_sizes()
    assert book <= WHOLE_BOOK_MB
