#!/usr/bin/env python3
"""One replay by libcachesim, as the bench asks for it: requests per second of processor time.

    peer.py TRACE POLICY CAPACITY MODE

TRACE is an oracleGeneral file; MODE is unit (every object counts one) or bytes. Prints one JSON
object: misses, requests, cpu_s (user and system of this process while it replays).
"""

import json
import resource
import sys

import libcachesim

POLICIES = {
    "fifo": libcachesim.FIFO,
    "lru": libcachesim.LRU,
    "clock": libcachesim.Clock,
    "slru": libcachesim.SLRU,
    "lfu": libcachesim.LFU,
    "arc": libcachesim.ARC,
    "sieve": libcachesim.Sieve,
    "s3fifo": libcachesim.S3FIFO,
    "gdsf": libcachesim.GDSF,
    "belady": libcachesim.Belady,
    "2q": libcachesim.TwoQ,
    "lirs": libcachesim.LIRS,
    "wtinylfu": libcachesim.WTinyLFU,
}


def cpu_s():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main():
    trace, policy, capacity, mode = sys.argv[1:]
    reader = libcachesim.TraceReader(
        trace=trace,
        trace_type=libcachesim.TraceType.ORACLE_GENERAL_TRACE,
        reader_init_params=libcachesim.ReaderInitParam(ignore_obj_size=mode == "unit"),
    )
    cache = POLICIES[policy](cache_size=int(capacity))
    began = cpu_s()
    miss_ratio, byte_miss_ratio = cache.process_trace(reader)
    used = cpu_s() - began
    requests = reader.get_num_of_req()
    print(json.dumps({"misses": round(miss_ratio * requests), "requests": requests, "cpu_s": used,
                      "byte_miss_ratio": byte_miss_ratio}))


if __name__ == "__main__":
    main()
