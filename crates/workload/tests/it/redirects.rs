//! Where redirects lead: the examples of RFC 3986, and what holds of any location.

use plimsoll_workload::request::{Request, Template, Url, is_redirect};
use proptest::prelude::*;

fn base(url: &str) -> Request {
    let request = Request::new(Url::parse(url).expect("a URL"));
    let request = request.method("POST").expect("a method").body(Template::literal(b"x".into()));
    let headers = ["Authorization: Bearer abc", "Cookie: a=b", "Content-Type: text/plain", "X: y"];
    let with = |request: Request, header: &str| request.header(header).expect("a header");
    headers.into_iter().fold(request, with)
}

fn names(of: &Request) -> Vec<String> {
    of.headers.iter().map(|(name, _)| name.to_ascii_lowercase()).collect()
}

/// RFC 3986, section 5.4, but for what is no URL of HTTP, and for fragments, which are dropped.
#[test]
fn locations_are_resolved_as_the_rfc_resolves_references() {
    let base = Url::parse("http://a/b/c/d;p?q").expect("a URL");
    let cases = [
        ("g", "/b/c/g"),
        ("./g", "/b/c/g"),
        ("g/", "/b/c/g/"),
        ("/g", "/g"),
        ("?y", "/b/c/d;p?y"),
        ("g?y", "/b/c/g?y"),
        ("#s", "/b/c/d;p?q"),
        ("g#s", "/b/c/g"),
        ("g?y#s", "/b/c/g?y"),
        (";x", "/b/c/;x"),
        ("g;x?y#s", "/b/c/g;x?y"),
        ("", "/b/c/d;p?q"),
        (".", "/b/c/"),
        ("./", "/b/c/"),
        ("..", "/b/"),
        ("../", "/b/"),
        ("../g", "/b/g"),
        ("../..", "/"),
        ("../../", "/"),
        ("../../g", "/g"),
        ("../../../g", "/g"),
        ("../../../../g", "/g"),
        ("/./g", "/g"),
        ("/../g", "/g"),
        ("g.", "/b/c/g."),
        (".g", "/b/c/.g"),
        ("g..", "/b/c/g.."),
        ("..g", "/b/c/..g"),
        ("./../g", "/b/g"),
        ("./g/.", "/b/c/g/"),
        ("g/./h", "/b/c/g/h"),
        ("g/../h", "/b/c/h"),
        ("g;x=1/./y", "/b/c/g;x=1/y"),
        ("g;x=1/../y", "/b/c/y"),
        ("g?y/./x", "/b/c/g?y/./x"),
        ("g?y/../x", "/b/c/g?y/../x"),
        ("a b", "/b/c/a%20b"),
        ("/é", "/%C3%A9"),
    ];
    for (reference, target) in cases {
        let found = base.resolve(reference).expect(reference);
        assert_eq!((found.target.as_str(), found.host.as_str()), (target, "a"), "{reference}");
    }
    let other = base.resolve("//g").expect("a URL");
    assert_eq!(other.to_string(), "http://g/");
    let whole = base.resolve("https://user:pw@H:81/x/../y?z#f").expect("a URL");
    assert_eq!((whole.to_string().as_str(), whole.credentials), ("https://h:81/y?z", None));
    for wrong in ["g:h", "mailto:a@b", "ftp://h/", "http+unix://%2Frun%2Fx/", "http:g", "/\u{7f}"] {
        assert!(base.resolve(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn methods_bodies_and_secrets_go_where_they_may() {
    let post = base("http://h:8080/a");
    for status in [301, 302, 303] {
        let next = post.redirected(status, "/b").expect("a request");
        assert_eq!((next.method.as_str(), next.body), ("GET", None), "{status}");
        assert_eq!(
            names(&post.redirected(status, "/b").expect("a request")),
            ["authorization", "cookie", "x"]
        );
    }
    for status in [307, 308] {
        let next = post.redirected(status, "http://h:8080/b").expect("a request");
        assert_eq!((next.method.as_str(), &next.body), ("POST", &post.body), "{status}");
        assert_eq!(names(&next), names(&post));
        for other in ["http://other:8080/", "http://h/", "https://h:8080/"] {
            let next = post.redirected(status, other).expect("a request");
            assert_eq!(names(&next), ["content-type", "x"], "{other}");
        }
    }
    let head = Request::new(Url::parse("http://h/").expect("a URL"));
    let head = head.method("HEAD").expect("a method");
    assert_eq!(head.redirected(303, "/b").expect("a request").method, "HEAD");
    assert!((300..=308).filter(|status| is_redirect(*status)).eq([301, 302, 303, 307, 308]));
}

/// A socket's path is no location: whoever answers must not lead to files of this host.
#[test]
fn a_server_on_a_socket_is_known_by_its_name_and_leads_to_no_other_socket() {
    let request = Request::new(Url::parse("http+unix://%2Frun%2Fa.sock/x").expect("a URL"));
    let next = request.redirected(302, "http://localhost/y").expect("a request");
    assert_eq!(next.url.to_string(), "http+unix://%2Frun%2Fa.sock/y");
    assert!(next.url.is_of_server(&request.url));
    assert!(request.redirected(302, "http+unix://%2Frun%2Fb.sock/").is_err());
    let other = request.redirected(302, "http://elsewhere/").expect("a request");
    assert!(!other.url.is_of_server(&request.url));
}

proptest! {
    #[test]
    fn any_location_leads_to_a_sound_request_or_nowhere(
        location in prop_oneof![
            "\\PC{0,60}",
            "(https?:)?(//)?[a-z.:@%0-9]{0,9}(/|\\.|\\.\\.|a|\\?|#|\\{\\{){0,12}",
        ],
        status in prop::sample::select(vec![301_u16, 302, 303, 307, 308]),
    ) {
        let from = base("http://h:8080/b/c?d");
        let Ok(next) = from.redirected(status, &location) else { return Ok(()) };
        prop_assert!(next.url.target.starts_with('/'), "{}", next.url);
        prop_assert!(next.url.target.bytes().all(|byte| byte.is_ascii_graphic()), "{}", next.url);
        let path = next.url.target.split('?').next().unwrap_or_default();
        prop_assert!(!path.split('/').any(|part| matches!(part, "." | "..")), "{path}");
        // Whoever is told who asks is the server that was asked.
        let is_told = names(&next).contains(&"authorization".to_owned());
        prop_assert_eq!(is_told, next.url.is_of_server(&from.url));
        prop_assert_eq!(next.body.is_some(), status >= 307);
        prop_assert!(next.url.credentials.is_none() && next.url.template.is_none());
        // What leads to itself leads there from there.
        let again = next.redirected(307, &next.url.to_string()).expect("the same again");
        prop_assert_eq!((again.url.template, again.url.target), (None, next.url.target));
    }
}
