"""Messages and mailboxes: valid and malformed."""

from __future__ import annotations

import io
import mailbox
import zipfile
from email.message import EmailMessage
from email.mime.application import MIMEApplication
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from pathlib import Path

import pytest

from documents.extracted import extracted
from winnow.documents.formats import mail
from winnow.documents.library.locations import DocumentLocation
from winnow.documents.unreadable import Unreadable


def message(
    subject: str = "Grüße aus Köln", body: str = "Erste Zeile\nzweite größe\n"
) -> EmailMessage:
    made = EmailMessage()
    made["From"] = "Jörg <a@example.org>"
    made["To"] = "b@example.org"
    made["Cc"] = "c@example.org"
    made["Date"] = "Sat, 21 Nov 2026 12:00:00 +0000"
    made["Subject"] = subject
    made["X-Hidden"] = "not shown"
    made.set_content(body)
    return made


HEADERS = [
    "From: Jörg <a@example.org>",
    "To: b@example.org",
    "Cc: c@example.org",
    "Date: Sat, 21 Nov 2026 12:00:00 +0000",
    "Subject: Grüße aus Köln",
]


def zipped() -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("in.txt", "inside\n")
    return archive.getvalue()


def test_headers_and_the_body_are_lines() -> None:
    found = extracted("a.eml", message().as_bytes())
    assert (found.shown, found.failed) == ([*HEADERS, "Erste Zeile", "zweite größe"], [])


def test_the_plain_text_body_is_preferred() -> None:
    made = message()
    made.add_alternative("<p>as a page</p>", subtype="html")
    assert extracted("a.eml", made.as_bytes()).lines == [*HEADERS, "Erste Zeile", "zweite größe"]


def test_an_html_body_is_read_without_a_plain_text_body() -> None:
    made = EmailMessage()
    made["Subject"] = "page"
    made.set_content("<h1>Title</h1><p>Gr&ouml;ße <b>im</b>mer</p>", subtype="html")
    found = extracted("a.eml", made.as_bytes())
    assert found.lines == ["Subject: page", "Title", "Größe immer"]
    assert found.text_map.place_at(2) == DocumentLocation()


def test_attachments_are_members() -> None:
    made = message()
    made.add_attachment(zipped(), maintype="application", subtype="zip", filename="größe ✓.zip")
    made.add_attachment("text,of\na,table\n", subtype="csv", filename="../t.csv")
    made.add_attachment(zipped(), maintype="application", subtype="zip", filename="scan")
    made.add_attachment(bytes(100), maintype="application", subtype="octet-stream", filename="x")
    made.add_attachment(message("Inner", "forwarded\n"))
    found = extracted("a.eml", made.as_bytes())
    assert found.shown[7:] == [
        *("──── größe ✓.zip ────", "──── größe ✓.zip!/in.txt ────", "inside"),
        *("──── t.csv ────", "text,of", "a,table"),
        *("──── scan.zip ────", "──── scan.zip!/in.txt ────", "inside"),
        *("──── Inner.eml ────", *HEADERS[:4], "Subject: Inner", "forwarded"),
    ]
    assert found.failed == []


def test_attachments_without_names_get_names() -> None:
    made = MIMEMultipart()
    made["Subject"] = "s"
    made.attach(MIMEApplication(zipped(), "zip"))
    made.attach(MIMEText("begin", "calendar"))
    assert [line for line in extracted("a.eml", made.as_bytes()).shown if "─" in line] == [
        *("──── attachment 1.zip ────", "──── attachment 1.zip!/in.txt ────"),
        "──── attachment 2 ────",
    ]


@pytest.mark.parametrize(
    ("raw", "subject"),
    [
        (b"=?utf-8?q?Gr=C3=B6=C3=9Fe?= and =?iso-8859-1?b?5A==?=", "Größe and ä"),
        (b"=?utf-8?b?R3LDtg==?=\r\n =?utf-8?b?w59l?=", "Größe"),
        (b"folded\r\n\tover lines", "folded over lines"),
        ("roh größe".encode(), "roh größe"),
        ("roh größe".encode("latin-1"), "roh größe"),
        (b"=?nonsense?q?abc?=", "abc"),
        (b"=?utf-8?b?a?=", "=?utf-8?b?a?="),
    ],
)
def test_headers_are_decoded(raw: bytes, subject: str) -> None:
    assert extracted("a.eml", b"Subject: " + raw + b"\r\n\r\n").lines == [f"Subject: {subject}"]


@pytest.mark.parametrize(
    ("charset", "body"),
    [
        (b"utf-8", "größe".encode()),
        (b"iso-8859-1", "größe".encode("latin-1")),
        (b"unheard-of", "größe".encode()),
        (b"base64", "größe".encode()),
        (b"us-ascii\0", "größe".encode()),
    ],
)
def test_bodies_are_decoded(charset: bytes, body: bytes) -> None:
    header = b"Subject: s\nContent-Type: text/plain; charset=" + charset
    assert extracted("a.eml", header + b"\n\n" + body).lines[1:] == ["größe"]


def multipart(*parts: bytes, end: bytes = b"--x--\n") -> bytes:
    header = b"Subject: s\nContent-Type: multipart/mixed; boundary=x\n\n"
    return header + b"".join(b"--x\n" + part + b"\n" for part in parts) + end


BASE64 = b"Content-Disposition: attachment; filename=%s\nContent-Transfer-Encoding: Base64\n\n%s"


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (b"aGVsbG8gd29ybGQ=", "hello world"),
        (b"aGVsbG8gd29ybGQ", "hello world"),
        (b"aGVs\r\nbG8g!d29y\nbGQ=\n\n", "hello world"),
    ],
)
def test_base64_with_irregular_lines_is_decoded(written: bytes, text: str) -> None:
    found = extracted("a.eml", multipart(BASE64 % (b"a.txt", written)))
    assert (found.lines, found.failed) == (["Subject: s", text], [])


def test_long_base64_is_decoded_in_chunks() -> None:
    text = "".join(f"line {number}\n" for number in range(100_000))
    made = EmailMessage()
    made["Subject"] = "s"
    made.add_attachment(text.encode(), maintype="application", subtype="x-log", filename="a.log")
    assert extracted("a.eml", made.as_bytes()).lines == ["Subject: s", *text.splitlines()]


def test_broken_base64_does_not_affect_the_rest() -> None:
    document = multipart(BASE64 % (b"a.txt", b"aGVsb"), BASE64 % (b"b.txt", b"b2s="))
    found = extracted("a.eml", document)
    assert found.lines == ["Subject: s", "hel", "ok"]
    ((name, reason),) = found.failed
    assert (name, reason[:27]) == ("a.txt", "it is damaged: Error: Inval")


def test_a_message_without_its_boundaries_is_read() -> None:
    cut = multipart(b"\nfirst", b"\nsecond", end=b"")
    assert extracted("a.eml", cut).lines == ["Subject: s", "first", "second"]
    missing = b"Subject: s\nContent-Type: multipart/mixed; boundary=y\n\nplain text\n"
    assert extracted("a.eml", missing).lines == ["Subject: s", "plain text"]


@pytest.mark.parametrize(
    "kind",
    [
        b"multipart/encrypted; boundary=x\n\n--x\n\nVersion: 1\n--x--\n",
        b"application/pkcs7-mime; smime-type=enveloped-data\n\nMIAG",
    ],
)
def test_an_encrypted_message_is_reported(kind: bytes) -> None:
    found = extracted("a.eml", b"Subject: s\nContent-Type: " + kind)
    assert (found.lines, found.failed) == (["Subject: s"], [("", "it is encrypted")])


def test_a_long_message_is_truncated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mail, "LONGEST_MESSAGE", 100)
    monkeypatch.setattr(mail, "_TOO_LONG", "too long")
    found = extracted("a.eml", b"Subject: s\n\n" + b"x" * 200)
    assert (found.lines, found.failed) == (["Subject: s", "x" * 88], [("", "too long")])


def test_a_file_that_is_not_a_message_is_reported() -> None:
    for document in (b"", b"no header\n", bytes(1000)):
        with pytest.raises(Unreadable, match=r"^it is not a message: it has no headers$"):
            extracted("a.eml", document)


def test_nested_messages_are_read_to_a_depth() -> None:
    made = message("0", "body 0\n")
    for number in range(1, 12):
        outer = message(str(number), f"body {number}\n")
        outer.add_attachment(made)
        made = outer
    found = extracted("a.eml", made.as_bytes())
    assert [line for line in found.lines if line.startswith("body")] == [
        f"body {number}" for number in range(11, 5, -1)
    ]
    path = "!/".join(f"{number}.eml" for number in range(10, 4, -1))
    assert found.failed == [(path, "it is nested in more than 5 archives")]


# --- mailboxes ---------------------------------------------------------------------------------


def test_messages_of_a_mailbox_are_parts(tmp_path: Path) -> None:
    made = mailbox.mbox(tmp_path / "a.mbox")
    with_attachment = message("Zip", "see\n")
    with_attachment.add_attachment(
        zipped(), maintype="application", subtype="zip", filename="z.zip"
    )
    for one in (message("One", "From here on\n\nFrom there\n"), with_attachment, message("")):
        made.add(one)
    made.close()
    found = extracted("a.mbox", (tmp_path / "a.mbox").read_bytes())
    assert found.shown == [
        *("──── Message 1: One ────", *HEADERS[:4], "Subject: One"),
        *("From here on", "", "From there", ""),
        *("──── Message 2: Zip ────", *HEADERS[:4], "Subject: Zip", "see"),
        *("──── z.zip ────", "──── z.zip!/in.txt ────", "inside"),
        *("──── Message 3 ────", *HEADERS[:4], "Erste Zeile", "zweite größe", ""),
    ]
    assert [found.text_map.place_at(line) for line in (1, 10, 16)] == [
        DocumentLocation(section="message 1: One"),
        DocumentLocation(section="message 2: Zip"),
        DocumentLocation(member="z.zip!/in.txt"),
    ]


@pytest.mark.parametrize("step", [1, 2, 3, 7, 50, 10**6])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_messages_are_found_at_any_chunk_boundary(
    monkeypatch: pytest.MonkeyPatch, step: int, end: str
) -> None:
    monkeypatch.setattr(mail, "CHUNK_BYTES", step)
    lines = (
        *("From a", "Subject: one", "", "text", "From inside", ">From quoted", ">>From twice", ""),
        *("From b", "Subject: two", "", "", "", "From c", "Subject: three", "", "end"),
    )
    found = extracted("a.mbox", end.join(lines).encode())
    assert found.shown == [
        *("──── Message 1: one ────", "Subject: one", "text", "From inside", "From quoted"),
        *(">From twice", ""),
        *("──── Message 2: two ────", "Subject: two", "", ""),
        *("──── Message 3: three ────", "Subject: three", "end"),
    ]


def test_only_the_beginning_of_a_large_mailbox_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = b"From a\nSubject: s\n\ntext\n\n"
    monkeypatch.setattr(mail, "LONGEST_MAILBOX", 2 * len(one))
    found = extracted("a.mbox", 10 * one)
    assert found.lines == 2 * ["Subject: s", "text", ""]
    assert found.failed == [("", "only the first 0 MiB of the mailbox are read")]


def test_a_file_that_is_not_a_mailbox_is_reported() -> None:
    for document in (b"*mbx*\r\n", b"Subject: s\n\n", bytes(1000)):
        with pytest.raises(
            Unreadable, match=r"^it is not a mailbox: it does not start with a message$"
        ):
            extracted("a.mbx", document)
    assert extracted("a.mbox", b"").lines == []
