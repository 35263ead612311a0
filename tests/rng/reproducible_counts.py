"""Print the SHA-256 of simulated counts: THREADS CHUNK on the command line, the JIT as it is set.

Not a test: `test_reproducible.py` runs it in this process and in others.
"""

import hashlib
import sys

from simtrack.rng import Stream


def digest(threads, chunk):
    where = {"replicates": range(5, 1105), "clusters": 2, "threads": threads, "chunk": chunk}
    stream = Stream(20240607, "reproducible counts", arm="full", repetition=1)
    counts = [
        stream.binomial([20, 7], [0.9, 0.15], **where),
        stream.beta_binomial(12, 1.8, 0.2, **where),
        stream.trial_counts([6, 3], 0.7, **where),
        stream.logit_normal_binomial([5, 4], 1.0, [1.0, 0.5], **where),
        stream.bernoulli(0.25, 3, **where).astype("int64"),
    ]
    found = hashlib.sha256()
    for array in counts:
        found.update(array.astype("<i8").tobytes())
    return found.hexdigest()


if __name__ == "__main__":
    print(digest(int(sys.argv[1]), int(sys.argv[2])))
