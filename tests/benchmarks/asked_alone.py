"""Run a task over an embedded federation, and print what it cost. Earlier versions, in a Python of their own, know the calls that are made here.

The task is JSON on stdin: ``files`` by organization, ``helpers``, ``method``, ``function``, ``arguments`` and ``runs``, how often it is run.
"""

import ctypes
import json
import os
import resource
import subprocess
import sys
import time

SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of prctl(2)


def run(task):
    """Return what the result says of the federation, and the seconds of the fastest run."""
    from fedbayes.federation.embedded.federation import EmbeddedFederation

    seconds = []
    with EmbeddedFederation(task["files"], helpers=task["helpers"]) as running:
        for _ in range(task["runs"]):
            began = time.perf_counter()
            result = running.run(task["method"], task["function"], task["arguments"])
            seconds.append(time.perf_counter() - began)
    return {**result["federation"], "fastest": min(seconds)}


def run_apart(task):
    """Return the same, and the processor seconds of all parties: of a process that does nothing else, and of all that it started."""
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)  # what is left of it is waited for here
    command = [sys.executable, __file__, "run"]
    printed = subprocess.run(command, input=json.dumps(task), capture_output=True, text=True, check=True).stdout
    try:
        while True:
            os.wait()
    except ChildProcessError:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {**json.loads(printed), "processor": used.ru_utime + used.ru_stime}


if __name__ == "__main__":
    print(json.dumps((run if "run" in sys.argv else run_apart)(json.load(sys.stdin))))
