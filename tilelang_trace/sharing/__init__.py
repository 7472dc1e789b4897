"""What leaves the machine: bundles for bug reports, what is hidden in them, what reruns a failure,
and the viewer.
"""
