//! The hops of a header, from the right.

use std::net::{IpAddr, Ipv6Addr};

/// The address of one hop; `None` where none is told.
pub(super) type Hop = Option<IpAddr>;

/// The hops of `X-Forwarded-For`: addresses, with a port or without, separated by commas.
pub(super) fn list<'a>(values: &'a [&'a str]) -> impl Iterator<Item = Hop> + 'a {
    values.iter().rev().flat_map(|value| value.rsplit(',')).map(|hop| {
        let hop = trimmed(hop);
        hop.parse().ok().or_else(|| node(hop))
    })
}

/// The hops of `Forwarded`: elements, separated by commas, of pairs, separated by semicolons.
pub(super) fn elements<'a>(values: &'a [&'a str]) -> impl Iterator<Item = Hop> + 'a {
    values.iter().rev().flat_map(|value| match split(value, ',') {
        Some(parts) => parts.into_iter().rev().map(element).collect(),
        None => vec![None],
    })
}

/// The node that an element says it is for, if it says so once.
fn element(text: &str) -> Hop {
    let mut found = None;
    for pair in split(text, ';')? {
        let (name, value) = trimmed(pair).split_once('=')?;
        if name.eq_ignore_ascii_case("for") {
            let value = unquoted(value)?;
            if found.replace(node(&value)?).is_some() {
                return None;
            }
        }
    }
    found
}

/// An address, of IPv6 in brackets: without them a port might be taken for its end. It may have a
/// port, which may be a hidden one (RFC 7239, section 6).
fn node(text: &str) -> Hop {
    if let Some(rest) = text.strip_prefix('[') {
        let (address, port) = rest.split_once(']')?;
        let address: Ipv6Addr = address.parse().ok()?;
        let told = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
        return told.then_some(IpAddr::V6(address));
    }
    let (address, port) = match text.split_once(':') {
        Some((address, port)) => (address, Some(port)),
        None => (text, None),
    };
    let address = address.parse().ok()?;
    port.is_none_or(is_port).then_some(IpAddr::V4(address))
}

fn is_port(text: &str) -> bool {
    let hidden = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    match text.strip_prefix('_') {
        Some(rest) => !rest.is_empty() && rest.bytes().all(hidden),
        None => (1..=5).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

/// The parts between separators outside of quotes; `None` where a quote is not closed.
fn split(text: &str, separator: char) -> Option<Vec<&str>> {
    let (mut parts, mut start) = (Vec::new(), 0);
    let (mut quoted, mut escaped) = (false, false);
    for (at, char) in text.char_indices() {
        if escaped {
            escaped = false;
        } else if quoted && char == '\\' {
            escaped = true;
        } else if char == '"' {
            quoted = !quoted;
        } else if char == separator && !quoted {
            parts.push(&text[start..at]);
            start = at + 1;
        }
    }
    parts.push(&text[start..]);
    (!quoted).then_some(parts)
}

/// The text of a token or a quoted string (RFC 9110, section 5.6.4).
fn unquoted(text: &str) -> Option<String> {
    let Some(rest) = text.strip_prefix('"') else {
        return (!text.contains('"')).then(|| text.to_owned());
    };
    let inner = rest.strip_suffix('"')?;
    let (mut out, mut chars) = (String::with_capacity(inner.len()), inner.chars());
    while let Some(char) = chars.next() {
        match char {
            '\\' => out.push(chars.next()?),
            '"' => return None,
            char => out.push(char),
        }
    }
    Some(out)
}

fn trimmed(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}
