"""Which samples try which requirement: `requirements` in the manifest.

Those that a sample breaks (`Vector.breaks`) are among them. A requirement on readers is tried by samples that
a reader without it answers wrong, or refuses.
"""

from __future__ import annotations

from typing import Final

TRIED_BY: Final = {
    # Readers
    "R1": "foreign-extension-inside foreign-empty-frame-inside foreign-header-in-two-frames dictionary "
    "dictionary-compressed foreign-other-use-of-magic-number foreign-last-extension-number",
    "R2": "damaged-cut-off damaged-cut-between-frames damaged-cut-off-in-trailer damaged-bytes-at-end "
    "damaged-checksum damaged-next-record damaged-no-frame damaged-no-record damaged-reserved-block "
    "damaged-block-too-large large-file-table-cut-off",
    "R3": "foreign-odd-trailer foreign-long-trailer foreign-no-trailer",
    "R4": "large-other-places",
    "R5": "large-padding large-one-small every-padding displaced-anchor-before damaged-next-record "
    "damaged-no-frame foreign-shared-frame",
    "R6": "damaged-dictionary-other damaged-dictionary-missing foreign-dictionary-late "
    "foreign-dictionary-late-other",
    "R7": "claimed-dictionary claimed-dictionary-frame foreign-dictionary-no-size",
    "R8": "claimed-content claimed-block",
    "R9": "foreign-shared-frame",
    "R10": "foreign-no-content-size foreign-no-content-checksum foreign-dictionary-not-named foreign-pzstd "
    "foreign-frame-of-more-than-8-mib foreign-cuts-in-no-order foreign-stream foreign-pzstd-program",
    "R11": "table-sizes-swapped table-content-from-nothing displaced-frame-beginning displaced-sum",
    "R12": "displaced-footer displaced-reserved-bit displaced-magic-number displaced-frame-size "
    "displaced-from-nothing displaced-anchor-wraps displaced-anchor-negative displaced-anchor-before "
    "table-count-wraps table-count-maximum table-unused-bits large-other-places claimed-entries",
    "R13": "claimed-entries",
    "R14": "displaced-anchor-after displaced-sum displaced-sum-wraps",
    "R15": "displaced-file-table-begin displaced-file-table-end untrue-file-table",
    "R16": "untrue-entry-without-content foreign-empty-frame-inside",
    "R17": "displaced-first-frame untrue-first-frame",
    "R18": "displaced-file-table-hides untrue-entry-swallows-frame",
    "R19": "displaced-frame-beginning displaced-frame-end displaced-frame-end-of-another "
    "displaced-content-size displaced-checksum",
    "R20": "displaced-content-size-less displaced-content-size-not-stated displaced-checksum-not-stated",
    "R21": "damaged-checksum displaced-frame-end",
    "R22": "large-other-places foreign-other-use-of-magic-number table-anchor-elsewhere table-in-padding",
    "R23": "large-other-places",
    "R26": "large-concatenated large-appended",
    "R27": "none damaged-reserved-block damaged-block-too-large large-wide-content-sizes",
    "R28": "dictionary-two-frames dictionary-bytes-after dictionary-empty dictionary-no-magic-number "
    "dictionary-id-0",
    "R29": "large-warc-in-any-case large-header-names-in-any-case large-two-content-lengths",
    "R33": "large-ranges-over-the-end",
    # Verifiers
    "V1": "damaged-checksum",
    "V2": "table-sizes-swapped displaced-checksum untrue-file-table table-anchor-elsewhere",
    "V3": "table-reserved-bit displaced-anchor-negative",
    "V4": "table-in-padding",
    "V5": "foreign-dictionary-late damaged-dictionary-other",
    "V6": "large-concatenated large-no-file-table",
    "V7": "large-two-record-tables-missing none-first-lead",
    "V8": "damaged-next-record claimed-content",
    "V10": "large-two-record-tables-missing large-one-table-only",
}
"""Names of samples, without `.warc.zst`, by the requirement."""


def requirements_of(name: str, breaks: str) -> list[str]:
    """Return the requirements that a sample tries, by kind and number."""
    tried = {number for number, names in TRIED_BY.items() if name in names.split()} | {*breaks.split()}
    return sorted(tried, key=lambda it: ("RVW".index(it[0]), int(it[1:])))
