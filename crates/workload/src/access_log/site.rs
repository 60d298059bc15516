//! The host that a line says was asked.

use super::entry::{Entry, Rest, authority};
use super::format::Format;
use super::reader::asked;

/// The longest name, with its port.
const MOST_BYTES: usize = 261;

/// The host that was asked, as a `Host` header has it: without the port where that is 80 or 443.
/// Empty where the line does not say, or says what is no host.
pub(super) fn of_line<'a>(entry: &Entry<'a>, line: &'a [u8], format: Option<Format>) -> &'a [u8] {
    let site = match (authority(entry.target), entry.rest) {
        (b"", Rest::Found(found)) => found.site,
        (b"", Rest::Unread(_)) if format == Some(Format::Squid) => &[],
        (b"", Rest::Unread(_)) => asked(line).0,
        (authority, _) => authority,
    };
    let plain = site.strip_suffix(b":443").or_else(|| site.strip_suffix(b":80")).unwrap_or(site);
    if is_host(plain) { plain } else { &[] }
}

fn is_host(text: &[u8]) -> bool {
    let is_part = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':' | b'[' | b']')
    };
    text.len() <= MOST_BYTES
        && text.iter().all(is_part)
        && text.iter().any(u8::is_ascii_alphanumeric)
}
