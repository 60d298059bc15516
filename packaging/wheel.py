#!/usr/bin/env python3
"""Packs the program as a Python wheel: `pip install FILE` puts it where scripts are.

    packaging/wheel.py PROGRAM VERSION FOLDER [LICENCE…]

Nothing of it is Python. A static program runs on any Linux of its kind, and the wheel's name says
so; one that needs libraries is said to be of this host's kind alone, which package indexes refuse.
Prints the wheel's path. The same files give the same wheel.
"""

import base64
import hashlib
import os
import pathlib
import struct
import sys
import time
import zipfile

ANY = "py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64"
HERE = "py3-none-linux_x86_64"
INTERPRETER = 3
ABOUT = """\
Metadata-Version: 2.1
Name: plimsoll
Version: {version}
Summary: Finds how much a web application may be loaded, and what moves that line
License: Apache-2.0 OR MIT
Requires-Python: >=3.8

Load testing, capacity under an SLO, autoscaling with its cost, and web caches: one static program
for Linux on x86_64. This wheel holds it; `plimsoll help` says what it does.
"""
WHEEL = """\
Wheel-Version: 1.0
Generator: plimsoll
Root-Is-Purelib: false
"""


def is_static(program):
    """Whether an ELF file of 64 bits names no interpreter, which would load libraries."""
    if program[:5] != b"\x7fELF\x02":
        sys.exit("wheel: the program is no ELF file of 64 bits")
    at, size, count = struct.unpack_from("<Q14xHH", program, 32)
    kinds = (struct.unpack_from("<I", program, at + n * size)[0] for n in range(count))
    return INTERPRETER not in kinds


def main(program, version, folder, licences):
    program = pathlib.Path(program).read_bytes()
    tag = ANY if is_static(program) else HERE
    info = f"plimsoll-{version}.dist-info"
    wheel = WHEEL + "".join(f"Tag: py3-none-{part}\n" for part in tag.split("-")[2].split("."))
    files = [
        (f"plimsoll-{version}.data/scripts/plimsoll", program, 0o755),
        (f"{info}/METADATA", ABOUT.format(version=version).encode(), 0o644),
        (f"{info}/WHEEL", wheel.encode(), 0o644),
    ]
    for licence in map(pathlib.Path, licences):
        files.append((f"{info}/licenses/{licence.name}", licence.read_bytes(), 0o644))
    record = ""
    for name, content, _ in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(content)}\n"
    files.append((f"{info}/RECORD", f"{record}{info}/RECORD,,\n".encode(), 0o644))
    path = pathlib.Path(folder) / f"plimsoll-{version}-{tag}.whl"
    moment = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())), 315532800))[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content, mode in files:
            entry = zipfile.ZipInfo(name, moment)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100000 | mode) << 16
            archive.writestr(entry, content)
    print(path)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
