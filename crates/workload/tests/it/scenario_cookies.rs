//! Jars of cookies: RFC 6265's own examples, what is refused, bounds, and any bytes at all.

use plimsoll_workload::scenario::cookies::{Jar, MOST, MOST_BYTES, Refused, pair, parse_date};
use proptest::prelude::*;

/// The day on which these tests were written.
const NOW_S: i64 = 1_795_000_000;
const HOST: &str = "shop.example";

fn sent(jar: &Jar, host: &str, path: &str, is_secure: bool, now_s: i64) -> String {
    let mut out = Vec::new();
    let count = jar.write_header(&mut out, host, path, is_secure, now_s);
    let text = String::from_utf8(out).unwrap();
    assert_eq!(count, text.split("; ").filter(|cookie| !cookie.is_empty()).count());
    text
}

fn set(jar: &mut Jar, header: &str) -> Result<(), Refused> {
    jar.set(header.as_bytes(), HOST, "/a/b?c=/d/", NOW_S)
}

fn jar(headers: &[&str]) -> Jar {
    let mut jar = Jar::default();
    for header in headers {
        set(&mut jar, header).unwrap();
    }
    jar
}

#[test]
fn the_examples_of_the_rfc() {
    // Section 3.1.
    let mut jar = jar(&["SID=31d4d96e407aad42"]);
    assert_eq!(sent(&jar, HOST, "/a/x", false, NOW_S), "SID=31d4d96e407aad42");
    set(&mut jar, "SID=31d4d96e407aad42; Path=/; Domain=shop.example").unwrap();
    set(&mut jar, "lang=en-US; Path=/; Domain=shop.example; Secure; HttpOnly").unwrap();
    // The cookie of `/a` came first and stays; longer paths go first.
    let all = "SID=31d4d96e407aad42; SID=31d4d96e407aad42; lang=en-US";
    assert_eq!(sent(&jar, HOST, "/a", true, NOW_S), all);
    assert_eq!(sent(&jar, "www.shop.example", "/", false, NOW_S), "SID=31d4d96e407aad42");
    set(&mut jar, "lang=; Path=/; Domain=shop.example; Expires=Sun, 06 Nov 1994 08:49:37 GMT")
        .unwrap();
    assert_eq!(sent(&jar, HOST, "/", true, NOW_S), "SID=31d4d96e407aad42");
}

#[test]
fn hosts_apart_and_domains() {
    let jar = jar(&["own=1; Path=/", "all=2; Path=/; Domain=.Shop.Example"]);
    assert_eq!(sent(&jar, HOST, "/", false, NOW_S), "own=1; all=2");
    assert_eq!(sent(&jar, "SHOP.EXAMPLE", "/", false, NOW_S), "own=1; all=2");
    assert_eq!(sent(&jar, "www.shop.example", "/", false, NOW_S), "all=2");
    for other in ["example", "myshop.example", "shop.example.org", "other.example", ""] {
        assert_eq!(sent(&jar, other, "/", false, NOW_S), "", "{other}");
    }
}

#[test]
fn foreign_domains_and_single_labels_are_refused() {
    let mut jar = Jar::default();
    for domain in ["example", "com", "other.example", "www.shop.example", "op.example", "a..b"] {
        let refused = jar.set(format!("a=1; Domain={domain}").as_bytes(), HOST, "/", NOW_S);
        assert_eq!(refused, Err(Refused::Domain), "{domain}");
    }
    for (domain, host) in [("localhost", "a.localhost"), ("0.0.1", "127.0.0.1"), ("::1", "::1")] {
        let refused = jar.set(format!("a=1; Domain={domain}").as_bytes(), host, "/", NOW_S);
        assert_eq!(refused, Err(Refused::Domain), "{domain}");
    }
    assert!(jar.is_empty());
    // A name of one label may be told by its own host, and nothing is below it.
    for host in ["localhost", "web"] {
        let mut jar = Jar::default();
        jar.set(format!("a=1; Domain={host}").as_bytes(), host, "/", NOW_S).unwrap();
        assert_eq!(sent(&jar, host, "/", false, NOW_S), "a=1");
        assert_eq!(sent(&jar, &format!("x.{host}"), "/", false, NOW_S), "");
    }
    // To this very host a secure one goes by plain HTTP, too.
    for (host, goes) in
        [("localhost", "s=1"), ("shop.localhost", "s=1"), ("127.0.0.1", "s=1"), ("web", "")]
    {
        let mut jar = Jar::default();
        jar.set(b"s=1; Secure", host, "/", NOW_S).unwrap();
        assert_eq!(sent(&jar, host, "/", false, NOW_S), goes, "{host}");
    }
    jar.set(b"a=1; Domain=127.0.0.1", "127.0.0.1", "/", NOW_S).unwrap();
    assert_eq!(sent(&jar, "127.0.0.1", "/", false, NOW_S), "a=1");
    assert_eq!(sent(&jar, "1.127.0.0.1", "/", false, NOW_S), "");
    // An empty domain is none, and the last one holds.
    jar.set(b"b=1; Domain=other.example; Domain=", HOST, "/", NOW_S).unwrap();
    assert_eq!(sent(&jar, HOST, "/", false, NOW_S), "b=1");
    assert_eq!(sent(&jar, "www.shop.example", "/", false, NOW_S), "");
}

#[test]
fn paths() {
    for (path, asked, goes) in [
        ("; Path=/a", "/a", true),
        ("; Path=/a", "/a/", true),
        ("; Path=/a", "/a/b?x", true),
        ("; Path=/a", "/ab", false),
        ("; Path=/a", "/", false),
        ("; Path=/a/", "/a", false),
        ("; Path=/a/", "/a/b", true),
        ("; Path=a", "/a/x", true),
        ("; Path=", "/a/x", true),
        ("", "/a/x", true),
        ("", "/a", true),
        ("", "/ab", false),
        ("; Path=/", "", true),
        ("; Path=/", "?a", true),
    ] {
        let jar = jar(&[&format!("a=1{path}")]);
        assert_eq!(!sent(&jar, HOST, asked, false, NOW_S).is_empty(), goes, "{path} {asked}");
    }
}

#[test]
fn max_age_goes_before_expires_in_any_order() {
    let past = "Expires=Sun, 06 Nov 1994 08:49:37 GMT";
    let late = "Expires=Fri, 01 Jan 2100 00:00:00 GMT";
    for (attributes, lives) in [
        (format!("Max-Age=60; {past}"), 60),
        (format!("{past}; max-age=60"), 60),
        (format!("{late}; Max-Age=60"), 60),
        ("Max-Age=60; Max-Age=70".to_owned(), 70),
        ("Max-Age=60; Max-Age=x".to_owned(), 60),
        (format!("Max-Age=1e3; {late}"), 2_000_000_000),
        ("Expires=Tue, 17 Nov 2026 00:00:00 GMT; Expires=tomorrow".to_owned(), 0),
    ] {
        let jar = jar(&[&format!("a=1; {attributes}")]);
        let holds = |after: i64| !sent(&jar, HOST, "/a", false, NOW_S + after).is_empty();
        if lives > 0 {
            assert!(holds(lives - 1), "{attributes}");
        }
        assert!(lives > 1_000_000_000 || !holds(lives), "{attributes}");
    }
    for gone in ["Max-Age=0", "Max-Age=-1", past, "Max-Age=-99999999999999999999"] {
        let mut jar = jar(&["a=1", "b=2"]);
        set(&mut jar, &format!("a=3; {gone}")).unwrap();
        assert_eq!(sent(&jar, HOST, "/a", false, NOW_S), "b=2", "{gone}");
        assert_eq!(jar.len(), 1);
    }
    let forever = jar(&["a=1; Max-Age=99999999999999999999"]);
    assert_eq!(sent(&forever, HOST, "/a", false, i64::MAX - 1), "a=1");
}

#[test]
fn secure_cookies_go_over_secure_connections_only() {
    let jar = jar(&["a=1; SECURE", "b=2"]);
    assert_eq!(sent(&jar, HOST, "/a", false, NOW_S), "b=2");
    assert_eq!(sent(&jar, HOST, "/a", true, NOW_S), "a=1; b=2");
}

#[test]
fn a_new_value_keeps_its_place() {
    let mut jar = jar(&["a=1", "b=2", "c=3"]);
    set(&mut jar, "a=4").unwrap();
    assert_eq!(sent(&jar, HOST, "/a", false, NOW_S), "a=4; b=2; c=3");
    assert_eq!(jar.get(b"a", HOST, "/a", false, NOW_S), Some(&b"4"[..]));
    assert_eq!(jar.get(b"a", HOST, "/b", false, NOW_S), None);
    assert_eq!(jar.get(b"A", HOST, "/a", false, NOW_S), None);
}

#[test]
fn what_is_no_cookie() {
    let mut jar = Jar::default();
    for header in ["", ";", "a", "=1", " = 1", "a; b=1", "a=\u{7}", "a=1\r\nb: 2"] {
        assert_eq!(set(&mut jar, header), Err(Refused::NoCookie), "{header:?}");
    }
    let long = "x".repeat(MOST_BYTES);
    assert_eq!(set(&mut jar, &format!("a={long}")), Err(Refused::TooLong));
    assert!(jar.is_empty());
    // What is too long an attribute is passed over.
    set(&mut jar, &format!("a=b=c; Path=/{}; Path=/z; x", "y".repeat(1024))).unwrap();
    assert_eq!(sent(&jar, HOST, "/z", false, NOW_S), "a=b=c");
    assert_eq!(pair(b" a = \"1\" ; Path=/"), Some((&b"a"[..], &b"\"1\""[..])));
}

#[test]
fn a_full_jar_forgets_what_has_expired_and_then_the_oldest() {
    let mut jar = Jar::default();
    jar.set(b"short=1; Max-Age=10", HOST, "/", NOW_S).unwrap();
    for n in 1..MOST {
        jar.set(format!("n{n}=1").as_bytes(), HOST, "/", NOW_S).unwrap();
    }
    assert_eq!(jar.len(), MOST);
    jar.set(b"x=1", HOST, "/", NOW_S + 10).unwrap();
    assert!(jar.get(b"short", HOST, "/", false, NOW_S).is_none());
    assert!(jar.get(b"n1", HOST, "/", false, NOW_S).is_some());
    jar.set(b"y=1", HOST, "/", NOW_S + 10).unwrap();
    assert!(jar.get(b"n1", HOST, "/", false, NOW_S).is_none());
    assert_eq!(jar.len(), MOST);
}

#[test]
fn an_empty_jar_is_small_and_shows_no_value() {
    assert!(size_of::<Jar>() <= 32, "{}", size_of::<Jar>());
    let shown = format!("{:?}", jar(&["sid=secret"]));
    assert!(shown.contains("sid") && !shown.contains("secret"), "{shown}");
}

/// Attributes and values that mean something, so that random ones meet in meaningful ways.
fn header() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["a", "b", "sid", "lang"]);
    let attribute = prop::sample::select(vec![
        "; Path=/",
        "; Path=/a",
        "; Path=/a/b",
        "; Domain=shop.example",
        "; Domain=example",
        "; Secure",
        "; Max-Age=0",
        "; Max-Age=50",
        "; Expires=Fri, 01 Jan 2100 00:00:00 GMT",
        "; Expires=x",
        "; HttpOnly",
    ]);
    let attributes = prop::collection::vec(attribute, 0..4);
    (name, 0..1000_u32, attributes)
        .prop_map(|(name, value, attributes)| format!("{name}={value}{}", attributes.concat()))
}

proptest! {
    /// Whatever is set: each name, path and domain is there once, the order is that of the RFC,
    /// nothing that is secure or expired is sent where it may not be.
    #[test]
    fn jars_keep_their_order(headers in prop::collection::vec(header(), 0..40)) {
        let mut jar = Jar::default();
        let mut last = None;
        for header in &headers {
            if jar.set(header.as_bytes(), HOST, "/a/b/c", NOW_S).is_ok() {
                last = Some(header);
            }
        }
        let all = sent(&jar, HOST, "/a/b/c", true, NOW_S);
        let plain = sent(&jar, HOST, "/a/b/c", false, NOW_S);
        let later = sent(&jar, HOST, "/a/b/c", true, NOW_S + 50);
        let is_part = |part: &str| {
            let mut all = all.split("; ");
            part.split("; ").filter(|p| !p.is_empty()).all(|cookie| all.any(|c| c == cookie))
        };
        prop_assert!(is_part(&plain) && is_part(&later), "{all} / {plain} / {later}");
        // Four names, three paths and the default, the host's own or its domain's.
        prop_assert!(jar.len() <= 4 * 4);
        if let Some(last) = last.filter(|last| !last.contains("Max-Age=0")) {
            let (name, value) = pair(last.as_bytes()).unwrap();
            let cookie = [name, b"=", value].concat();
            let found = all.split("; ").any(|sent| sent.as_bytes() == cookie);
            prop_assert!(found, "{last}: {all}");
        }
    }

    /// Any bytes: no panic, bounded, and what is sent holds nothing that splits a header.
    #[test]
    fn any_bytes_are_read(
        headers in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..8),
        host in "[a-zA-Z0-9.:-]{0,20}",
        path in "[ -~]{0,20}",
    ) {
        let mut jar = Jar::default();
        for header in &headers {
            let _ = jar.set(header, &host, &path, NOW_S);
            let _ = parse_date(header);
        }
        let mut out = Vec::new();
        jar.write_header(&mut out, &host, &path, true, NOW_S);
        prop_assert!(!out.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)));
    }

    /// Bytes that are nearly a cookie.
    #[test]
    fn nearly_cookies_are_read(text in "[a=;,: \\-0-9DPMSEomainthxpres./]{0,80}") {
        let mut jar = Jar::default();
        let _ = jar.set(text.as_bytes(), HOST, "/a", NOW_S);
        let mut out = Vec::new();
        let count = jar.write_header(&mut out, HOST, "/a", true, NOW_S);
        prop_assert!(count <= 1 && out.len() <= text.len());
    }
}
