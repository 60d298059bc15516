#!/usr/bin/env bash
# Builds all that is given away, with checksums: an archive, Debian packages, packages for Enterprise
# Linux 8 and 9, an image of a container, and a Python wheel. The program in all of them is the same.
#
#   packaging/release.sh [FOLDER]    the folder of it all (dist)
#   PLIMSOLL=FILE                    pack this program; else the static one of packaging/dist.sh
#   AUTHORITIES=FILE                 the certificate authorities of the image
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=$(realpath -m -- "${1:-dist}")
source packaging/lib.sh
authorities=${AUTHORITIES:-/etc/ssl/certs/ca-certificates.crt}
need python3 'apt-get install python3'
need dpkg-deb 'apt-get install dpkg'
need rpmbuild 'apt-get install rpm'
need strip 'apt-get install binutils'
[ -r "$authorities" ] || { echo "missing: $authorities; install it: apt-get install ca-certificates" >&2; exit 2; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
built=$(program)
install -m 755 "$built" "$work/plimsoll"
strip --strip-all "$work/plimsoll"
export PLIMSOLL=$work/plimsoll
if [ -z "${THIRD_PARTY:-}" ]; then
    python3 packaging/third_party.py >"$work/THIRD-PARTY"
    export THIRD_PARTY=$work/THIRD-PARTY
fi
rm -rf "$work/out" && mkdir -p "$work/out"
packaging/archive.sh "$work/out" >/dev/null
packaging/build.sh "$work/out" >/dev/null
packaging/rpm.sh "$work/out" >/dev/null
python3 packaging/wheel.py "$PLIMSOLL" "$version" "$work/out" \
    LICENSE-APACHE LICENSE-MIT "$THIRD_PARTY" >/dev/null
python3 packaging/image.py "$PLIMSOLL" "$version" "$authorities" "$work/out" >/dev/null
(cd "$work/out" && sha256sum -- * >SHA256SUMS)
mkdir -p "$out"
cp "$work/out"/* "$out/"
(cd "$work/out" && ls -1) | sed "s|^|$out/|"
