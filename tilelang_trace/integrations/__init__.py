"""Where recording is started from: any Python by an environment variable, pytest, a notebook."""
