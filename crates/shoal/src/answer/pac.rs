//! Proxy auto-configuration: `/wpad.dat` as Shoal's server writes it, `/proxy.pac` as browsers
//! understand it.
//!
//! The original puts `http://` inside `PROXY`, where the format (Netscape, 1996) has host and
//! port only; CVMFS and Frontier accept both. Names of hosts hold letters, digits, `.` and `-`
//! only (they are refused otherwise when announced), so nothing needs escaping in a script.

use super::digits::integer;

/// The most caches in either script.
pub const COUNT: usize = 10;

/// A host's name and its port.
pub type Host<'a> = (&'a str, u16);

/// Writes `/wpad.dat` as recorded: each cache with `http://`, no blank between them.
pub fn wpad<'a>(out: &mut Vec<u8>, hosts: impl Iterator<Item = Host<'a>>) {
    script(out, hosts, b"PROXY http://", b";PROXY http://");
}

/// Writes `/proxy.pac`: each cache as `PROXY host:port`, the connection without one last.
pub fn proxy_pac<'a>(out: &mut Vec<u8>, hosts: impl Iterator<Item = Host<'a>>) {
    script(out, hosts, b"PROXY ", b"; PROXY ");
}

fn script<'a>(
    out: &mut Vec<u8>,
    hosts: impl Iterator<Item = Host<'a>>,
    first: &[u8],
    further: &[u8],
) {
    out.extend_from_slice(b"function FindProxyForURL(url, host)\n{\n    return \"");
    let mut any = false;
    for (host, port) in hosts.take(COUNT) {
        out.extend_from_slice(if any { further } else { first });
        out.extend_from_slice(host.as_bytes());
        out.push(b':');
        integer(out, u64::from(port));
        any = true;
    }
    if any {
        out.extend_from_slice(b"; ");
    }
    out.extend_from_slice(b"DIRECT\";\n}\n");
}
