//! A real nginx of a test's own.

use crate::place::Place;
use plimsoll_testing::servers::Nginx;

/// An nginx whose `http` block holds what `servers` says for a port that is free; `None` where
/// there is none on this host. Its access log is `nginx/access.log` of the place.
pub(crate) fn nginx(
    place: &Place,
    test: &str,
    servers: impl Fn(u16) -> String,
) -> Option<(Nginx, u16)> {
    let logs = place.path("nginx");
    std::fs::create_dir(&logs).unwrap();
    let log = logs.join("access.log");
    let http = |_: &_, port| format!("access_log {};\n{}", log.display(), servers(port));
    let nginx = Nginx::own(test, http)?;
    let port = nginx.port();
    Some((nginx, port))
}

/// How many requests of a path have come, by the access log.
pub(crate) fn asked(place: &Place, path: &str) -> usize {
    let log = std::fs::read_to_string(place.path("nginx/access.log")).unwrap();
    log.lines().filter(|line| line.contains(&format!(" {path} HTTP/"))).count()
}
