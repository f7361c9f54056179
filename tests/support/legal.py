"""Values that each field may have and may not have, and records with the fewest fields."""

from __future__ import annotations

from seekwarc.format.profiles import SERVER_NOT_MODIFIED

Fields = list[tuple[str, str]]

LEGAL = {
    "WARC-Record-ID": ["<urn:uuid:d7ae5c10-e6b3-4d27-967d-34780c58ba39>", "<http://example.org/ids?a=1#b>"],
    "Content-Length": ["0", "007", "1234567890123456789012"],
    "WARC-Date": [
        "2016",
        "2016-01",
        "2016-01-11",
        "2016-01-11T23:24Z",
        "2016-01-11T23:24:25Z",
        "2016-01-11T23:24:25.4Z",
        "2016-01-11T23:24:25.412030001Z",
    ],
    "Content-Type": ["text/html", "application/http; msgtype=response", 'text/plain;charset="utf-8"'],
    "WARC-Concurrent-To": ["<urn:uuid:92283950-ef2f-4d72-b224-f54c6ec90bb0>"],
    "WARC-Block-Digest": [
        "sha1:AB2CD3EF4GH5IJ6KL7MN8OPQ",
        "sha-256:00ff",
        "md5:1B2M2Y8AsgTpgAmY7PhCfg==",
        "x:+/",
    ],
    "WARC-Payload-Digest": ["sha1:3EF4GH5IJ6KL7MN8OPQAB2CD", "nobody-knows:it"],
    "WARC-IP-Address": ["207.241.233.58", "2001:db8::1", "::", "::ffff:207.241.233.58"],
    "WARC-Refers-To": ["<urn:uuid:92283950-ef2f-4d72-b224-f54c6ec90bb0>"],
    "WARC-Refers-To-Target-URI": ["http://www.archive.org/images/logoc.jpg"],
    "WARC-Refers-To-Date": ["2016-09-19T17:20:24Z", "2016-09"],
    "WARC-Target-URI": ["http://www.archive.org/?a=%C3%A9", "dns:www.archive.org", "urn:x"],
    "WARC-Truncated": ["length", "time", "disconnect", "unspecified", "some-other-reason"],
    "WARC-Warcinfo-ID": ["<urn:uuid:d7ae5c10-e6b3-4d27-967d-34780c58ba39>"],
    "WARC-Filename": ["crawl 1.warc.zst", '"crawl.warc"', "caf\u00e9.warc"],
    "WARC-Profile": [SERVER_NOT_MODIFIED, "http://example.org/my-profile"],
    "WARC-Identified-Payload-Type": ["image/jpeg"],
    "WARC-Segment-Number": ["1", "01"],
    "WARC-Segment-Origin-ID": ["<urn:uuid:39509228-ae2f-11b2-763a-aa4c6ec90bb0>"],
    "WARC-Segment-Total-Length": ["1902", "0"],
}
"""Values that the grammar of each field's clause allows."""

NO_IDS = ["", "urn:uuid:1", "<>", "<urn:uuid:1", "<no-scheme>", "<urn:uuid: 1>", "<urn:a> <urn:b>"]
NO_URIS = ["", "www.archive.org", "http://a/ b", "http://a/caf\u00e9", "<http://a/>", "http://a/%zz"]
NO_DATES = [
    "",
    "now",
    "20160111232425",
    "2016-1-11",
    "2016-01-11T23:24:25",
    "2016-01-11t23:24:25z",
    "2016-01-11 23:24:25Z",
    "2016-01-11T23:24:25+01:00",
    "2016-01-11T23Z",
    "2016-01-11T23:24:25.Z",
    "2016-01-11T23:24:25.1234567890Z",
    # There are no such days and times.
    "2016-13",
    "2016-02-30",
    "2016-01-11T24:00:00Z",
    "2016-01-11T23:24:99Z",
]
NO_NUMBERS = ["", "-1", "+1", "1.5", "0x10", "one", "1 2", "\u0661"]
NO_DIGESTS = ["", "sha1", "sha1:", ":AB", "sha1:A B", "sha1 :AB", "sha(1):AB", "sha1:A,B"]
NO_MEDIA_TYPES = [
    "",
    "html",
    "text/",
    "text/html charset=utf-8",
    "text/html; charset=",
    "text/html, text/plain",
]
ILLEGAL = {
    "WARC-Record-ID": NO_IDS,
    "Content-Length": NO_NUMBERS,
    "WARC-Date": NO_DATES,
    "WARC-Type": ["", "re sponse", "response;", "r\u00e9ponse"],
    "Content-Type": NO_MEDIA_TYPES,
    "WARC-Concurrent-To": NO_IDS,
    "WARC-Block-Digest": NO_DIGESTS,
    "WARC-Payload-Digest": NO_DIGESTS,
    "WARC-IP-Address": [
        "",
        "localhost",
        "1.2.3",
        "1.2.3.4.5",
        "256.1.1.1",
        "1.2.3.4:80",
        "[::1]",
        ":::",
        "16909060",
    ],
    "WARC-Refers-To": NO_IDS,
    "WARC-Refers-To-Target-URI": NO_URIS,
    "WARC-Refers-To-Date": NO_DATES,
    "WARC-Target-URI": NO_URIS,
    "WARC-Truncated": ["", "too long", "length;"],
    "WARC-Warcinfo-ID": NO_IDS,
    "WARC-Filename": [""],
    "WARC-Profile": NO_URIS,
    "WARC-Identified-Payload-Type": NO_MEDIA_TYPES,
    "WARC-Segment-Number": NO_NUMBERS,
    "WARC-Segment-Origin-ID": NO_IDS,
    "WARC-Segment-Total-Length": NO_NUMBERS,
}
"""Values that it does not."""


def legal_record(kind: str) -> Fields:
    """The fewest fields that a record of some type may have."""
    fields = [
        ("WARC-Type", kind),
        ("WARC-Record-ID", "<urn:uuid:d7ae5c10-e6b3-4d27-967d-34780c58ba39>"),
        ("WARC-Date", "2016-09-19T17:20:24Z"),
        ("Content-Length", "0"),
    ]
    if kind not in ("warcinfo", "metadata"):
        fields.append(("WARC-Target-URI", "http://www.archive.org/"))
    if kind == "revisit":
        fields.append(("WARC-Profile", SERVER_NOT_MODIFIED))
    if kind == "continuation":
        fields.append(("WARC-Segment-Number", "2"))
        fields.append(("WARC-Segment-Origin-ID", "<urn:uuid:39509228-ae2f-11b2-763a-aa4c6ec90bb0>"))
    return fields


def without(fields: Fields, name: str) -> Fields:
    return [field for field in fields if field[0] != name]


def having(fields: Fields, name: str, *values: str) -> Fields:
    return [*without(fields, name), *((name, value) for value in values)]
