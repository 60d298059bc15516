//! The page over real sockets.

use plimsoll_shoal::page::assets::ASSETS;
use serde_json::json;

use crate::support::live::{Ask, Live, options, said, text, with};

const POLICY: &str = "default-src 'self'; base-uri 'none'; form-action 'self'; \
                      frame-ancestors 'none'; object-src 'none'";

fn three() -> Live {
    let live = Live::start(options());
    for (host, load, cloud) in [("a", 10, "east"), ("b", 90_000, "west"), ("c", 50_000, "east")] {
        let more = json!({"load": load, "cloud": cloud, "max_load": 100_000});
        let beat = said(&format!("secret-{host}"), &format!("{host}.example"), "192.0.2.1");
        let answer =
            live.announce(&with(with(beat, &more), &json!({"cache_port": 3000 + load % 7})));
        assert_eq!(answer.status, 204);
    }
    live.lists(3);
    live
}

/// Where a text is in the page; all are to be there.
fn order(page: &str, hosts: [&str; 3]) -> bool {
    let at = hosts.map(|host| page.find(&format!(">{host}.example</a>")).unwrap());
    at.is_sorted()
}

#[test]
fn the_page_sorts_and_filters_by_links_alone() {
    let live = three();
    let page = |target: &str| {
        let answer = live.get(target);
        assert_eq!(answer.status, 200, "{target}");
        assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
        text(&answer)
    };
    assert!(order(&page("/"), ["a", "b", "c"]));
    assert!(order(&page("/?sort=load"), ["b", "c", "a"]));
    assert!(order(&page("/20?sort=host&order=desc"), ["c", "b", "a"]));
    let east = page("/?host=&cloud=east&country=&version=&state=&load_min=&load_max=");
    assert!(east.contains(">a.example<") && !east.contains(">b.example<"));
    let second = page("/1?page=2");
    assert!(second.contains(">b.example<") && !second.contains(">a.example<"));
    assert!(second.contains("href=\"/1?page=3\"") && second.contains("page 2 of 3"));
    assert!(!page("/").contains("secret-"));
}

#[test]
fn a_browser_is_told_what_it_may_load() {
    let live = three();
    let mut targets = vec!["/".to_owned(), "/20".to_owned(), "/?page=x".to_owned()];
    targets.extend(ASSETS.iter().map(|asset| format!("/assets/{}", asset.name)));
    for target in targets {
        let answer = live.get(&target);
        assert_eq!(answer.header("content-security-policy"), Some(POLICY), "{target}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{target}");
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{target}");
    }
    // What the original's clients read is as it was.
    assert_eq!(live.get("/nearest").header("content-security-policy"), None);
}

#[test]
fn what_a_page_loads_is_there_and_may_be_kept() {
    let live = three();
    let page = text(&live.get("/"));
    let named: Vec<_> = page
        .split("\"/assets/")
        .skip(1)
        .map(|part| {
            let (target, _) = part.split_once('"').unwrap();
            target.split('#').next().unwrap()
        })
        .collect();
    assert_eq!(named.len(), ASSETS.len(), "{named:?}");
    for target in named {
        let answer = live.get(&format!("/assets/{target}"));
        let name = target.split('?').next().unwrap();
        let asset = ASSETS.iter().find(|asset| asset.name == name).unwrap();
        assert_eq!((answer.status, &*text(&answer)), (200, asset.body), "{target}");
        assert_eq!(answer.header("content-type"), Some(asset.content_type));
        assert_eq!(answer.header("cache-control"), Some("public, max-age=31536000, immutable"));
    }
    for target in ["/assets/", "/assets/page.rs", "/assets/../page.css", "/assets/page.css/"] {
        assert_eq!(live.get(target).status, 404, "{target}");
    }
    let post = live.send(Ask { method: "POST", target: "/", headers: &[], body: &[] });
    assert_eq!(post.status, 405);
}

#[test]
fn a_wrong_query_is_answered_with_what_is_wrong() {
    let live = Live::start(options());
    let answer = live.get("/?load_min=%3Cb%3E");
    assert_eq!(answer.status, 400);
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    assert!(text(&answer).contains("`load_min` is not a whole number from 0 to 100"));
    // No page may be asked for in a way that ends the server.
    for target in ["/?page=999999", "/0?sort=country&order=desc&state=banned", "/?%ff=%zz&=&?"] {
        assert_eq!(live.get(target).status, 200, "{target}");
    }
}

#[test]
fn a_page_on_which_nothing_happened_is_not_sent_again() {
    let live = three();
    let first = live.get("/");
    let tag = first.header("etag").unwrap().to_owned();
    let again = || {
        let headers = [("If-None-Match", &*tag)];
        live.send(Ask { method: "GET", target: "/", headers: &headers, body: &[] })
    };
    let second = again();
    assert_eq!((second.status, second.body.len()), (304, 0));
    assert_eq!(second.header("etag"), Some(&*tag));
    live.announce(&with(said("secret-d", "d.example", "192.0.2.9"), &json!({"load": 5})));
    live.lists(4);
    assert_eq!(again().status, 200);
}

#[test]
fn an_example_has_the_name_that_the_reader_used_and_no_other_text() {
    let live = Live::start(options());
    assert!(text(&live.get("/")).contains("--server http://shoal.example<"));
    let raw = live.raw(b"GET / HTTP/1.1\r\nHost: a\"><script>\r\nConnection: close\r\n\r\n");
    assert!(raw.contains("registry.example:8080") || raw.starts_with("HTTP/1.1 400"), "{raw}");
    assert!(!raw.contains("a\"><script>"), "{raw}");
}
