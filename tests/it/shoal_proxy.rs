//! A registry behind a real nginx: whoever comes through it is a stranger, whatever it adds or
//! leaves out.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::place::Place;
use crate::program::{Going, wait_for};
use crate::shoal::{caches, get, registry};
use plimsoll_testing::{free_port, installed};

/// What a proxy adds to what it passes on.
const ADDS: [(&str, &str); 6] = [
    ("plain", ""),
    ("list", "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;"),
    ("ports", "proxy_set_header X-Forwarded-For $remote_addr:$realip_remote_port;"),
    (
        "element",
        "proxy_set_header Forwarded \"for=\\\"$remote_addr:$realip_remote_port\\\";proto=http\";",
    ),
    ("real", "proxy_set_header X-Real-IP $remote_addr;"),
    ("via", "proxy_set_header Via \"1.1 front\";"),
];

/// A client's address, as nginx is told it by the test, for all of them are here.
const CLIENT: &str = "X-Test-Client";

/// Ports of one nginx before a registry: one for each of [`ADDS`].
struct Front {
    ports: Vec<u16>,
    _nginx: Going,
}

impl Front {
    fn start(place: &Place, program: &Path, registry: &str, name: &str) -> Self {
        let ports: Vec<u16> = ADDS.iter().map(|_| free_port()).collect();
        let folder = place.path(name);
        std::fs::create_dir(&folder).unwrap();
        let shown = folder.display();
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {shown}/{kind};\n"))
            .concat();
        let servers: String = ADDS
            .iter()
            .zip(&ports)
            .map(|((_, adds), port)| {
                format!(
                    "server {{ listen 127.0.0.1:{port}; set_real_ip_from 127.0.0.0/8;\n\
                     real_ip_header {CLIENT};\n\
                     location / {{ proxy_pass http://{registry}; {adds} }} }}\n"
                )
            })
            .collect();
        let config = format!(
            "daemon off; master_process off; pid {shown}/pid; error_log {shown}/error.log;\n\
             events {{}}\nhttp {{ access_log off;\n{temporary}{servers}}}\n"
        );
        std::fs::write(folder.join("nginx.conf"), config).unwrap();
        let mut command = Command::new(program);
        command.arg("-e").arg(folder.join("error.log")).arg("-c").arg(folder.join("nginx.conf"));
        let nginx = Going::start(command, &folder, "nginx");
        for port in &ports {
            wait_for("nginx", || TcpStream::connect(("127.0.0.1", *port)).ok());
        }
        Self { ports, _nginx: nginx }
    }

    /// The address of the port that adds so.
    fn at(&self, adds: &str) -> String {
        let place = ADDS.iter().position(|(name, _)| *name == adds).unwrap();
        format!("127.0.0.1:{}", self.ports[place])
    }
}

/// The status of an answer, and its reason where it is a problem.
fn send(address: &str, method: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let told = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let told: Value = serde_json::from_str(told).unwrap_or_default();
    (status, told["reason"].as_str().or(told["client"]["ip"].as_str()).unwrap_or("").to_owned())
}

fn announce(address: &str, headers: &str, host: &str, public: &str) -> (u16, String) {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let body = format!(
        "{{\"uuid\": \"{host}\", \"hostname\": \"{host}.example\", \"cache_port\": 3128, \
         \"public_ip\": \"{public}\", \"timestamp\": {}, \"load\": 0}}",
        now.as_secs_f64()
    );
    send(address, "POST", "/v1/heartbeat", headers, &body)
}

/// Tries to ban the first cache that is listed there.
fn ban(registry: &str, through: &str, headers: &str) -> (u16, String) {
    let id = wait_for("a cache", || caches(registry).first().cloned())["id"].clone();
    let path = format!("/v1/caches/{}/state", id.as_str().unwrap());
    send(through, "PUT", &path, headers, "{\"state\":\"banned\"}")
}

fn client(address: &str, headers: &str) -> String {
    send(address, "GET", "/v1/nearest", headers, "").1
}

fn from(address: &str) -> String {
    format!("{CLIENT}: {address}\r\n")
}

fn no(status: u16, reason: &str) -> (u16, String) {
    (status, reason.to_owned())
}

#[test]
fn behind_a_proxy_loopback_lends_nobody_trust() {
    let Some(program) = installed("behind_a_proxy_loopback_lends_nobody_trust", "nginx") else {
        return;
    };
    let place = Place::new();
    let (going, address) = registry(&place, &["--external-ip", "192.0.2.77"]);
    let front = Front::start(&place, &program, &address, "front");
    // This host's own agent, past the proxy.
    assert_eq!(announce(&address, "", "own", "192.0.2.77").0, 204);
    // A plain proxy adds nothing to tell by: what loopback may not, nobody may.
    let plain = front.at("plain");
    assert_eq!(announce(&plain, "", "evil", "192.0.2.10"), no(403, "address_mismatch"));
    assert_eq!(ban(&address, &plain, ""), no(403, "not_trusted"));
    for adds in ["list", "ports", "element", "real", "via"] {
        let at = front.at(adds);
        for public in ["192.0.2.10", "192.0.2.77"] {
            let answer = announce(&at, &from("203.0.113.9"), "evil", public);
            assert_eq!(answer, no(403, "sender_unknown"), "{adds}");
        }
        assert_eq!(ban(&address, &at, ""), no(403, "not_trusted"), "{adds}");
    }
    assert_eq!(caches(&address).len(), 1);
    assert!(!going.err().contains("warning"), "{}", going.err());
}

#[test]
fn a_trusted_loopback_is_warned_of_and_headers_still_show_a_stranger() {
    let name = "a_trusted_loopback_is_warned_of_and_headers_still_show_a_stranger";
    let Some(program) = installed(name, "nginx") else { return };
    let place = Place::new();
    let (going, address) = registry(&place, &["--trust", "127.0.0.0/8"]);
    let front = Front::start(&place, &program, &address, "front");
    assert!(going.err().contains("warning: --trust 127.0.0.0/8"), "{}", going.err());
    // What is warned of: nothing tells such a stranger from this host's own.
    assert_eq!(announce(&front.at("plain"), "", "any", "192.0.2.10").0, 204);
    for adds in ["list", "ports", "element", "real", "via"] {
        let at = front.at(adds);
        let answer = announce(&at, &from("127.0.0.1"), "evil", "192.0.2.11");
        assert_eq!(answer, no(403, "sender_unknown"), "{adds}");
        assert_eq!(ban(&address, &at, ""), no(403, "not_trusted"), "{adds}");
    }
    assert_eq!(ban(&address, &address, "").0, 204);
}

#[test]
fn a_proxy_of_ours_names_its_clients() {
    let Some(program) = installed("a_proxy_of_ours_names_its_clients", "nginx") else { return };
    let place = Place::new();
    let told = ["--trusted-proxy", "127.0.0.1/32", "--trust", "198.51.100.0/24,127.0.0.0/8"];
    let (_going, address) = registry(&place, &told);
    let front = Front::start(&place, &program, &address, "front");
    let (stranger, friend) = (from("203.0.113.9"), from("198.51.100.7"));
    for (adds, port) in [("list", 3), ("ports", 4), ("element", 5)] {
        let at = front.at(adds);
        assert_eq!(client(&at, &stranger), "203.0.113.9", "{adds}");
        let host = format!("own{port}");
        assert_eq!(announce(&at, &stranger, &host, "203.0.113.9").0, 204, "{adds}");
        let other = announce(&at, &stranger, "evil", "192.0.2.10");
        assert_eq!(other, no(403, "address_mismatch"), "{adds}");
        assert_eq!(ban(&address, &at, &stranger), no(403, "not_trusted"), "{adds}");
        let host = format!("friend{port}");
        assert_eq!(announce(&at, &friend, &host, &format!("192.0.2.{port}")).0, 204, "{adds}");
    }
    // Addresses of IPv6, with a port in brackets or bare.
    for adds in ["list", "element"] {
        let seen = client(&front.at(adds), &from("2001:db8::9"));
        // nginx writes no brackets around `$remote_addr`, as `Forwarded` has to have them.
        assert_eq!(seen, if adds == "list" { "2001:db8::9" } else { "127.0.0.1" });
    }
    // What a client writes itself stands left of what the proxy saw, or contradicts it.
    let spoofed = format!("{stranger}X-Forwarded-For: 198.51.100.7\r\n");
    assert_eq!(client(&front.at("list"), &spoofed), "203.0.113.9");
    let spoofed = format!("{stranger}Forwarded: for=198.51.100.7\r\n");
    let answer = announce(&front.at("list"), &spoofed, "evil", "192.0.2.10");
    assert_eq!(answer, no(403, "sender_unknown"));
    // One that names nobody lends them no address, and no trust either.
    for adds in ["plain", "real", "via"] {
        let answer = announce(&front.at(adds), &stranger, "evil", "192.0.2.10");
        assert_eq!(answer, no(403, "sender_unknown"), "{adds}");
    }
    let metrics = get(&address, "/metrics");
    for (why, at_least) in [("malformed", 2), ("silent", 3)] {
        let name = format!("shoal_strangers_total{{reason=\"{why}\"}} ");
        let count = metrics.lines().find_map(|line| line.strip_prefix(&name)).unwrap();
        assert!(count.parse::<u64>().unwrap() >= at_least, "{why}: {count}");
    }
    assert_eq!(ban(&address, &front.at("list"), &friend).0, 204);
}

/// A proxy that passes bytes on and knows nothing of HTTP: nginx's `stream`, or `socat` where that
/// module is not there.
fn relay(test: &str, place: &Place, to: &str) -> Option<(Going, String)> {
    let port = free_port();
    let folder = place.path("relay");
    std::fs::create_dir(&folder).unwrap();
    let module = [
        "/usr/lib/nginx/modules/ngx_stream_module.so",
        "/usr/lib64/nginx/modules/ngx_stream_module.so",
    ];
    let module = module.into_iter().find(|path| Path::new(path).exists());
    let command = if let (Some(module), Some(program)) = (module, installed(test, "nginx")) {
        let shown = folder.display();
        let config = format!(
            "load_module {module};\ndaemon off; master_process off; pid {shown}/pid;\n\
             error_log {shown}/error.log;\nevents {{}}\n\
             stream {{ server {{ listen 127.0.0.1:{port}; proxy_pass {to}; }} }}\n"
        );
        std::fs::write(folder.join("nginx.conf"), config).unwrap();
        let mut command = Command::new(program);
        command.arg("-e").arg(folder.join("error.log")).arg("-c").arg(folder.join("nginx.conf"));
        command
    } else {
        let mut command = Command::new(installed(test, "socat")?);
        let listen = format!("TCP-LISTEN:{port},bind=127.0.0.1,reuseaddr,fork");
        command.args([listen, format!("TCP:{to}")]);
        command
    };
    let going = Going::start(command, &folder, "relay");
    wait_for("the relay", || TcpStream::connect(("127.0.0.1", port)).ok());
    Some((going, format!("127.0.0.1:{port}")))
}

#[test]
fn a_proxy_that_passes_bytes_on_lends_nobody_trust() {
    let name = "a_proxy_that_passes_bytes_on_lends_nobody_trust";
    let place = Place::new();
    let (_going, address) = registry(&place, &["--external-ip", "192.0.2.77"]);
    let Some((_relay, through)) = relay(name, &place, &address) else { return };
    assert_eq!(announce(&through, "", "evil", "192.0.2.10"), no(403, "address_mismatch"));
    assert_eq!(announce(&address, "", "own", "192.0.2.77").0, 204);
    assert_eq!(ban(&address, &through, ""), no(403, "not_trusted"));
    let forged = "X-Forwarded-For: 127.0.0.1\r\n";
    assert_eq!(announce(&through, forged, "evil", "192.0.2.77"), no(403, "sender_unknown"));
}
