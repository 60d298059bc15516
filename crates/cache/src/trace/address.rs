//! Addresses of objects that a trace has in parts: a host, a path, a query.

/// Whether a text is a path or a URL: what belongs to a host, or names one.
pub(super) fn is_address(text: &[u8]) -> bool {
    text.starts_with(b"/") || is_whole(text)
}

/// Whether a text names its host itself.
fn is_whole(text: &[u8]) -> bool {
    [&b"http://"[..], b"https://"].into_iter().any(|scheme| {
        text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    })
}

/// The parts in one, behind what stands in `out`: `h.example/a?b`. Hosts are the same in upper and
/// lower case; an empty part and `-` are none, and a whole URL has its host already.
pub(super) fn join<'a>(
    host: Option<&[u8]>,
    path: &[u8],
    query: Option<&[u8]>,
    out: &'a mut Vec<u8>,
) -> &'a [u8] {
    let told = |part: &&[u8]| !matches!(*part, b"" | b"-");
    if let Some(host) = host.filter(told).filter(|_| !is_whole(path)) {
        out.extend(host.iter().map(u8::to_ascii_lowercase));
        if !path.starts_with(b"/") {
            out.push(b'/');
        }
    }
    out.extend_from_slice(path);
    if let Some(query) = query.filter(told) {
        out.push(b'?');
        out.extend_from_slice(query.strip_prefix(b"?").unwrap_or(query));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_make_an_address() {
        let joined = |host: &str, path: &str, query: &str| {
            let mut out = Vec::new();
            let address =
                join(Some(host.as_bytes()), path.as_bytes(), Some(query.as_bytes()), &mut out);
            String::from_utf8(address.to_vec()).unwrap()
        };
        assert_eq!(joined("H.example:80", "/a", "b=1"), "h.example:80/a?b=1");
        assert_eq!(joined("h", "a", "?b"), "h/a?b");
        assert_eq!(joined("-", "/a", "-"), "/a");
        assert_eq!(joined("", "/a", ""), "/a");
        assert_eq!(joined("h", "HTTPS://g/a", "b"), "HTTPS://g/a?b");
        assert!(is_address(b"/a") && is_address(b"Http://h/") && !is_address(b"a/b"));
    }
}
