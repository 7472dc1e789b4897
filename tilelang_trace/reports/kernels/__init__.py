"""`report --by kernel`: the compiles of a Trace, in the same outputs as the report by pass."""
