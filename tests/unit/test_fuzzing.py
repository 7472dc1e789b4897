"""What the fuzzer has found, once more; and a little of what it does, also without atheris."""

from __future__ import annotations

import json
import random
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzzing.oracle import judge
from tests.fuzzing.targets import TARGETS, Choices
from tests.random_events import json_trace
from tests.random_packets import packets
from tilelang_trace.formats import files

FOUND = sorted((Path(__file__).parents[1] / "fuzzing" / "found").glob("*-*"))


@pytest.mark.parametrize("found", FOUND, ids=lambda path: path.name)
def test_what_was_found_is_mended(found: Path, tmp_path: Path) -> None:
    target = TARGETS[found.name.partition("-")[0]]
    path = tmp_path / "input"
    path.write_bytes(target.file(found.read_bytes()))
    judge(path)


@pytest.mark.parametrize("name", TARGETS)
def test_every_target_starts_from_sound_inputs(name: str, tmp_path: Path) -> None:
    target = TARGETS[name]
    path = tmp_path / "input"
    for data in islice(target.seeds(), 0, None, 8):
        path.write_bytes(target.file(data))
        judge(path)


@given(seed=st.integers(0, 2**32))
def test_random_events(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "random events"
    path.write_bytes(json_trace(random.Random(seed)))
    judge(path)


@given(seed=st.integers(0, 2**32))
def test_events_that_are_not_damaged_are_never_refused(
    seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    data = json_trace(random.Random(seed), damaged=False)
    path = tmp_path_factory.getbasetemp() / "sound events"
    path.write_bytes(data)
    parsed = json.loads(data)
    items = parsed["traceEvents"] if isinstance(parsed, dict) else parsed
    has_events = any(isinstance(item, dict) and isinstance(item.get("ph"), str) for item in items)
    if has_events or not items:
        files.read(path)


def test_choices_of_bytes_reach_everything_that_chance_does() -> None:
    bytes_ = random.Random(1).randbytes
    kinds = {packet.track_event.type for _ in range(30) for packet in packets(Choices(bytes_(500)))}
    assert kinds == {0, 1, 2, 3, 4}
    assert {Choices(bytes_(2)).choice("abc") for _ in range(50)} == set("abc")
    assert 0 <= Choices(b"\xff" * 2).random() < 1 and Choices(b"").choice("abc") == "a"
