//! URLs of a recording, and where redirects lead.

use std::fmt::Write as _;

use crate::request::Url;

/// The scheme and authority of a URL, lower case and without a port that is the scheme's own; and
/// its path and query, of which what may not stand in a request is encoded.
pub(super) fn split(url: &str) -> Option<(String, String)> {
    let (scheme, rest) = url.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let own_port = match scheme.as_str() {
        "http" => ":80",
        "https" => ":443",
        _ => return None,
    };
    let rest = rest.split('#').next().unwrap_or_default();
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let authority = rest[..end].rsplit('@').next().unwrap_or_default().to_ascii_lowercase();
    let authority = authority.strip_suffix(own_port).unwrap_or(&authority);
    let server = format!("{scheme}://{authority}");
    // What is no name of a server may stand in no scenario.
    Url::parse_literal(&format!("{server}/")).ok()?;
    let mut target = String::new();
    if !rest[end..].starts_with('/') {
        target.push('/');
    }
    for &byte in &rest.as_bytes()[end..] {
        if byte.is_ascii_graphic() {
            target.push(char::from(byte));
        } else {
            let _ = write!(target, "%{byte:02X}");
        }
    }
    Some((server, target))
}

/// The host and port of a URL, as it is told to people: what stands before an @ is nobody's
/// business.
pub(super) fn host(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    host.rsplit('@').next().unwrap_or_default().to_owned()
}

/// Whether a `Location` in an answer of `from` leads to that path and query of that server.
pub(super) fn leads_to(location: &str, from: &str, server: &str, target: &str) -> bool {
    let scheme = from.split("://").next().unwrap_or_default();
    let whole = match location.starts_with("//") {
        true => format!("{scheme}:{location}"),
        false => location.to_owned(),
    };
    match split(&whole) {
        Some((to, path)) => to == server && path == target,
        None => {
            let location = location.split('#').next().unwrap_or_default();
            // One that is relative to the page ends as the target does.
            from == server
                && !location.is_empty()
                && target.ends_with(location.trim_start_matches("./"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        let of = |url: &str| split(url).unwrap();
        let is = |server: &str, target: &str| (server.to_owned(), target.to_owned());
        assert_eq!(of("HTTPS://H:443/a b?x#y"), is("https://h", "/a%20b?x"));
        assert_eq!(of("http://u:p@h:8080?x"), is("http://h:8080", "/?x"));
        for url in ["data:x", "ws://h/", "http://", "http://a b/", "http:///x", "http://h:99999/"] {
            assert_eq!(split(url), None, "{url}");
        }
        assert!(leads_to("//h/b", "https://x", "https://h", "/b"));
        assert!(leads_to("b#c", "http://h", "http://h", "/a/b"));
        assert!(!leads_to("/b", "http://x", "http://h", "/b"));
    }
}
