//! Users with a session, and paths with a service time of their own, over the wire.

use std::io::{BufRead as _, Read as _};
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use plimsoll_target::paths::PathCounts;
use plimsoll_target::{BodySize, Options, log};

use super::client::Running;

/// Status, headers and body of the answer to a request, over a connection of its own or not.
fn ask(client: &mut super::client::Client<std::net::TcpStream>, request: &str) -> (u16, String) {
    client.send(request.as_bytes());
    let (mut head, mut line) = (String::new(), String::new());
    while line != "\r\n" {
        line.clear();
        assert!(client.reader.read_line(&mut line).unwrap() > 0, "{head}");
        head.push_str(&line);
    }
    let length = head.split_once("Content-Length: ").unwrap().1;
    let length = length.split_once('\r').unwrap().0.parse().unwrap();
    let mut body = vec![0; length];
    client.reader.read_exact(&mut body).unwrap();
    (head[9..12].parse().unwrap(), head + &String::from_utf8(body).unwrap())
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    text.split_once(before).unwrap().1.split_once(after).unwrap().0
}

#[test]
fn a_user_logs_in_and_hands_the_newest_token_back_in_every_way() {
    for burn in [false, true] {
        let body = BodySize::Fixed(40_000);
        let options = Options { sessions: true, burn, body, ..Options::default() };
        let server = Running::new(options);
        let mut client = server.connect();
        let (status, _) = ask(&mut client, "GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
        assert_eq!(status, 403);
        let form = "user=me&password=secret";
        let login = format!(
            "POST /login HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{form}",
            form.len()
        );
        let (status, page) = ask(&mut client, &login);
        assert_eq!(status, 200);
        assert_eq!(page.split_once("\r\n\r\n").unwrap().1.len(), 40_000);
        let cookie = between(&page, "Set-Cookie: ", ";").to_owned();
        let mut token = between(&page, "value=\"", "\"").to_owned();
        let post = "Content-Type: application/x-www-form-urlencoded\r\n";
        for way in 0..4 {
            let head = format!("Host: h\r\nCookie: {cookie}\r\n");
            let body = format!("token={token}");
            let request = match way {
                0 => format!("GET /a?x=1&token={token} HTTP/1.1\r\n{head}\r\n"),
                1 => format!("GET /a HTTP/1.1\r\n{head}X-Token: {token}\r\n\r\n"),
                2 => format!(
                    "POST /b HTTP/1.1\r\n{head}{post}Content-Length: {}\r\n\r\n{body}",
                    body.len()
                ),
                _ => format!(
                    "POST /b HTTP/1.1\r\n{head}{post}Transfer-Encoding: chunked\r\n\r\n\
                     5\r\n{}\r\n{:x}\r\n{}\r\n0\r\n\r\n",
                    &body[..5],
                    body.len() - 5,
                    &body[5..]
                ),
            };
            let (status, page) = ask(&mut client, &request);
            assert_eq!(status, 200, "{way}");
            assert_eq!(ask(&mut client, &request).0, 403, "the old token, {way}");
            token = between(&page, "value=\"", "\"").to_owned();
        }
        let stats = server.finish();
        assert_eq!((stats.requests, stats.succeeded, stats.forbidden), (10, 5, 5));
        let of = |path: &str| stats.by_path.paths[path];
        let b = PathCounts { requests: 4, succeeded: 2, forbidden: 2, ..PathCounts::default() };
        assert_eq!(of("/b"), b);
        assert_eq!((of("/login").requests, of("/a").requests), (1, 5));
    }
}

#[test]
fn a_full_queue_and_a_drawn_error_give_no_token_away() {
    let sessions = true;
    let options = Options { sessions, error_share: 1.0, ..Options::default() };
    let server = Running::new(options);
    let (status, page) = ask(&mut server.connect(), "POST /login HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_eq!(status, 500);
    assert!(!page.contains("Set-Cookie"));
    assert_eq!(server.finish().by_path.paths["/login"].errors, 1);
}

#[test]
fn a_path_takes_its_own_time() {
    let folder = std::env::temp_dir();
    let path = folder.join(format!("plimsoll-target-paths-{}.csv", std::process::id()));
    let paths = ["/slow=const:50ms", "/mid=exp:1ms"].map(|text| text.parse().unwrap());
    let workers = NonZeroU32::new(4).unwrap();
    let log_to = Some(path.clone());
    let options = Options { paths: paths.into(), workers, log: log_to, ..Options::default() };
    let server = Running::new(options);
    let mut client = server.connect();
    let mut took = Vec::new();
    for target in ["/slow", "/slow?x=1", "/slower", "/mid", "/"] {
        #[expect(clippy::disallowed_methods, reason = "a service time is measured")]
        let began = Instant::now();
        let request = format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n");
        assert_eq!(client.ask(request.as_bytes()).status, 200);
        took.push(began.elapsed());
    }
    let stats = server.finish();
    assert!(took[..2].iter().all(|&took| took >= Duration::from_millis(50)), "{took:?}");
    let services: Vec<u64> = log::read(&path).unwrap().iter().map(|r| r.service_ns).collect();
    assert_eq!((services[0], services[1], services[2]), (50_000_000, 50_000_000, 0));
    assert!(services[3] > 0 && services[4] == 0, "{services:?}");
    assert_eq!(stats.by_path.paths["/slow"].requests, 2);
    std::fs::remove_file(path).unwrap();
}
