"""What is said of dropped files, and how long it stands."""

import pytest

from ui.documents.upload import UploadLine, UploadReport

A, B = UploadLine("a.md", "added", "1"), UploadLine("b.md", "added", "2")


@pytest.fixture
def report() -> UploadReport:
    return UploadReport()


def told(report: UploadReport, *lines: UploadLine) -> None:
    with report.writing():
        for line in lines:
            report.add(line)


def test_an_upload_is_taken_by_one_run_only(report: UploadReport):
    assert report.claim(["1", "2"]) == {"1", "2"}
    assert report.claim(["1", "2", "3"]) == {"3"}


def test_what_was_not_shown_yet_stands_beside_what_comes(report: UploadReport):
    told(report, A)
    report.put_away("documents")
    report.put_away()
    told(report, B)
    assert report.lines == (A, B)


def test_what_was_shown_makes_room(report: UploadReport):
    told(report, A)
    report.place = "documents"
    told(report, B)
    assert report.lines == (B,)


def test_it_stands_where_it_was_shown_and_nowhere_else(report: UploadReport):
    told(report, A, B)
    report.put_away("documents")
    report.place = "documents"
    report.put_away("documents")
    assert report.lines == (A, B)
    report.put_away("chat")
    assert report.lines == ()


@pytest.mark.parametrize("end", [UploadReport.close, UploadReport.put_away])
def test_it_is_closed_and_put_away_when_something_else_is_done(report: UploadReport, end):
    told(report, A)
    report.place = "documents"
    end(report)
    assert report.lines == ()


def test_it_grows_while_files_are_taken_and_no_longer_where_that_fails(report: UploadReport):
    with pytest.raises(OSError), report.writing():
        report.add(A)
        assert report.growing and report.lines == (A,)
        raise OSError
    assert not report.growing and report.lines == (A,)
