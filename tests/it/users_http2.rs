//! Users who ask by HTTP/2, of a real nginx: `--scenario` with `--http 2`, and as TLS agrees on it.

use crate::client_certificates::certificates;
use crate::nginx::nginx;
use crate::place::Place;
use plimsoll_testing::installed;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const SHOP: &str = r#"
[[step]]
name = "log in"
post = "/login"
form = { user = "user{{user}}", password = "pear & plum" }
take.token = { css = "input[name=token]", attribute = "value" }
take.length = { header = "X-Length" }
check = { status = 200, contains = "Welcome" }

[[step]]
name = "basket"
get = "/basket"
query = { token = "{{token}}" }
headers = { X-User = "{{user}}" }
follow = 2
check = { status = 200, contains = "your basket", header = { X-User = "{{user}}" } }

[[step]]
name = "stock"
head = "/basket/seen"

[[step]]
name = "wrong"
get = "/basket?token=none"
on_failure = "go on"
"#;

/// A shop that wants its cookie and its token back, and tells what it was asked by which
/// connection. A connection is good for so many requests.
fn shop(port: u16, listen: &str, requests: u32) -> String {
    format!(
        "log_format shop '$connection $server_protocol $request_method $uri $status $scheme';\n\
         server {{ listen 127.0.0.1:{port}{listen}; access_log nginx/shop.log shop;\n\
         default_type text/html; keepalive_requests {requests};\n\
         location = /login {{ add_header Set-Cookie 'sid=abc123; Path=/; HttpOnly';\n\
           add_header X-Length $content_length;\n\
           return 200 'Welcome <input name=\"token\" value=\"t-42\">'; }}\n\
         location = /basket {{ if ($cookie_sid != abc123) {{ return 403; }}\n\
           if ($arg_token != t-42) {{ return 400; }} return 302 /basket/seen; }}\n\
         location = /basket/seen {{ if ($cookie_sid != abc123) {{ return 403; }}\n\
           add_header X-User $http_x_user; return 200 'your basket'; }} }}"
    )
}

/// What the shop was asked: by connection, each request with its protocol, path and status.
fn asked(place: &Place) -> BTreeMap<String, Vec<String>> {
    let log = std::fs::read_to_string(place.path("nginx/shop.log")).unwrap();
    let mut asked = BTreeMap::<String, Vec<String>>::new();
    for line in log.lines() {
        let (connection, request) = line.split_once(' ').unwrap();
        asked.entry(connection.to_owned()).or_default().push(request.to_owned());
    }
    asked
}

fn named<'a>(summary: &'a Value, name: &str) -> &'a Value {
    let mut all = summary["by_name"].as_array().unwrap().iter();
    all.find(|of| of["name"] == name).unwrap_or_else(|| panic!("no {name} in {summary}"))
}

/// What twelve users come to.
fn users(place: &Place, url: &str, more: &[&str]) -> Value {
    let load = ["load", url, "--scenario", "shop.toml", "--users", "4", "-n", "12", "--json"];
    let summary = place.plimsoll(&[&load[..], more].concat()).json();
    let users = &summary["users"];
    assert_eq!((&users["finished"], &users["failed"]), (&12.into(), &0.into()), "{summary}");
    for name in ["log in", "basket", "stock"] {
        assert_eq!(named(&summary, name)["succeeded"], 12, "{name}: {summary}");
    }
    assert_eq!(named(&summary, "basket")["redirects"], 12, "{summary}");
    assert_eq!(named(&summary, "wrong")["failures"]["check"], 12, "{summary}");
    summary
}

#[test]
fn users_ask_by_http_2_each_on_connections_of_his_own() {
    let test = "users_ask_by_http_2_each_on_connections_of_his_own";
    let place = Place::new();
    place.write("shop.toml", SHOP);
    let Some((_nginx, port)) = nginx(&place, test, |port| {
        shop(port, " http2", 1000).replace("nginx/shop.log", &path(&place))
    }) else {
        return;
    };
    let url = format!("http://127.0.0.1:{port}/");
    let summary = users(&place, &url, &["--http", "2"]);
    assert_eq!(summary["connections"]["opened"], 12, "{summary}");
    let asked = asked(&place);
    let whole = ["POST /login 200", "GET /basket 302", "GET /basket/seen 200"]
        .into_iter()
        .chain(["HEAD /basket/seen 200", "GET /basket 400"])
        .map(|request| format!("HTTP/2.0 {request} http"))
        .collect::<Vec<_>>();
    assert_eq!(asked.len(), 12, "{asked:?}");
    assert!(asked.values().all(|requests| *requests == whole), "{asked:?}");
    // What went over the wire is counted.
    assert_eq!(summary["redirects"], 12, "{summary}");

    let tried = place.plimsoll(&["scenario", "try", "shop.toml", &url, "--http", "2"]);
    tried.ended_with(4).prints(&[
        "< Welcome",
        "token = t-42",
        // The form's length, as the server has heard it.
        "length = 33",
        "basket, redirected",
        "< your basket",
        "failed, check: ",
    ]);
    // By HTTP/1.1 it is not understood.
    let tried = place.plimsoll(&["scenario", "try", "shop.toml", &url]).ended_with(4);
    tried.prints(&["no answer: "]);
    let wrong = place.plimsoll(&["scenario", "try", "shop.toml", &url, "--http", "3"]);
    wrong.ended_with(2).says(&["--http", "1.1, 2 or auto"]);
}

/// The path of the shop's log, as its configuration has it.
fn path(place: &Place) -> String {
    place.path("nginx/shop.log").display().to_string()
}

#[test]
fn http_2_is_agreed_on_by_tls_and_connections_that_end_are_replaced() {
    let test = "http_2_is_agreed_on_by_tls_and_connections_that_end_are_replaced";
    if installed(test, "openssl").is_none() {
        return;
    }
    for (listen, version, requests) in [(" ssl http2", "HTTP/2.0", 2), (" ssl", "HTTP/1.1", 1000)] {
        let place = Place::new();
        certificates(&place);
        place.write("shop.toml", SHOP);
        let here = place.path("").display().to_string();
        let certificate =
            format!("ssl_certificate {here}/server.pem; ssl_certificate_key {here}/server.key;");
        let Some((_nginx, port)) = nginx(&place, test, |port| {
            let shop = shop(port, listen, requests).replace("nginx/shop.log", &path(&place));
            shop.replace("default_type", &format!("{certificate} default_type"))
        }) else {
            return;
        };
        let url = format!("https://127.0.0.1:{port}/");
        let by = ["--http", "auto", "--ca", "ca.pem"];
        let summary = users(&place, &url, &by);
        let asked = asked(&place);
        let versions: BTreeSet<&str> =
            asked.values().flatten().map(|request| request.split(' ').next().unwrap()).collect();
        assert_eq!(versions, BTreeSet::from([version]), "{asked:?}");
        let opened = summary["connections"]["opened"].as_u64().unwrap();
        // Each user asks five times.
        let least = if requests == 2 { 36 } else { 12 };
        assert!((least..=least + 12).contains(&opened), "{summary}");
        let tried = [&["scenario", "try", "shop.toml", &url], &by[..]].concat();
        place.plimsoll(&tried).ended_with(4).prints(&["token = t-42", "< your basket"]);
        if version == "HTTP/1.1" {
            let only = ["scenario", "try", "shop.toml", &url, "--http", "2", "--ca", "ca.pem"];
            place.plimsoll(&only).ended_with(4).prints(&["no answer: "]);
        }
    }
}
