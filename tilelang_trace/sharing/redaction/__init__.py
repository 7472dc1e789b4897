"""What is private goes out of a Trace before it is shared, and the proof that it did.

- `redact`: Trace -> Redacted: the new Trace, what changed, the secrets, and `text` for other texts;
- `choice`: what to hide, and what is known of this machine; `secret`: one thing that was hidden;
- `learn`: which secrets a Trace holds; `replace`: a text without them; both go by
  `names` (users, hosts), `paths` (homes, projects, temporary folders) and `secret_values`;
- `environment`: the variables that may be shown; `pseudonyms`: other names for kernels and buffers;
- `walk`: every text of a Trace, and the Trace with other ones; `changes`: what was replaced where;
- `proof`: `leaks`, which searches a finished archive.
"""
