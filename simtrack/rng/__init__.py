"""Random streams: readable labels in, the same numbers on every machine out. Scheme simtrack/1.

Nothing else in the package makes randomness. A draw is a function of four things:

* the key of its stream, 64 bits: the BLAKE2b hash of the seed, the purpose and the cell's labels
  (`stream_key`);
* the cluster or unit, 32 bits;
* the replicate, 64 bits;
* its place: which block of four 32-bit words, and which of the four.

Key and counter (block, cluster, replicate low, replicate high) go through Philox4x32-10. So more
trials, clusters, replicates or conditions leave every old draw as it was, threads and chunks cannot
show, and common random numbers are equal labels.

Places: trial t takes word t, and on a tie with the first 32 bits of its share of success the word
2^33 further on; number d (a uniform, a normal deviate, a count by inversion) takes words 2d and
2d + 1, the first on top. A uniform is ((number >> 11) | 1) / 2^53; a normal deviate is AS 241 of
it; a count is how many thresholds floor(2^64 P(K <= k)) the number has reached. All of it uses
integers and + - * / and sqrt alone.
"""

from simtrack.rng.keys import SCHEME, require_distinct, stream_key
from simtrack.rng.stream import Stream

__all__ = ["SCHEME", "Stream", "require_distinct", "stream_key"]
