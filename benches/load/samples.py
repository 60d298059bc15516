"""Reads `artifacts/samples.bin` of a run, independently of the program (docs/run-folder.md).

The format: 16 bytes of header; blocks of a 16-byte header (length, records, checksum) and records
of flags and variable-length integers. The checksum is left to the program's own tests.
"""

import os
import struct
from collections import namedtuple

SENT, FIRST_BYTE, DONE, SAME_STATUS, SAME_REQUEST = 1 << 5, 1 << 6, 1 << 7, 1 << 8, 1 << 9

Sample = namedtuple("Sample", "due sent done connection status error")


def of_run(place, summary):
    """The samples of a run below `place`, in the order of their due times."""
    path = os.path.join(place, "runs", summary["run"]["id"], "artifacts", "samples.bin")
    with open(path, "rb") as file:
        data = file.read()
    if data[:8] != b"PLSAMPLE" or struct.unpack_from("<I", data, 8) != (1,):
        raise ValueError(f"{path} is no samples file of version 1")
    found, at = [], 16
    while at + 16 <= len(data):
        length, records = struct.unpack_from("<II", data, at)
        at += 16
        _block(data, at, records, found)
        at += length
    found.sort(key=lambda sample: sample.due)
    return found


def _block(data, at, records, found):
    due = status = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def difference():
        value = number()
        return (value >> 1) ^ -(value & 1)

    for _ in range(records):
        flags = data[at] | data[at + 1] << 8
        at += 2
        due += difference()
        sent = due + difference() if flags & SENT else None
        if flags & FIRST_BYTE:
            difference()
        done = due + difference() if flags & DONE else None
        number()
        connection = number()
        if not flags & SAME_STATUS:
            status = number()
        if not flags & SAME_REQUEST:
            number()
        found.append(Sample(due, sent, done, connection, status, flags >> 1 & 0xF))
