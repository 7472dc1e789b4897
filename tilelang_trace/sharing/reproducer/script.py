"""The text of a reproducer's script: plain Python that runs where the same TVM or TileLang is, with
no tilelang_trace.

All that comes from a trace stands in it as a literal (`repr` of a plain value), on lines of its own
at the top: names, options and targets of a stranger can't become code. A comment has no text of the
trace at all. What the literals can do is bounded below: a pass is made by a function of TVM or
TileLang, and only if its name is that of one that makes passes.
"""

from __future__ import annotations

import math
import pprint
import re
from dataclasses import dataclass
from typing import Any

from tilelang_trace.trace.json_values import Json

RUNNING = "reproducer: running"
"""Begins a line that the script prints right before it runs the pass: an error before that is not
the pass's.
"""

ENDED = "reproducer: ended in "
"""Begins a line that it prints when an exception comes out of the pass, with a JSON value behind:
[names of the type, text].
"""

_MAKER = re.compile(r"((?:tvm|tilelang)(?:\.[a-z][a-z0-9_]*)*\.transform)\.([A-Za-z][A-Za-z0-9_]*)")
"""Names of the Python functions that make passes: module and name."""

_FUNCTION = re.compile(r"[A-Za-z0-9_.]+\.transform\.[A-Za-z0-9_]+")
"""Names of the global functions that do."""


class CannotBeMade(Exception):
    """Why there is no script, in plain words."""


@dataclass(frozen=True)
class Script:
    """A script, and what it does, in words."""

    text: str
    notes: list[str]
    """What it takes that is not known."""
    settings: list[str]
    """How it runs the pass."""


def script(
    entry: dict[str, Any], module: str, versions: dict[str, str], expected: list[Json]
) -> Script:
    """The script for an entry of `trace.failed_passes`.

    `module` is the file that it loads, relative to its own folder; `expected` is what it should end
    in: type and first line. Raises CannotBeMade.
    """
    notes: list[str] = []
    makers = _makers(entry, notes)
    context = entry.get("context")
    context = context if isinstance(context, dict) else {}
    options = {
        "opt_level": context.get("opt_level", 2),
        "required_pass": context.get("required_pass", []),
        "disabled_pass": context.get("disabled_pass", []),
        "config": context.get("config", {}),
    }
    for option in context.get("left_out") or ():
        notes.append(f"the option {option!r} of the PassContext is left out: it is no plain value")
    if "context" not in entry:
        notes.append("the PassContext is not known, the default one is taken")
    constants = {
        "PASS": str(entry.get("name", "")),
        "MAKERS": makers,
        "CONTEXT": options,
        "TARGET": entry.get("target"),
        "VERSIONS": versions,
        "EXPECTED": expected,
        "NOTES": notes,
    }
    values = "".join(f"{name} = {_literal(value)}\n" for name, value in constants.items())
    first = "import tilelang  # brings its own TVM\n" if "tilelang" in versions else ""
    loader = _LOAD_JSON if module.endswith(".json") else _LOAD_TEXT
    parts = {
        "@IMPORT_FIRST@": first,
        "@RUNNING@": _literal(RUNNING),
        "@ENDED@": _literal(ENDED),
        "@LOAD@": loader.replace("@MODULE@", _literal(module)),
        "@MAKE@": _MAKE_SEQUENTIAL if "passes" in entry else _MAKE_ONE,
        # Last, so that nothing in a value is taken for one of these.
        "@VALUES@": values,
    }
    text = _TEMPLATE
    for name, part in parts.items():
        text = text.replace(name, part)
    settings = [f"pass: {module or 'global function'} {f}, {given}" for module, f, given in makers]
    settings += [f"{name}: {value}" for name, value in options.items() if value]
    settings.append(f"target: {entry.get('target')}")
    return Script(text, notes, settings)


def _makers(entry: dict[str, Any], notes: list[str]) -> list[Json]:
    """[module, function, arguments] for each pass that the script makes; the module is None for a
    global function.
    """
    passes = entry.get("passes")
    wanted = [entry] if not isinstance(passes, list) else passes
    return [_maker(one if isinstance(one, dict) else {}, notes) for one in wanted]


def _maker(one: dict[str, Any], notes: list[str]) -> list[Json]:
    name, maker, function = str(one.get("name", "")), one.get("maker"), one.get("function")
    arguments = one.get("arguments")
    known = arguments if isinstance(arguments, dict) else {}
    if maker is not None:
        found = _MAKER.fullmatch(str(maker))
        if found is None:
            raise CannotBeMade(f"{maker!r} is no function that makes a pass")
        if not isinstance(arguments, dict):
            notes.append(f"the arguments of {name} can't be kept, it is made without any")
        elif one.get("arguments_from") != "call":
            notes.append(f"the arguments of {name} are not known, it is made without any")
        return [found[1], found[2], known]
    if function is None:
        raise CannotBeMade(
            f"no function of TVM is known that makes the pass {name}: it is defined in Python, "
            "which a trace does not hold"
        )
    if _FUNCTION.fullmatch(str(function)) is None:
        raise CannotBeMade(f"{function!r} is no function that makes a pass")
    notes.append(f"the arguments of {name} are not known, it is made without any")
    return [None, str(function), {}]


def _literal(value: Json) -> str:
    """A plain value as Python writes it, in ASCII: no character ends a line, or looks like another.

    Raises CannotBeMade for anything but plain values.
    """
    _check(value)
    text = pprint.pformat(value, width=96, sort_dicts=False)
    return text if text.isascii() else ascii(value)


def _check(value: Json) -> None:
    if type(value) is dict:
        for key, item in value.items():
            if type(key) is not str:
                raise CannotBeMade("a value in the trace has a key that is no text")
            _check(item)
    elif type(value) is list:
        for item in value:
            _check(item)
    elif type(value) is float and not math.isfinite(value):
        raise CannotBeMade("a number in the trace is not finite")
    elif value is not None and type(value) not in (bool, int, float, str):
        raise CannotBeMade(f"a value in the trace is a {type(value).__name__}")


_LOAD_JSON = """\
    # TVM's own JSON of the module: reading it runs no code.
    text = (pathlib.Path(__file__).parent / @MODULE@).read_text(encoding="utf-8")
    return tvm.ir.load_json(text)
"""

_LOAD_TEXT = """\
    # TVMScript is Python: TVM evaluates expressions in it. Read it first, if you don't know whose
    # it is.
    text = (pathlib.Path(__file__).parent / @MODULE@).read_text(encoding="utf-8")
    return tvm.script.from_source(text, check_well_formed=False)
"""

_MAKE_ONE = """\
    [maker] = MAKERS
    return made_by(*maker)
"""

_MAKE_SEQUENTIAL = """\
    return tvm.transform.Sequential([made_by(*maker) for maker in MAKERS], name=PASS)
"""

_TEMPLATE = '''\
"""Runs one compiler pass that failed, on the module as it was before the pass.

Written by tilelang-trace from a trace. It needs the TVM (or TileLang) of the trace, nothing else:

    python reproducer.py

It should end in the error EXPECTED, which is the type and the first line of its text, or a signal.
"""

import importlib
import json
import pathlib
import threading

@IMPORT_FIRST@import tvm
import tvm.target

try:
    import tvm.relax  # its passes and its types are there only once it is imported
except ImportError:
    pass

@VALUES@

def load_module():
@LOAD@

def made_by(module, function, arguments):
    if module is None:
        return tvm.get_global_func(function)()
    return getattr(importlib.import_module(module), function)(**arguments)


def make_pass():
@MAKE@

def with_deep_stack(function):
    """What the function gives, in a thread of its own: reading a deep module takes a deep stack."""
    results = []
    threading.stack_size(1 << 28)
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    threading.stack_size(0)
    return results[0]


def run(failing, module):
    """Runs the pass, and prints what comes out of it in a form that a program can read."""
    print(@RUNNING@, ascii(PASS), flush=True)
    try:
        failing(module)
    except BaseException as error:
        # What crossed from C++ knows the name and the text that the error had there.
        crossed = getattr(error, "__tvm_ffi_error__", None)
        types = [type(error).__name__, getattr(crossed, "kind", "")]
        print(@ENDED@ + json.dumps([types, getattr(crossed, "message", str(error))]), flush=True)
        raise
    print("the pass did not fail")


def main():
    print("versions of the trace:", VERSIONS, "- here: tvm", tvm.__version__)
    for note in NOTES:
        print("note:", ascii(note))
    module = with_deep_stack(load_module)
    failing = make_pass()
    with tvm.transform.PassContext(**CONTEXT):
        if TARGET is None:
            run(failing, module)
        else:
            with tvm.target.Target(TARGET):
                run(failing, module)


if __name__ == "__main__":
    main()
'''
