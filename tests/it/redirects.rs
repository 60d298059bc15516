//! Redirects that are followed by choice, by a real nginx.

use crate::nginx::{asked, nginx};
use crate::place::Place;
use serde_json::Value;

/// Servers that lead elsewhere, by HTTP/1.1 at a port and by HTTP/2 at the next block's.
fn servers(port: u16, http2: &str, slow: &str) -> String {
    format!(
        "server {{ listen 127.0.0.1:{port}{http2};\n\
         location = /one {{ return 302 /two; }}\n\
         location = /two {{ return 301 ../a/./b/../three; }}\n\
         location = /a/three {{ return 200 three; }}\n\
         location = /see {{ return 303 /get; }}\n\
         location = /keep {{ return 307 /post; }}\n\
         location = /get {{ if ($request_method != GET) {{ return 405; }} return 200; }}\n\
         location = /post {{ if ($request_method != POST) {{ return 405; }} return 200; }}\n\
         location = /loop {{ return 302 /loop; }}\n\
         location = /away {{ return 302 http://elsewhere.example/secret-token; }}\n\
         location = /in {{ return 302 /private; }}\n\
         location = /private {{ if ($http_authorization = '') {{ return 401; }} return 200; }}\n\
         location = /slow {{ proxy_pass http://{slow}; proxy_intercept_errors on;\n\
           error_page 500 503 =302 http://127.0.0.1:{port}/a/three; }}\n}}"
    )
}

/// What twenty requests come to.
fn twenty(place: &Place, url: &str, arguments: &[&str]) -> Value {
    let load = ["load", url, "--rate", "20/s", "--for", "1s", "--json", "--quiet"];
    place.plimsoll(&[&load[..], arguments].concat()).json()
}

/// The counts that redirects bear on.
fn counts(of: &Value) -> [u64; 5] {
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    let errors = &of["errors"];
    let names = ["offered", "completed", "succeeded", "redirects"];
    let [a, b, c, d] = names.map(|name| count(&of[name]));
    [a, b, c, d, count(&errors["redirect"])]
}

#[test]
fn a_redirect_is_an_answer_unless_it_is_to_be_followed() {
    let test = "a_redirect_is_an_answer_unless_it_is_to_be_followed";
    for (version, http2) in [("1.1", ""), ("2", " http2")] {
        let place = Place::new();
        let slow = place.target(&["--service-time", "const:60ms", "--errors", "100%"]);
        let config = |port| servers(port, http2, slow.address());
        let Some((_nginx, port)) = nginx(&place, test, config) else { return };
        let url = |path: &str| format!("http://127.0.0.1:{port}{path}");
        let by = |path: &str, more: &[&str]| {
            twenty(&place, &url(path), &[&["--http", version], more].concat())
        };
        let plain = by("/one", &[]);
        assert_eq!(counts(&plain), [20, 20, 0, 0, 0], "{plain}");
        assert_eq!(plain["status"]["302"], 20);
        assert!(plain["warnings"].to_string().contains("--follow"), "{plain}");

        let followed = by("/one", &["--follow", "5"]);
        assert_eq!(counts(&followed), [20, 20, 20, 40, 0], "{followed}");
        assert_eq!(followed["status"], serde_json::json!({ "200": 20 }));
        assert_eq!((asked(&place, "/two"), asked(&place, "/a/three")), (20, 20));

        let looped = by("/loop", &["--follow", "3"]);
        assert_eq!(counts(&looped), [20, 20, 0, 60, 20], "{looped}");
        assert_eq!(asked(&place, "/loop"), 80);
        let away = by("/away", &["--follow", "3"]);
        assert_eq!(counts(&away), [20, 20, 0, 0, 20], "{away}");
        let reasons = away["reasons"].to_string();
        assert!(reasons.contains("302 leads to http://elsewhere.example, which is not"), "{away}");
        assert!(!reasons.contains("secret-token"), "{away}");
        assert_eq!(away["blame"]["target"], 20);

        let post = ["--method", "POST", "--body", "n={{counter}}", "--follow", "1"];
        for path in ["/see", "/keep"] {
            let of = by(path, &post);
            assert_eq!(counts(&of), [20, 20, 20, 20, 0], "{path} {of}");
        }
        let private = by("/in", &["--follow", "1", "--bearer", "abc"]);
        assert_eq!(counts(&private), [20, 20, 20, 20, 0], "{private}");

        // The time of a request is from when it was due; of the last answer alone its service.
        let slow = by("/slow", &["--follow", "1"]);
        assert_eq!(counts(&slow), [20, 20, 20, 20, 0], "{slow}");
        let p50 = |of: &str| slow[of]["p50"].as_f64().unwrap();
        assert!(p50("response_us") >= 60_000.0, "{slow}");
        assert!(p50("service_us") < 50_000.0, "{slow}");
    }
}

#[test]
fn connections_of_their_own_and_users_follow_too() {
    let test = "connections_of_their_own_and_users_follow_too";
    let place = Place::new();
    let config = |port| servers(port, "", "127.0.0.1:1");
    let Some((_nginx, port)) = nginx(&place, test, config) else { return };
    let url = format!("http://shop.example:{port}/one");
    let resolve = format!("shop.example:{port}:127.0.0.1");
    let more = ["--follow", "5", "--connection", "per-request", "--resolve", &resolve];
    let of = twenty(&place, &url, &more);
    assert_eq!(counts(&of), [20, 20, 20, 40, 0], "{of}");
    assert_eq!(of["connections"]["opened"], 60, "{of}");
    // A server that is told another name leads to that name.
    let url = format!("http://127.0.0.1:{port}/one");
    let of = twenty(&place, &url, &["--follow", "5", "--host", "shop.example"]);
    assert_eq!(of["errors"]["redirect"], 20, "nginx adds its port to the name: {of}");
    let host = format!("shop.example:{port}");
    let of = twenty(&place, &url, &["--follow", "5", "--host", &host]);
    assert_eq!(counts(&of), [20, 20, 20, 40, 0], "{of}");
    let users = ["load", &url, "--users", "2", "--for", "1s", "--follow", "5", "--json", "--quiet"];
    let of = place.plimsoll(&users).went_well().json();
    assert_eq!(of["succeeded"].as_u64().map(|n| 2 * n), of["redirects"].as_u64(), "{of}");
}
