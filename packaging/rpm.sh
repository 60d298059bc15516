#!/usr/bin/env bash
# Builds the program's packages for Enterprise Linux 8 and 9, with those of the registry of caches
# and of the agents: the same files as those of Debian (packaging/build.sh).
#
#   packaging/rpm.sh [FOLDER]        the folder of the packages (dist)
#   PLIMSOLL=FILE                    package this program; else the static one of packaging/dist.sh
#   THIRD_PARTY=FILE                 the licences of what it is made of; else by third_party.py
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=$(realpath -m -- "${1:-dist}")
source packaging/lib.sh
need rpmbuild 'apt-get install rpm'
need strip 'apt-get install binutils'
need python3 'apt-get install python3'

packed=$(program)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out" "$work/files"
install -m 755 "$packed" "$work/files/plimsoll"
strip --strip-all "$work/files/plimsoll"
beside "$work/files/plimsoll" "$work/files"
# Neither the build host's notion of a distribution nor its scripts have a say in it; a payload that
# Enterprise Linux 8 reads.
rpmbuild -bb --quiet --target "$(uname -m)" \
    --define "_topdir $work" --define "_rpmdir $work/rpms" \
    --define "_build_id_links none" --define "__os_install_post %{nil}" \
    --define "_binary_payload w9.gzdio" --define "_source_filedigest_algorithm 8" \
    --define "_binary_filedigest_algorithm 8" --define "use_source_date_epoch_as_buildtime 1" \
    --define "clamp_mtime_to_source_date_epoch 1" --define "_buildhost plimsoll" \
    --define "plimsoll_version $version" --define "stage $work/files" --define "tree $PWD" \
    packaging/rpm/plimsoll.spec >&2
for package in "$work"/rpms/*/*.rpm; do
    mv "$package" "$out/"
    printf '%s\n' "$out/$(basename "$package")"
done
