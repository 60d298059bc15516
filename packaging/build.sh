#!/usr/bin/env bash
# Builds the program and its Debian packages:
#
#   plimsoll               /usr/bin/plimsoll, one program for everything
#   plimsoll-shoal-server  the registry's unit and configuration
#   plimsoll-shoal-agent   those of a cache's announcer
#   plimsoll-shoal-client  those of a client of caches, and the timer that starts it
#   plimsoll-agent         those of the agent that tells a host's figures, and its user
#
# The small ones hold no program: all commands are in the one of `plimsoll`.
#
#   packaging/build.sh [FOLDER]      the folder of the packages (dist)
#   PLIMSOLL=FILE                    package this program; else the static one of packaging/dist.sh
#   THIRD_PARTY=FILE                 the licences of what it is made of; else by third_party.py
#   COMPRESS=-Zxz                    how dpkg-deb compresses
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=$(realpath -m -- "${1:-dist}")
source packaging/lib.sh
need dpkg-deb 'apt-get install dpkg'
need strip 'apt-get install binutils'
need python3 'apt-get install python3'

packed=$(program)
architecture=$(dpkg --print-architecture)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What every package has: who may copy it, and what changed.
begin() {
    root=$work/$1
    mkdir -p "$root/DEBIAN" "$root/usr/share/doc/$1"
    {
        echo 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/'
        echo 'Upstream-Name: plimsoll'
        printf '\nFiles: *\nCopyright: the authors of Plimsoll\nLicense: Apache-2.0 or MIT\n'
        printf '\nLicense: Apache-2.0\n On Debian it is in /usr/share/common-licenses/Apache-2.0.\n'
        printf '\nLicense: MIT\n'
        sed 's/^$/./; s/^/ /' LICENSE-MIT
    } >"$root/usr/share/doc/$1/copyright"
    printf 'plimsoll (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- %s  %s\n' \
        "$version" 'Plimsoll <plimsoll@localhost>' "$(date -R -d "@$SOURCE_DATE_EPOCH")" |
        gzip -9n >"$root/usr/share/doc/$1/changelog.gz"
}

# control PACKAGE ARCHITECTURE DEPENDS SUMMARY LINE…
control() {
    local package=$1 arch=$2 depends=$3 summary=$4
    shift 4
    {
        printf 'Package: %s\nVersion: %s\nArchitecture: %s\n' "$package" "$version" "$arch"
        printf 'Maintainer: Plimsoll <plimsoll@localhost>\nSection: net\nPriority: optional\n'
        [ -z "$depends" ] || printf 'Depends: %s\n' "$depends"
        printf 'Installed-Size: %s\nDescription: %s\n' "$(du -sk "$root/usr" | cut -f 1)" "$summary"
        printf ' %s\n' "$@"
    } >"$root/DEBIAN/control"
}

finish() {
    find "$root" -type d ! -name credentials -exec chmod 755 {} +
    dpkg-deb --root-owner-group "${COMPRESS:--Zxz}" --build "$root" "$out" >/dev/null
}

# A command as a service: its unit, its configuration, its user where it has one, and what the
# system is to be told. FOLDERS are taken away by a purge.
service() { # NAME FOLDERS…
    local name=$1 package=plimsoll-$1
    shift
    begin "$package"
    install -D -m 644 "packaging/systemd/$package.service" \
        "$root/lib/systemd/system/$package.service"
    install -D -m 644 "packaging/etc/$name" "$root/etc/plimsoll/$name"
    echo "/etc/plimsoll/$name" >"$root/DEBIAN/conffiles"
    # A command that does its work and ends is started by a timer, which is what is on or off.
    local unit=$package.service
    if [ -e "packaging/systemd/$package.timer" ]; then
        unit=$package.timer
        install -D -m 644 "packaging/systemd/$unit" "$root/lib/systemd/system/$unit"
    fi
    if grep -q '^LoadCredential=' "packaging/systemd/$package.service"; then
        # For secrets, which only root reads; the unit hands them on.
        install -d -m 700 "$root/etc/plimsoll/credentials"
    fi
    if [ -e "packaging/sysusers/$package.conf" ]; then
        install -D -m 644 "packaging/sysusers/$package.conf" \
            "$root/usr/lib/sysusers.d/$package.conf"
    fi
    if [ -e "packaging/logrotate/$package" ]; then
        install -D -m 644 "packaging/logrotate/$package" "$root/etc/logrotate.d/$package"
        echo "/etc/logrotate.d/$package" >>"$root/DEBIAN/conffiles"
    fi
    # Nothing starts before it is configured.
    cat >"$root/DEBIAN/postinst" <<'SCRIPT'
#!/bin/sh
set -e
if [ "$1" = configure ] && [ -e /usr/lib/sysusers.d/UNIT.conf ]; then
    if command -v systemd-sysusers >/dev/null; then
        systemd-sysusers UNIT.conf
    elif ! getent passwd UNIT >/dev/null; then
        useradd --system --user-group --no-create-home --home-dir / --shell /usr/sbin/nologin UNIT
    fi
fi
if [ "$1" = configure ] && [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    systemctl try-restart STARTED || true
fi
SCRIPT
    cat >"$root/DEBIAN/prerm" <<'SCRIPT'
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
    systemctl disable --now STARTED || true
fi
SCRIPT
    cat >"$root/DEBIAN/postrm" <<'SCRIPT'
#!/bin/sh
set -e
if [ "$1" = purge ]; then
    rm -rf FOLDERS
    # Passwords and keys go with the last of the two services that have some.
    if [ ! -e /etc/plimsoll/shoal-server ] && [ ! -e /etc/plimsoll/shoal-agent ]; then
        rm -rf /etc/plimsoll/shoal-secret /etc/plimsoll/credentials
    fi
    rmdir /etc/plimsoll 2>/dev/null || true
fi
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
fi
SCRIPT
    sed -i "s|STARTED|$unit|g; s|UNIT|$package|g; s|FOLDERS|/etc/plimsoll/$name $*|" \
        "$root"/DEBIAN/{postinst,prerm,postrm}
    chmod 755 "$root"/DEBIAN/{postinst,prerm,postrm}
}

mkdir -p "$out"
begin plimsoll
install -D -m 755 "$packed" "$root/usr/bin/plimsoll"
strip --strip-all "$root/usr/bin/plimsoll"
"$root/usr/bin/plimsoll" --version
libc=
if ldd "$root/usr/bin/plimsoll" 2>/dev/null | grep -q 'libc\.so\.6'; then
    # Of the build host: a program built on a newer one does not run on an older.
    libc="libc6 (>= $(dpkg-query -W -f '${Version}' libc6 | cut -d - -f 1))"
    echo "note: a program that needs this host's C library"
fi
beside "$root/usr/bin/plimsoll" "$work/beside"
into() { install -D -m 644 "$work/beside/$1" "$root/usr/share/$2"; }
into completions/plimsoll.bash bash-completion/completions/plimsoll
into completions/plimsoll.zsh zsh/vendor-completions/_plimsoll
into completions/plimsoll.fish fish/vendor_completions.d/plimsoll.fish
into THIRD-PARTY doc/plimsoll/THIRD-PARTY
for page in "$work"/beside/man/man1/*.1; do
    into "man/man1/${page##*/}" "man/man1/${page##*/}"
done
gzip -9n "$root"/usr/share/man/man1/*.1
control plimsoll "$architecture" "$libc" 'find the load line of a web application' \
    'Loads, measures and simulates web applications, and tells clients their' \
    'nearest living cache. One program with a command for each.'
finish

service shoal-server /var/lib/plimsoll-shoal /var/lib/private/plimsoll-shoal \
    /var/log/plimsoll-shoal /var/log/private/plimsoll-shoal
control plimsoll-shoal-server all "plimsoll (>= $version)" 'registry of the nearest living caches' \
    'Caches announce themselves, clients ask for the nearest that are alive.' \
    'Speaks the protocol of Shoal. Configured in /etc/plimsoll/shoal-server.'
finish

service shoal-agent
control plimsoll-shoal-agent all "plimsoll (>= $version)" 'announces a cache to its registry' \
    'Beside a Squid or Varnish: announces it as long as it answers.' \
    'Speaks the protocol of Shoal. Configured in /etc/plimsoll/shoal-agent.'
finish

service shoal-client /var/lib/plimsoll-shoal-client
control plimsoll-shoal-client all "plimsoll (>= $version)" 'sets the nearest caches for CVMFS' \
    'Asks a registry every few minutes, and sets CVMFS_HTTP_PROXY of this host.' \
    'Started by a timer. Configured in /etc/plimsoll/shoal-client.'
finish

service agent
control plimsoll-agent all "plimsoll (>= $version)" 'tells the figures of this host' \
    'Processors, memory, disks, network, processes and pressure, of now and of the' \
    'last hour, to who may ask: as a page, as JSON, for Prometheus, and by a line of' \
    'text. Runs as a user of its own, without privileges. Configured in' \
    '/etc/plimsoll/agent.'
finish

for package in plimsoll plimsoll-shoal-server plimsoll-shoal-agent plimsoll-shoal-client \
    plimsoll-agent; do
    ls "$out/${package}_${version}_"*.deb
done
