"""`python -m tilelang_trace`: the same as the command `tilelang-trace`."""

import sys

from tilelang_trace.commands import main

sys.exit(main())
