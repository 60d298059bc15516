#!/usr/bin/env python3
"""Packs the program as an image of a container: an OCI archive of one layer.

    packaging/image.py PROGRAM VERSION AUTHORITIES FOLDER

The layer has the program, the certificate authorities of AUTHORITIES (a PEM file), and empty
folders /tmp and /runs, in which it works as the user 65532. `skopeo copy oci-archive:FILE …` puts
it into a registry, `podman load -i FILE` beside others. Prints the archive's path. The same files
give the same archive.
"""

import gzip
import hashlib
import io
import json
import os
import pathlib
import sys
import tarfile
import time

USER = 65532
KIND = "application/vnd.oci.image."


def layer(program, authorities, moment):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:

        def add(name, mode, content=None, owner=0):
            entry = tarfile.TarInfo(name)
            entry.mode, entry.mtime, entry.uid, entry.gid = mode, moment, owner, owner
            if content is None:
                entry.type = tarfile.DIRTYPE
                archive.addfile(entry)
            else:
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))

        for folder in ("etc", "etc/ssl", "etc/ssl/certs", "usr", "usr/bin"):
            add(folder, 0o755)
        add("etc/passwd", 0o644, f"plimsoll:x:{USER}:{USER}::/runs:/nologin\n".encode())
        add("etc/ssl/certs/ca-certificates.crt", 0o644, pathlib.Path(authorities).read_bytes())
        add("usr/bin/plimsoll", 0o755, pathlib.Path(program).read_bytes())
        add("tmp", 0o1777)
        add("runs", 0o755, owner=USER)
    return out.getvalue()


def main(program, version, authorities, folder):
    moment = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))
    blobs = {}

    def keep(content, kind):
        digest = hashlib.sha256(content).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = content
        return {"mediaType": KIND + kind, "digest": f"sha256:{digest}", "size": len(content)}

    def document(value):
        return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()

    plain = layer(program, authorities, moment)
    packed = keep(gzip.compress(plain, 9, mtime=0), "layer.v1.tar+gzip")
    about = {
        "created": created,
        "architecture": "amd64",
        "os": "linux",
        "config": {
            "User": str(USER),
            "WorkingDir": "/",
            "Entrypoint": ["/usr/bin/plimsoll"],
            "Cmd": ["help"],
            "Env": ["PATH=/usr/bin", "HOME=/runs"],
            "Labels": {"org.opencontainers.image.version": version},
        },
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(plain).hexdigest()]},
        "history": [{"created": created, "created_by": "packaging/image.py"}],
    }
    config = keep(document(about), "config.v1+json")
    manifest = {"schemaVersion": 2, "mediaType": KIND + "manifest.v1+json", "config": config}
    manifest = keep(document(manifest | {"layers": [packed]}), "manifest.v1+json")
    manifest["annotations"] = {"org.opencontainers.image.ref.name": version}
    blobs["index.json"] = document({"schemaVersion": 2, "manifests": [manifest]})
    blobs["oci-layout"] = document({"imageLayoutVersion": "1.0.0"})
    path = pathlib.Path(folder) / f"plimsoll-{version}-oci-amd64.tar"
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as archive:
        for name in sorted(blobs):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(blobs[name]), moment, 0o644
            archive.addfile(entry, io.BytesIO(blobs[name]))
    print(path)


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
