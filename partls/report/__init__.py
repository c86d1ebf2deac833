"""One page that shows a fitted model to people: self-contained HTML that opens offline, in any browser.

``subject`` says what the page is about, ``proof`` puts into words what was proved, ``document`` gathers the figures,
``page`` wraps them, with the script and style in ``assets``, into one file.
"""

from partls.report.page import write_report

__all__ = ["write_report"]
