"""Reproducers made of hand-made traces: what stands in the script, and why there is none. Nothing
is run but the literals.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

import tilelang_trace
from tests.compiled import a_context, a_pass, failed, trace
from tilelang_trace.analysis.selection.choose import select
from tilelang_trace.analysis.selection.selection import selection
from tilelang_trace.errors import UserError
from tilelang_trace.sharing.reproducer import Reproducer, failed_pass_of, make_reproducer, verify
from tilelang_trace.sharing.reproducer.reproducer import Expected
from tilelang_trace.sharing.reproducer.verify import _judged
from tilelang_trace.trace.failed_passes import kept_of
from tilelang_trace.trace.model import Trace

ENTRY: dict[str, Any] = {
    "name": "tirx.VerifyMemory",
    "opt_level": 0,
    "maker": "tvm.tirx.transform.VerifyMemory",
    "arguments": {},
    "arguments_from": "call",
    "context": {
        "opt_level": 3,
        "required_pass": [],
        "disabled_pass": ["Other"],
        "config": {"tirx.disable_vectorize": True},
        "left_out": [],
    },
    "target": {"kind": "llvm"},
    "text": "module",
    "json": "{}",
    "left_out": {},
}


def with_entry(name: str = "tirx.VerifyMemory", **changes: Any) -> Trace:
    """A trace of one failed pass with this entry; a change to None takes a key away."""
    entry = {k: v for k, v in {**ENTRY, **changes}.items() if v is not None}
    pass_ = a_pass(name, ir={"kept": 0}, **failed("one\ntwo"))
    return trace(a_context(pass_), failed_passes=[entry], versions={"tvm": "0.27.0"})


def constants(script: str) -> dict[str, Any]:
    """The values at the top of a script, read as literals."""
    found = {}
    for node in ast.parse(script).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = ast.literal_eval(node.value)
    return found


def test_the_script_has_what_the_trace_has() -> None:
    made = make_reproducer(with_entry())
    assert (made.why_not, made.notes) == ("", ())
    assert sorted(made.files) == ["ir/before.json", "ir/before.py", "reproducer.py"]
    assert constants(made.files["reproducer.py"]) == {
        "PASS": "tirx.VerifyMemory",
        "MAKERS": [["tvm.tirx.transform", "VerifyMemory", {}]],
        "CONTEXT": {
            "opt_level": 3,
            "required_pass": [],
            "disabled_pass": ["Other"],
            "config": {"tirx.disable_vectorize": True},
        },
        "TARGET": {"kind": "llvm"},
        "VERSIONS": {"tvm": "0.27.0"},
        "EXPECTED": ["ValueError", "one"],
        "NOTES": [],
    }
    assert made.expected == Expected("ValueError", "one")


def test_tilelang_is_imported_first_where_it_was_there() -> None:
    traced = with_entry()
    with_tilelang = dict(traced.metadata, versions={"tilelang": "0.1.15", "tvm": "0.25"})
    text = make_reproducer(trace_with(traced, with_tilelang)).files["reproducer.py"]
    assert text.index("import tilelang") < text.index("import tvm\n")
    assert "import tilelang" not in make_reproducer(traced).files["reproducer.py"]


def trace_with(traced: Trace, metadata: dict[str, Any]) -> Trace:
    from dataclasses import replace

    return replace(traced, metadata=metadata)


EVIL = [
    '"""\nimport os; os.abort()\n"""',
    "'; import os; os.abort(); '",
    "x\nimport os\nos.abort()",
    "\\",
    "\u2028import os\r\x0cimport os",
    "@VALUES@ @MAKE@ @LOAD@",
    "{0} %s {PASS}",
    "\N{RIGHT-TO-LEFT OVERRIDE}sys",
]


@pytest.mark.parametrize("evil", EVIL)
def test_no_text_of_a_trace_becomes_code(evil: str) -> None:
    made = make_reproducer(
        with_entry(
            name=evil,
            arguments={evil: [evil, {evil: evil}]},
            context={**ENTRY["context"], "config": {evil: evil}, "left_out": [evil]},
            target={evil: evil},
        )
    )
    plain = make_reproducer(with_entry(context={**ENTRY["context"], "left_out": ["x"]}))
    text = made.files["reproducer.py"]
    assert text.isascii()
    found = constants(text)
    assert found["TARGET"] == {evil: evil}
    assert found["CONTEXT"]["config"] == {evil: evil}
    assert found["MAKERS"] == [["tvm.tirx.transform", "VerifyMemory", {evil: [evil, {evil: evil}]}]]
    assert code(text) == code(plain.files["reproducer.py"])


def code(script: str) -> list[str]:
    """All of a script but the values of its constants."""
    return [ast.dump(node) for node in ast.parse(script).body if not isinstance(node, ast.Assign)]


@pytest.mark.parametrize(
    "maker",
    ["os.abort", "os.transform.abort", "tvm.transform", "tvm.a b.transform.X", "tvm.transform._x",
     "tvmx.transform.X", "tvm.relax.transform.X\n", "tvm..transform.X", 7, ["tvm.transform.X"]],
)  # fmt: skip
def test_a_maker_is_a_function_of_tvm(maker: Any) -> None:
    made = make_reproducer(with_entry(maker=maker))
    assert "reproducer.py" not in made.files
    assert "is no function that makes a pass" in made.why_not


@pytest.mark.parametrize("function", ["system", "tirx.transform.X()", "a.transform.b c"])
def test_so_is_a_global_function(function: str) -> None:
    made = make_reproducer(with_entry(maker=None, function=function))
    assert "is no function that makes a pass" in made.why_not


class TestNotes:
    """What is taken that is not known."""

    @pytest.mark.parametrize(
        ("changes", "note"),
        [
            ({"arguments_from": "default"}, "the arguments of tirx.VerifyMemory are not known"),
            ({"arguments": None}, "the arguments of tirx.VerifyMemory can't be kept"),
            ({"maker": None, "function": "tirx.transform.VerifyMemory"}, "are not known"),
            ({"context": {**ENTRY["context"], "left_out": ["x.y"]}}, "the option 'x.y'"),
            ({"context": None}, "the PassContext is not known"),
        ],
    )
    def test_are_told_in_the_script_too(self, changes: dict[str, Any], note: str) -> None:
        made = make_reproducer(with_entry(**changes))
        assert len(made.notes) == 1
        assert note in made.notes[0]
        assert constants(made.files["reproducer.py"])["NOTES"] == list(made.notes)


class TestWhyNot:
    def why(self, traced: Trace) -> str:
        made = make_reproducer(traced)
        assert "reproducer.py" not in made.files
        assert verify(made).words == f"there is no reproducer: {made.why_not}"
        return made.why_not

    def test_nothing_failed(self) -> None:
        assert self.why(trace(a_pass("p"))) == "nothing failed in this trace"

    def test_what_failed_is_no_pass(self) -> None:
        assert "is no pass" in self.why(trace(a_context(a_pass("p"), **failed("x"))))

    def test_nothing_was_kept(self) -> None:
        assert "--ir off" in self.why(trace(a_pass("p", **failed("x"))))

    def test_it_died_with_the_process(self) -> None:
        error = {"status": "failed", "error": {"type": "SIGSEGV", "cause": "signal"}}
        assert "--ir disk" in self.why(trace(a_pass("p", **error)))

    def test_a_pass_in_python(self) -> None:
        traced = with_entry(maker=None)
        assert "is defined in Python" in self.why(traced)
        assert sorted(make_reproducer(traced).files) == ["ir/before.json", "ir/before.py"]

    def test_a_module_that_is_too_large(self) -> None:
        left_out = {"text": "it has 9 characters", "json": "it holds 8 bytes of constants"}
        why = self.why(with_entry(json=None, left_out=left_out))
        assert "it holds 8 bytes of constants" in why

    def test_constants_that_the_text_has_not(self) -> None:
        left_out = {"json": "no save_json"}
        text = 'R.add(x, metadata["relax.expr.Constant"][0])'
        assert "no save_json" in self.why(with_entry(json=None, text=text, left_out=left_out))

    @pytest.mark.parametrize("number", [1, -1, True, "0", None])
    def test_a_number_that_points_nowhere(self, number: Any) -> None:
        pass_ = a_pass("p", ir={"kept": number}, **failed("x"))
        assert "was not kept" in self.why(trace(pass_, failed_passes=[ENTRY]))

    def test_a_value_that_is_none(self) -> None:
        assert "is not finite" in self.why(with_entry(target={"x": float("inf")}))


def test_the_text_is_loaded_where_there_is_no_json() -> None:
    text = make_reproducer(with_entry(json=None)).files["reproducer.py"]
    assert "from_source" in text
    assert "from_source" not in make_reproducer(with_entry()).files["reproducer.py"]


def test_the_last_pass_of_which_something_was_kept_is_taken() -> None:
    kept = [a_pass(name, ir={"kept": i}, **failed("x")) for i, name in enumerate("ab")]
    entries = [{**ENTRY, "name": name} for name in "ab"]
    traced = trace(*kept, a_pass("c", **failed("x")), failed_passes=entries)
    row = failed_pass_of(traced)
    assert row is not None
    assert traced.name(row) == make_reproducer(traced).name == "b"


def test_a_part_of_a_trace_has_the_modules_of_its_passes_only() -> None:
    contexts = [
        a_context(a_pass(name, ir={"kept": i}, **failed("x")), kernel=name)
        for i, name in enumerate("ab")
    ]
    traced = trace(*contexts, failed_passes=[{**ENTRY, "name": name} for name in "ab"])
    [part] = select(traced, selection("b", 0.0, None)).parts
    assert part.trace.metadata["failed_passes"] == [None, {**ENTRY, "name": "b"}]
    assert make_reproducer(part.trace).why_not == ""


@pytest.mark.parametrize("ending", ["pftrace", "json", "pftrace.gz"])
def test_a_long_module_survives_every_format(tmp_path: Path, ending: str) -> None:
    text = '"\\\n\N{SNOWMAN}' * 100_000
    traced = with_entry(text=text, json=text)
    tilelang_trace.write(traced, tmp_path / f"x.{ending}")
    again = tilelang_trace.read(tmp_path / f"x.{ending}")
    row = failed_pass_of(again)
    assert row is not None
    kept = kept_of(again, row)
    assert kept is not None
    assert kept["text"] == kept["json"] == text


class TestVerdict:
    """Judged by what a script printed and how it ended."""

    ERROR = Expected("InternalError", "no")
    ENDED = 'reproducer: ended in [["InternalError", "InternalError"], "\\n no \\nmore"]\n'
    RUNNING = "reproducer: running 'p'\n"

    def test_the_same_error(self) -> None:
        assert _judged(1, self.RUNNING + self.ENDED, self.ERROR).same

    @pytest.mark.parametrize(
        ("code", "printed", "words"),
        [
            (1, ENDED, "it failed before it ran the pass"),
            (1, RUNNING + ENDED.replace("no", "yes"), "it ended in InternalError: yes, the"),
            (1, RUNNING + ENDED.replace("Internal", "Key"), "it ended in KeyError: no, the"),
            (0, RUNNING, "it ended in no error, the trace in InternalError: no"),
            (-11, RUNNING, "it ended in SIGSEGV, the trace in InternalError: no"),
            (3, RUNNING, "it ended in exit code 3, the trace in InternalError: no"),
        ],
    )  # fmt: skip
    def test_another_end(self, code: int, printed: str, words: str) -> None:
        verdict = _judged(code, printed, self.ERROR)
        assert not verdict.same
        assert verdict.words.startswith(words)
        assert verdict.output

    def test_a_signal(self) -> None:
        assert _judged(-11, self.RUNNING, Expected("SIGSEGV")).same
        assert not _judged(-6, self.RUNNING, Expected("SIGSEGV")).same
        assert not _judged(-11, "", Expected("SIGSEGV")).same

    def test_no_escape_reaches_the_terminal(self) -> None:
        verdict = _judged(1, self.RUNNING + "\x1b]0;x\x07\x9b", self.ERROR)
        assert verdict.output.isprintable() or "\x1b" not in verdict.output


def test_what_is_hidden_in_the_trace_is_hidden_in_what_is_printed() -> None:
    printed = TestVerdict.RUNNING + 'reproducer: ended in [["OSError", ""], "/home/jdoe/x: gone"]'
    files = {"reproducer.py": f"print({printed!r}); raise SystemExit(1)"}
    made = Reproducer("p", files, expected=Expected("OSError", "<home>/x: gone"))
    assert not verify(made).same
    verdict = verify(made, shown=lambda text: text.replace("/home/jdoe", "<home>"))
    assert verdict.words == "it ended in the same error, OSError: <home>/x: gone"


def test_a_script_that_never_ends_is_ended() -> None:
    files = {"reproducer.py": "import time; time.sleep(60)"}
    verdict = verify(Reproducer("p", files, expected=Expected("E")), timeout=0.5)
    assert verdict.words == "it still ran after 0.5 s"


def test_a_folder_that_can_t_be_written(tmp_path: Path) -> None:
    from tilelang_trace.sharing.reproducer import write_files

    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="can't be written"):
        write_files(make_reproducer(with_entry()), str(tmp_path / "file"))
