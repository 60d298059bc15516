#!/usr/bin/env bash
# Packs the program as an archive: plimsoll-VERSION-linux-x86_64.tar.gz, with completions for bash,
# zsh and fish, man pages, licences, and the licences of what it is made of.
#
#   packaging/archive.sh [FOLDER]    the folder of the archive (dist)
#   PLIMSOLL=FILE                    pack this program; else the static one of packaging/dist.sh
#   THIRD_PARTY=FILE                 the licences of what it is made of; else by third_party.py
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=$(realpath -m -- "${1:-dist}")
source packaging/lib.sh
need strip 'apt-get install binutils'
need python3 'apt-get install python3'

packed=$(program)
name=plimsoll-$version-linux-$(uname -m)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out" "$work/$name"
install -m 755 "$packed" "$work/$name/plimsoll"
strip --strip-all "$work/$name/plimsoll"
beside "$work/$name/plimsoll" "$work/$name"
cp README.md CHANGELOG.md "$work/$name/"
tar --create --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
    --directory "$work" "$name" | gzip -9n >"$work/$name.tar.gz"
mv "$work/$name.tar.gz" "$out/"
printf '%s\n' "$out/$name.tar.gz"
