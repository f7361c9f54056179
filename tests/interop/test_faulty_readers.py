"""Each single fault of a reader is found by a sample, and by that sample alone a reader without it passes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from conformance.answers import Answer, Verdict, judged, meets

from tests.interop import independent_reader
from tests.interop.faulty_readers import FAULTS, Fault, asking, faulty
from tests.interop.implementations import samples

MANIFEST = samples()
BY_NAME = {sample.file.removesuffix(".warc.zst"): sample for sample in MANIFEST.samples}


def judged_by(fault: Fault) -> list[Answer]:
    manifest = replace(MANIFEST, samples=(BY_NAME[fault.sample],))
    return list(judged(manifest, asking(faulty(fault))))


def test_a_reader_without_a_fault_meets_both_classes() -> None:
    answers = list(judged(MANIFEST, asking(independent_reader)))
    assert [it for it in answers if not it.allowed] == []
    assert Counter(it.question for it in answers)["records"] == len(MANIFEST.samples)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_each_single_fault_is_found_by_a_sample(fault: Fault) -> None:
    answers = judged_by(fault)
    assert not meets(answers, "seeks")
    if fault.sample.startswith("displaced"):
        found = {it.verdict for it in answers if not it.allowed}
        assert found & {Verdict.WRONG, Verdict.SHORT}, "the bytes of another frame, without a word"


def test_each_displaced_sample_finds_a_fault() -> None:
    displaced = {name for name in BY_NAME if name.startswith("displaced")}
    assert displaced - {fault.sample for fault in FAULTS} == set()
