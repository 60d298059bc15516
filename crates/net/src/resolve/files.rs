//! The files that say what names mean: `/etc/hosts` and `/etc/resolv.conf`, as the C library reads
//! them.

use std::fs::File;
use std::io::Read as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use super::MOST_BYTES;

/// The most name servers that are asked.
const MOST_SERVERS: usize = 3;
/// The most domains that are tried behind a name.
const MOST_DOMAINS: usize = 6;

fn text(path: &Path) -> String {
    let mut bytes = Vec::new();
    let _ = File::open(path).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The words of a line before a comment.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(['#', ';']).next().unwrap_or_default().split_ascii_whitespace()
}

/// The addresses of a name by a file of hosts.
pub(super) fn hosts(path: &Path, name: &str) -> Vec<IpAddr> {
    let text = text(path);
    let one = |line: &str| {
        let mut words = words(line);
        let ip = words.next()?.parse().ok()?;
        let is_called = |word: &str| word.trim_end_matches('.').eq_ignore_ascii_case(name);
        words.any(is_called).then_some(ip)
    };
    let mut found = Vec::new();
    for ip in text.lines().filter_map(one) {
        if !found.contains(&ip) {
            found.push(ip);
        }
    }
    found
}

/// How names are looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Settings {
    /// Who is asked, in their order.
    pub(super) servers: Vec<SocketAddr>,
    /// The domains that are tried behind a name.
    pub(super) domains: Vec<String>,
    /// With so many dots a name is tried as it is first.
    pub(super) dots: usize,
    /// How long a server may take.
    pub(super) timeout: Duration,
    /// How often all servers are asked.
    pub(super) attempts: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            servers: vec![SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 53)],
            domains: Vec::new(),
            dots: 1,
            timeout: Duration::from_secs(5),
            attempts: 2,
        }
    }
}

impl Settings {
    /// Those of a file; what it does not say is as usual.
    pub(super) fn read(path: &Path) -> Self {
        let (mut settings, mut servers) = (Self::default(), Vec::new());
        for line in text(path).lines() {
            let mut words = words(line);
            match words.next() {
                Some("nameserver") => {
                    // A link's own scope is left out: such a server is asked by nobody else.
                    let ip = words.next().and_then(|word| word.parse().ok());
                    servers.extend(ip.map(|ip: IpAddr| SocketAddr::new(ip, 53)));
                }
                Some("search" | "domain") => {
                    settings.domains = words
                        .take(MOST_DOMAINS)
                        .map(|of| of.trim_matches('.').to_owned())
                        .collect();
                }
                Some("options") => words.for_each(|word| settings.take(word)),
                _ => {}
            }
        }
        servers.truncate(MOST_SERVERS);
        if !servers.is_empty() {
            settings.servers = servers;
        }
        settings
    }

    fn take(&mut self, option: &str) {
        let Some((name, value)) = option.split_once(':') else { return };
        let Ok(value) = value.parse::<u8>() else { return };
        match name {
            "ndots" => self.dots = usize::from(value.min(15)),
            "timeout" => self.timeout = Duration::from_secs(u64::from(value.clamp(1, 30))),
            "attempts" => self.attempts = usize::from(value.clamp(1, 5)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_name_servers_is_read_as_the_c_library_reads_it() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = "# by hand\nnameserver 192.0.2.1\nnameserver 2001:db8::1\nnameserver \
                    fe80::1%eth0\ndomain old.example\nsearch a.example b.example.\n\
                    options ndots:2 timeout:3 attempts:9 rotate\nnameserver 192.0.2.3\n\
                    nameserver 192.0.2.4\n";
        std::fs::write(file.path(), text).unwrap();
        let settings = Settings::read(file.path());
        let servers: Vec<String> = settings.servers.iter().map(ToString::to_string).collect();
        assert_eq!(servers, ["192.0.2.1:53", "[2001:db8::1]:53", "192.0.2.3:53"]);
        assert_eq!(settings.domains, ["a.example", "b.example"]);
        assert_eq!((settings.dots, settings.attempts), (2, 5));
        assert_eq!(settings.timeout, Duration::from_secs(3));
        assert_eq!(Settings::read(Path::new("/nowhere")), Settings::default());
    }
}
