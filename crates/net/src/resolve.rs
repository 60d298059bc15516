//! Addresses of names.
//!
//! A program that is linked statically must not ask the C library: what `/etc/nsswitch.conf` names
//! there (`sss`, `resolve`, `myhostname`) are libraries of the host, which would be loaded into it
//! beside another C library. It reads `/etc/hosts` and asks the name servers of `/etc/resolv.conf`
//! itself. Every other program asks the C library.

mod dns;
mod files;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _, UdpSocket};
use std::path::Path;

use self::files::{Settings, hosts};

/// The most bytes that are read of a file.
const MOST_BYTES: u64 = 1 << 20;

/// The addresses of a name, or the address that a text is; at least one.
///
/// # Errors
/// A name that has none, and name servers that do not answer.
#[expect(clippy::disallowed_methods, reason = "the one place that asks the C library")]
pub fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let found: Vec<SocketAddr> = match cfg!(target_feature = "crt-static") {
        true => {
            let found = by_files(Path::new("/"), host)?;
            found.into_iter().map(|ip| SocketAddr::new(ip, port)).collect()
        }
        false => (host, port).to_socket_addrs()?.collect(),
    };
    if found.is_empty() { Err(unknown()) } else { Ok(found) }
}

/// The addresses of a name by the files below `root`, and the name servers that these name: those
/// that this host has a way to first, IPv6 before IPv4.
fn by_files(root: &Path, host: &str) -> io::Result<Vec<IpAddr>> {
    if let Ok(ip) = host.parse() {
        return Ok(vec![ip]);
    }
    let name = host.trim_end_matches('.');
    if name.is_empty() || name.contains('\0') {
        return Err(unknown());
    }
    let mut found = hosts(&root.join("etc/hosts"), name);
    if found.is_empty() && is_local(name) {
        found = vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    }
    if found.is_empty() {
        let settings = Settings::read(&root.join("etc/resolv.conf"));
        found = dns::ask(&settings, name, host.ends_with('.'))?;
    }
    found.sort_by_key(|ip| (!has_way(*ip), ip.is_ipv4()));
    if found.is_empty() { Err(unknown()) } else { Ok(found) }
}

/// Names that are this host's wherever it is (RFC 6761).
fn is_local(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

/// Whether this host knows a way to an address. Nothing is sent.
fn has_way(ip: IpAddr) -> bool {
    let any: IpAddr = match ip {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    UdpSocket::bind((any, 0)).and_then(|socket| socket.connect((ip, 9))).is_ok()
}

fn unknown() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "the name has no address")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(hosts: &str, resolv: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("etc")).unwrap();
        std::fs::write(root.path().join("etc/hosts"), hosts).unwrap();
        std::fs::write(root.path().join("etc/resolv.conf"), resolv).unwrap();
        root
    }

    #[test]
    fn addresses_stand_for_themselves_and_names_of_the_file_come_first() {
        let root = root("192.0.2.7 Shop shop.example # ours\n::1 six\n", "nameserver 192.0.2.1\n");
        let found = |host: &str| by_files(root.path(), host).unwrap();
        assert_eq!(found("192.0.2.9"), ["192.0.2.9".parse::<IpAddr>().unwrap()]);
        assert_eq!(found("::1"), ["::1".parse::<IpAddr>().unwrap()]);
        for name in ["shop", "SHOP.example", "shop.example."] {
            assert_eq!(found(name), ["192.0.2.7".parse::<IpAddr>().unwrap()], "{name}");
        }
        assert_eq!(found("six"), ["::1".parse::<IpAddr>().unwrap()]);
        assert!(found("localhost").contains(&Ipv4Addr::LOCALHOST.into()));
        assert!(found("a.localhost").contains(&Ipv4Addr::LOCALHOST.into()));
        assert!(by_files(root.path(), "").is_err() && by_files(root.path(), "a\0b").is_err());
    }

    #[test]
    fn without_files_this_host_is_known_all_the_same() {
        let empty = tempfile::tempdir().unwrap();
        assert!(by_files(empty.path(), "localhost").unwrap().contains(&Ipv4Addr::LOCALHOST.into()));
    }

    #[test]
    fn what_the_program_resolves_by_the_c_library_has_the_port_that_is_asked_for() {
        let found = resolve("127.0.0.1", 81).unwrap();
        assert_eq!(found, ["127.0.0.1:81".parse().unwrap()]);
        assert!(resolve("localhost", 82).unwrap().iter().all(|at| at.port() == 82));
    }
}
