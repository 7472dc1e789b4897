"""How a recorded process dies.

- `crash_stack`: the Python stack, which it still writes down; `signal_actions`: how that goes
  together with TVM's own handler;
- `process_end`: what is known of the end afterwards; `memory`: whether there was too little.
"""
