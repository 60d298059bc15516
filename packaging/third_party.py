#!/usr/bin/env python3
"""Prints the crates that the program is made of, with their licences and the texts of these.

    packaging/third_party.py > THIRD-PARTY

What only builds or tests the program is not in it. Texts that several crates share are printed
once. A crate without a licence ends it with 1.
"""

import hashlib
import json
import pathlib
import subprocess
import sys

NAMES = ("licen", "copying", "notice", "unlicense")


def metadata():
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--features", "plimsoll/parquet"]
    command += ["--filter-platform", "x86_64-unknown-linux-gnu"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def linked(of):
    """The packages that are linked into the program."""
    nodes = {node["id"]: node for node in of["resolve"]["nodes"]}
    packages = {package["id"]: package for package in of["packages"]}
    own = set(of["workspace_members"])
    waiting = [one for one in own if packages[one]["name"] == "plimsoll"]
    seen = set(waiting)
    while waiting:
        for needed in nodes[waiting.pop()]["deps"]:
            is_linked = any(kind["kind"] is None for kind in needed["dep_kinds"])
            if is_linked and needed["pkg"] not in seen:
                seen.add(needed["pkg"])
                waiting.append(needed["pkg"])
    foreign = (packages[one] for one in seen - own)
    return sorted(foreign, key=lambda package: (package["name"], package["version"]))


def texts(package):
    """The texts of a package's licences."""
    folder = pathlib.Path(package["manifest_path"]).parent
    files = sorted(path for path in folder.iterdir() if path.name.lower().startswith(NAMES))
    return [path.read_text(errors="replace").strip() for path in files if path.is_file()]


def main():
    packages = linked(metadata())
    nobodys = [package["name"] for package in packages if not package["license"]]
    if nobodys:
        sys.exit(f"third_party: no licence is named by {', '.join(nobodys)}")
    print("Plimsoll is made with these crates. The texts of their licences follow.\n")
    shared = {}
    for package in packages:
        name = f"{package['name']} {package['version']}"
        print(f"{name}: {package['license']}")
        for text in texts(package):
            key = hashlib.sha256(" ".join(text.split()).encode()).hexdigest()
            shared.setdefault(key, (text, []))[1].append(name)
    for text, names in shared.values():
        print(f"\n{'=' * 80}\n{', '.join(names)}\n{'-' * 80}\n{text}")


if __name__ == "__main__":
    main()
