//! Redirects that are followed by choice, by a real nginx.

use crate::nginx::nginx;
use crate::place::Place;
use serde_json::Value;

/// Servers that lead elsewhere, by HTTP/1.1 at a port and by HTTP/2 at the next block's.
pub(crate) fn servers(port: u16, http2: &str, slow: &str) -> String {
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
pub(crate) fn twenty(place: &Place, url: &str, arguments: &[&str]) -> Value {
    let load = ["load", url, "--rate", "20/s", "--for", "1s", "--json", "--quiet"];
    place.plimsoll(&[&load[..], arguments].concat()).json()
}

/// The counts that redirects bear on.
pub(crate) fn counts(of: &Value) -> [u64; 5] {
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    let errors = &of["errors"];
    let names = ["offered", "completed", "succeeded", "redirects"];
    let [a, b, c, d] = names.map(|name| count(&of[name]));
    [a, b, c, d, count(&errors["redirect"])]
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
    let of = place.plimsoll(&users).ran().json();
    assert_eq!(of["succeeded"].as_u64().map(|n| 2 * n), of["redirects"].as_u64(), "{of}");
}
