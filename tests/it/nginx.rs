//! A real nginx of a test's own.

use crate::place::Place;
use crate::program::Going;
use crate::stores::on_a_free_port;
use plimsoll_testing::installed;
use std::net::TcpStream;
use std::process::Command;

/// An nginx whose `http` block holds what `servers` says for a port that is free; `None` where
/// there is none on this host. Its access log is `nginx/access.log` of the place.
pub(crate) fn nginx(
    place: &Place,
    test: &str,
    servers: impl Fn(u16) -> String,
) -> Option<(Going, u16)> {
    let program = installed(test, "nginx")?;
    let folder = place.path("nginx");
    std::fs::create_dir(&folder).unwrap();
    let at = folder.display();
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {at}/{kind};\n"))
        .concat();
    let command = |port| {
        let servers = servers(port);
        let config = format!(
            "daemon off; master_process off; pid {at}/pid; error_log {at}/error.log;\n\
             events {{}}\nhttp {{ access_log {at}/access.log;\n{temporary}{servers} }}\n"
        );
        std::fs::write(folder.join("nginx.conf"), config).unwrap();
        let mut command = Command::new(&program);
        command.arg("-e").arg(folder.join("error.log")).arg("-c").arg(folder.join("nginx.conf"));
        command
    };
    let is_up = |going: &Going, port| {
        going.listens_on(port) && TcpStream::connect(("127.0.0.1", port)).is_ok()
    };
    Some(on_a_free_port(place, command, is_up))
}

/// How many requests of a path have come, by the access log.
pub(crate) fn asked(place: &Place, path: &str) -> usize {
    let log = std::fs::read_to_string(place.path("nginx/access.log")).unwrap();
    log.lines().filter(|line| line.contains(&format!(" {path} HTTP/"))).count()
}
