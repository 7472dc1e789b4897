"""The variables of an environment that may be shown: those that compilers go by."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping

from tilelang_trace.secret_values import named_secret
from tilelang_trace.trace.json_values import Json

ALLOWED = (
    *("TVM_*", "TILELANG_*", "TL_*", "DMLC_*", "TORCH_*", "TRITON_*", "MLC_*"),
    *(
        "CUDA_*",
        "NVCC_*",
        "CUDNN_*",
        "ROCM_*",
        "HIP_*",
        "HSA_*",
        "ROCR_*",
        "NVIDIA_VISIBLE_DEVICES",
    ),
    *("OMP_*", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "KMP_*"),
    *("PYTHONHASHSEED", "PYTHONPATH", "PYTHONHOME", "PYTHONOPTIMIZE", "PYTHONDONTWRITEBYTECODE"),
    *("PYTHONUNBUFFERED", "PYTHONFAULTHANDLER", "PYTHONMALLOC"),
    *("PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "DYLD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH"),
    *("CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "CMAKE_*"),
    *("VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "LANG", "LC_*", "TZ", "TMPDIR", "CI"),
)
"""Shell patterns. What such a variable holds is redacted as every other text."""

KEYS = frozenset(("env", "environ", "environment", "environment_variables", "envs"))
"""Names of arguments and of metadata that hold an environment."""


def is_allowed(variable: str) -> bool:
    """Whether a variable may be shown."""
    named = any(fnmatch.fnmatchcase(variable, pattern) for pattern in ALLOWED)
    return named and named_secret(variable) != "yes"


def is_environment(key: str, value: Json) -> bool:
    """Whether an object is an environment: by its name, and all its values are texts."""
    return key.lower() in KEYS and all(isinstance(v, str) for v in value.values())


def allowed(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that may be shown, sorted; their values still have to be redacted."""
    return {name: environment[name] for name in sorted(environment) if is_allowed(name)}
