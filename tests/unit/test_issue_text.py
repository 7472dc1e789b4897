"""The text of an issue: what it says, that it fits, and that no text of a trace acts in it.

The Markdown is rendered by markdown-it in the way of GitHub: tables, bare links, HTML. What GitHub
does afterwards, with the text that comes out, is looked for in that text.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.traces import TRACES, Passes, failed_compile, main_thread, nested_compile, still_running
from tilelang_trace.comparing import compare
from tilelang_trace.opening import open_trace
from tilelang_trace.reports.issue.fitting import Fold, cut, fitting, shown, size
from tilelang_trace.reports.issue.issue_text import comparison_text, issue_text
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.model import Trace

RECORDINGS = Path(__file__).parents[2] / "fixtures" / "recordings"
GITHUB = 65_536

HOSTILE = [
    "@octocat",
    "#12 owner/repo#1 GH-1",
    "https://github.com/owner/repo/issues/1 www.example.org",
    "0123456789abcdef0123456789abcdef01234567",
    "</details><script>alert(1)</script><img src=x onerror=alert(1)>",
    "```\n````\n@octocat\n~~~\n#12",
    "`@octocat` ``#12``",
    ":smile: $x$ $`y`$ $$z$$",
    "[link](https://example.org) ![image](https://example.org/a.png)",
    "[^1] | cell | --- | \\| \\",
    "&lt;b&gt; &#64;octocat &commat;octocat",
    "\u202e\u200b\u2066@\u200boctocat\x1b[31m\x00",
    "<!-- ",
    "> quote\n\n# heading\n- item\n\n```mermaid\ngraph TD\n```",
    "user@example.org mailto:user@example.org",
    "x" * 100_000,
    "`" * 3_000,
    "😀" * 5_000,
    "",
    " ",
]


def rendered(text: str) -> str:
    """HTML as GitHub makes it of an issue, up to its own steps."""
    markdown_it = pytest.importorskip("markdown_it")
    pytest.importorskip("linkify_it")
    renderer = markdown_it.MarkdownIt("gfm-like")
    # GitHub makes no link of the bare name of a host; for what begins with `www.` see `acts`.
    renderer.linkify.set({"fuzzy_link": False})
    html: str = renderer.render(text)
    return html


def prose(html: str) -> str:
    """The text that stands in no code: GitHub leaves alone what does."""
    return re.sub(r"<[^>]*>", "", re.sub(r"<code[^>]*>.*?</code>", "", html, flags=re.DOTALL))


def acts(text: str) -> list[str]:
    """What of a text would act on GitHub, but for our own link, picture and folds."""
    html = rendered(text)
    html = html.replace('<a href="https://ui.perfetto.dev">ui.perfetto.dev</a>', "")
    tags = set(re.findall(r"<(/?[a-zA-Z!][^\s>]*)", html))
    ours = (
        *("h1", "h2", "h3", "p", "ul", "li", "pre", "code", "table", "thead", "tbody", "tr"),
        *("th", "td", "details", "summary", "strong"),
    )
    found = sorted(tags - {*ours, *(f"/{name}" for name in ours)})
    found += re.findall(
        r"@\w+|#\d+|GH-\d+|https?:|www\.|:\w+:|\$.*\$|\b[0-9a-f]{40}\b|[\u200b-\u206f]",
        prose(html),
    )
    return found


def hostile(count: int = len(HOSTILE)) -> Trace:
    """A failed compile in which every text that can be is hostile."""
    builder = TraceBuilder()
    texts = HOSTILE[:count]
    builder.metadata = {
        "command": texts,
        "tool": texts[0],
        "kernel": texts[1],
        "target": texts[2],
        "working_directory": texts[4],
        "versions": {"tvm": texts[3], "python": texts[4], **{text: text for text in texts}},
        "host": {"platform": texts[5], "machine": texts[6]},
        "recording": {"complete": False, "reason": "\n".join(texts)},
        "exit": {"code": 1, "stack": "\n".join(texts)},
        "odd": {text: {"value": text, "list": texts} for text in texts},
    }
    lane = main_thread(builder, texts[4])
    config = {text: text for text in texts}
    context = {"status": "incomplete", "context": 0, "kernel": texts[8], "config": config}
    error = {"type": texts[0], "cause": texts[1], "message": texts[5]}
    builder.slice(lane, 0, 10**9, "PassContext", "context", {**context, "error": error})
    a_pass = Passes(builder, lane)
    for depth, name in enumerate(texts):
        a_pass(depth, 10**9 - depth, name or "?", phase=name, status="incomplete", error=error)
    whole = {**error, "detail": "\n".join(texts)}
    inside = 10**6
    for number, name in enumerate(texts):
        begin = inside + number * 10**6
        failed = {"status": "failed", "error": {**whole, "message": name}}
        a_pass(begin, begin + 10**6, name or "?", **failed)
    return builder.build()


def of_signal(cause: str = "signal") -> Trace:
    builder = TraceBuilder()
    a_pass = Passes(builder, main_thread(builder))
    error = {
        "type": "SIGSEGV",
        "cause": cause,
        "message": "the process was killed by SIGSEGV",
        "detail": "the process was killed by SIGSEGV\nThread 0x1:\n  File mlp.py, line 3 in main",
    }
    a_pass(0, 10**6, "VMCodeGen", status="failed", error=error)
    return builder.build()


# ------------------------------------------------------------------------------- what it says


def test_it_says_what_failed_where_and_of_what() -> None:
    text = issue_text(failed_compile())
    assert "`InjectPipeline` failed with `ValueError` after 0.020 ms, 0.050 ms into" in text
    assert "- path: `lower` > `LowerTIR` > `InjectPipeline`\n" in text
    assert "- further failures: 1\n" in text
    fence = '```text\ntile "24" is not a multiple of 16\n  in main(A: handle)\n    größe = 24\n```'
    assert fence in text
    assert "ApplySchedule: KeyError (exception): no schedule" in text
    # The error is shown whole already.
    assert "<summary>The whole error" not in text


def test_a_real_failure_has_versions_options_and_passes() -> None:
    text = issue_text(open_trace(str(RECORDINGS / "tilelang_fails.pftrace")))
    for row in (
        "| TileLang | `0.1.15` |",
        "| TVM | `0.25.dev0` |",
        "| Python | `3.11.7` |",
        "| host | `Linux x86_64` |",
        "| target | `cuda sm_80` |",
        "| opt_level | `3` |",
        "| config | `tl.disable_warp_specialized = T.bool(True)` |",
        "| 42.484 | 45.6 % | 42.484 | 45.6 % | 1 | `tl.LayoutInference` | 1 failed |",
    ):
        assert f"\n{row}\n" in text
    assert "- kernel: `gemm_minus_row_maximum`\n" in text
    assert len(re.findall(r"(?m)^\| [\d.]+ \| [\d.]+ % ", text)) == 10
    assert "By self time. 7 others: 0.359 ms. Between passes: 7.118 ms. Total: 93.176 ms." in text
    assert "\nIt is whole.\n" in text
    assert 'target: {"kind":"cuda"' in text.partition("PassContext and target")[2]


def test_of_a_signal_the_stack_is_folded() -> None:
    for cause in ("signal", "timeout"):
        text = issue_text(of_signal(cause))
        shown, _, folded = text.partition("<details>")
        assert f"`VMCodeGen` failed with `SIGSEGV` (`{cause}`)" in shown
        assert "```text\nthe process was killed by SIGSEGV\n```" in shown
        assert "File mlp.py" not in shown
        assert "<summary>Python stack</summary>" in folded and "File mlp.py, line 3" in folded


def test_without_a_failure_it_says_where_the_time_went() -> None:
    text = issue_text(open_trace(str(RECORDINGS / "relax_mlp.pftrace")))
    assert "The compile took 177.213 ms, with 97 runs of 83 passes. No pass failed." in text
    assert "- time in codegen, outside of passes: 121.948 ms\n" in text
    running = issue_text(still_running())
    assert "had not ended after" in running and "- still running: `Measure`" in running
    assert "**It is incomplete:**\n\n- `slices still open: 2`" in running


def test_it_says_how_to_open_the_file_and_how_to_run_the_reproducer() -> None:
    text = issue_text(
        nested_compile(),
        attachment="my report.zip",
        picture="https://example.org/a (1).png",
        reproducer="unzip report.zip\npython .report/reproducer.py",
        left_out=["3 IR texts"],
    )
    assert text.startswith(
        "![Flame chart of the compile, no failure](https://example.org/a%20%281%29.png)\n\n## What"
    )
    assert "Drag `my report.zip` into [ui.perfetto.dev](https://ui.perfetto.dev)" in text
    assert "\ntilelang-trace open 'my report.zip'\n" in text
    assert "```sh\nunzip report.zip\npython .report/reproducer.py\n```" in text
    assert "Left out of the attached file:\n\n- `3 IR texts`" in text
    plain = issue_text(nested_compile())
    assert "reproducer" not in plain and "![" not in plain and "Left out" not in plain


def test_details_are_folded_with_blank_lines_around_markdown() -> None:
    text = issue_text(nested_compile())
    assert (
        "<details>\n<summary>Command line</summary>\n\n```text\npython mlp.py --größe 8\n```\n\n"
        "</details>\n"
    ) in text
    assert rendered(text).count("<details>") == rendered(text).count("</details>") == 3


# ----------------------------------------------------------------------- what it must never do


@pytest.mark.parametrize("make", TRACES.values(), ids=lambda make: make.__name__)
def test_it_fits_and_nothing_acts(make: Any) -> None:
    text = issue_text(make())
    assert size([text]) < GITHUB
    assert acts(text) == []


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:12])
def test_no_text_acts_wherever_it_stands(text: str) -> None:
    builder = TraceBuilder()
    builder.metadata = {
        **dict.fromkeys(("command", "tool", "kernel", "target", "process_name"), text),
        "versions": {"tvm": text, text: text},
        "host": {"platform": text},
        "recording": {"complete": False, "reason": text},
        text: {text: [text]},
    }
    lane = main_thread(builder, text)
    error = {"type": text, "cause": text, "message": text, "detail": f"{text}\n{text}"}
    arguments = {"status": "incomplete", "error": error, "kernel": text, "disabled_pass": [text]}
    builder.slice(lane, 0, 100, text, "context", {**arguments, "config": {text: text}})
    a_pass = Passes(builder, lane)
    a_pass(0, 90, text, status="incomplete", phase=text)
    a_pass(1, 80, text, status="failed", error=error, phase=text)
    a_pass(80, 90, text, status="failed", error=error)
    shown = issue_text(
        builder.build(), attachment=text[:255] or "x", left_out=[text], reproducer=text
    )
    assert acts(shown) == []
    assert size([shown]) < GITHUB
    html = rendered(shown)
    assert html.count("<details>") == html.count("</details>")
    # It all stands in code.
    assert not re.search("octocat|example|script|heading|quote|cell", prose(html))
    assert "\x1b" not in shown and "\u202e" not in shown


def test_all_at_once_fits_and_tells_what_is_left_out() -> None:
    text = issue_text(hostile(), picture="timeline.png")
    assert size([text]) < GITHUB
    assert [tag for tag in acts(text) if tag != "img"] == []
    assert rendered(text).count("<img ") == 1
    assert "left out" in text


@pytest.mark.parametrize("values", [3, 7.5, None, True, [], {}, [1, {"a": []}]])
def test_odd_metadata_and_arguments_are_no_harm(values: Any) -> None:
    names = ("versions", "host", "recording", "command", "exit", "kernel", "target", "tool")
    trace = nested_compile()
    text = issue_text(replace(trace, metadata=dict.fromkeys(names, values)))
    assert text.startswith("## What happened")


def test_folds_keep_both_ends_of_a_long_text() -> None:
    lines = tuple(f"line {n}" for n in range(1_000))
    kept, left_out = fitting(lines, 1_000)
    assert size(kept) <= 1_050
    assert kept[0] == "line 0" and kept[-1] == "line 999"
    assert len(kept) - 1 + left_out == 1_000 and f"... {left_out} lines left out ..." in kept
    assert fitting(lines, 10**6) == (list(lines), 0)


def test_folds_that_have_no_room_are_named() -> None:
    folds = [Fold(title, ("line",) * 100) for title in ("First", "Second", "Third")]
    lines = list(shown(folds, 2_000))
    assert size(lines) <= 2_000
    assert "<summary>First (3 lines of 100 left out)</summary>" not in lines
    assert lines[1:3] == ["<details>", "<summary>First</summary>"]
    assert lines[-1] == "Left out, as an issue has no room for it: Third."


# ------------------------------------------------------------------------------- a comparison


def test_a_comparison_has_its_report_and_how_to_open_both() -> None:
    comparison = compare(failed_compile(), nested_compile())
    text = comparison_text(comparison, attachment="both.zip")
    assert "# Comparison: `base -> new`" in text
    assert "tilelang-trace open both.zip" in text and "\n\n\n" not in text
    assert acts(text) == []


def test_a_comparison_of_hostile_texts_fits_and_nothing_acts() -> None:
    text = comparison_text(compare(hostile(15), nested_compile()))
    assert size([text]) < GITHUB
    assert acts(text) == []
    huge = comparison_text(compare(hostile(), nested_compile()))
    assert size([huge]) < GITHUB
    assert acts(huge) == []
    assert "The rest has no room in an issue" in huge and "tilelang-trace open" in huge


@pytest.mark.parametrize("room", range(350, 700, 7))
def test_what_is_cut_leaves_no_block_open(room: int) -> None:
    lines = ["head", "````text", *["@octocat ```" for _ in range(9)], "````", *["tail"] * 20]
    kept = cut(lines, room)
    assert size(kept) <= room
    assert acts("\n".join(kept)) == []
