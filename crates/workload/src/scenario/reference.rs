//! Links and redirects: a reference is resolved as RFC 3986 has it, section 5.2.

use plimsoll_units::ParseError;

use super::encoding::{is_of_target, percent};
use crate::request::Url;

/// The longest link that is followed, bytes.
const MAX_BYTES: usize = 16 * 1024;

/// The URL that a reference means where it was found in the answer of `base`, or is asked for
/// there.
///
/// # Errors
/// A reference that is too long, or is no URL of HTTP.
pub(super) fn resolve(base: &Url, reference: &[u8]) -> Result<Url, ParseError> {
    let wanted = "a link of at most 16 KiB";
    if reference.len() > MAX_BYTES {
        let found = format!("{} bytes", reference.len());
        return Err(ParseError::new(wanted, &found, 0, 0));
    }
    let mut text = Vec::with_capacity(reference.len());
    percent(&with_slashes(stripped(reference)), is_of_target, &mut text);
    let text = String::from_utf8(text).unwrap_or_default();
    let text = text.split('#').next().unwrap_or_default();
    if let Some(rest) = text.strip_prefix("//") {
        return Url::parse(&format!("{}://{rest}", base.scheme.name));
    }
    if has_scheme(text) {
        return Url::parse(text);
    }
    let of = base.target.split('?').next().unwrap_or("/");
    let target = match text.as_bytes().first() {
        None => base.target.clone(),
        Some(b'/') => without_dots(text),
        Some(b'?') => format!("{of}{text}"),
        Some(_) => {
            let folder = of.rfind('/').map_or("/", |slash| &of[..=slash]);
            without_dots(&format!("{folder}{text}"))
        }
    };
    Ok(Url { target, credentials: None, ..base.clone() })
}

/// A reference without the blanks and control characters around it, and without tabs and line
/// breaks within it (WHATWG URL, 4.4).
pub(super) fn stripped(reference: &[u8]) -> Vec<u8> {
    let is_blank = |byte: &u8| *byte <= b' ';
    let begins = reference.iter().position(|byte| !is_blank(byte)).unwrap_or(reference.len());
    let ends = reference.iter().rposition(|byte| !is_blank(byte)).map_or(begins, |last| last + 1);
    let kept = reference[begins..ends].iter().copied();
    kept.filter(|byte| !matches!(byte, b'\t' | b'\r' | b'\n')).collect()
}

/// A reference whose path has no backslashes, which pages of some programs have for slashes.
fn with_slashes(mut reference: Vec<u8>) -> Vec<u8> {
    let path = reference.iter_mut().take_while(|byte| !matches!(byte, b'?' | b'#'));
    path.filter(|byte| **byte == b'\\').for_each(|byte| *byte = b'/');
    reference
}

/// Whether it begins with a scheme, as `https:`.
fn has_scheme(text: &str) -> bool {
    let Some((scheme, _)) = text.split_once(':') else { return false };
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

/// A path without `.` and `..` (section 5.2.4), and its query as it is.
fn without_dots(text: &str) -> String {
    let (path, query) = text.split_once('?').map_or((text, None), |(path, of)| (path, Some(of)));
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                if is_last {
                    kept.push("");
                }
            }
            segment => kept.push(segment),
        }
    }
    let query = query.map_or(String::new(), |query| format!("?{query}"));
    format!("/{}{query}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As WHATWG URL, 4.4, has it.
    #[test]
    fn blanks_around_a_reference_are_none_of_it() {
        for (reference, kept) in [
            (" /trim ", "/trim"),
            ("\n   /new\r\nline?x=1\n ", "/newline?x=1"),
            ("\u{0}\u{1f} http://a/b c ", "http://a/b c"),
            (" \t", ""),
            ("", ""),
        ] {
            assert_eq!(stripped(reference.as_bytes()), kept.as_bytes(), "{reference:?}");
        }
    }

    /// The examples of RFC 3986, section 5.4, that have a path.
    #[test]
    fn references_are_resolved_as_the_rfc_has_it() {
        let base = Url::parse("http://a/b/c/d;p?q").unwrap();
        let said = |text: &str| resolve(&base, text.as_bytes()).unwrap().to_string();
        for (reference, url) in [
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            (".\\g\\h?x\\y", "http://a/b/c/g/h?x%5Cy"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g/"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            ("#s", "http://a/b/c/d;p?q"),
            ("g#s", "http://a/b/c/g"),
            (";x", "http://a/b/c/;x"),
            ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../../../g", "http://a/g"),
            ("/./g", "http://a/g"),
            ("g;x=1/../y", "http://a/b/c/y"),
            ("g?y/../x", "http://a/b/c/g?y/../x"),
            ("https://h:9/x", "https://h:9/x"),
            ("a b", "http://a/b/c/a%20b"),
        ] {
            assert_eq!(said(reference), url, "{reference}");
        }
        assert!(resolve(&base, b"mailto:x@y").is_err());
        assert!(resolve(&base, &[b'x'; 20_000]).is_err());
    }
}
