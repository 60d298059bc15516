//! Who may ask a server of ours: what a request gives of a token, and whether it names this host.

use std::net::IpAddr;

use super::respond::Request;

/// Whether two secrets are equal, in a time that depends on their lengths alone.
#[must_use]
pub fn is_equal(one: &[u8], other: &[u8]) -> bool {
    let differs = one.iter().zip(other).fold(0, |differs, (a, b)| differs | (a ^ b));
    std::hint::black_box(differs) == 0 && one.len() == other.len()
}

/// The token that a request bears.
#[must_use]
pub fn bearer<'a>(request: &'a Request<'_>) -> Option<&'a str> {
    let text = request.header("authorization")?;
    text.strip_prefix("Bearer ").map(str::trim)
}

/// The password of a request by Basic authentication, whoever its user is.
#[must_use]
pub fn basic_password(request: &Request<'_>) -> Option<Vec<u8>> {
    let text = request.header("authorization")?.strip_prefix("Basic ")?;
    let pair = from_base64(text.trim())?;
    let colon = pair.iter().position(|byte| *byte == b':')?;
    Some(pair[colon + 1..].to_vec())
}

/// Whether a request names this host: by an address, by `localhost` or by its own name. So a page
/// in a browser cannot reach a server here under a name of its own.
#[must_use]
pub fn is_for_this_host(request: &Request<'_>, name: Option<&str>) -> bool {
    let Some(bare) = host(request) else { return false };
    bare.parse::<IpAddr>().is_ok()
        || bare.eq_ignore_ascii_case("localhost")
        || name.is_some_and(|name| bare.eq_ignore_ascii_case(name))
}

/// Whether a request names the loopback of this host: by its address, or by `localhost`.
#[must_use]
pub fn is_for_loopback(request: &Request<'_>) -> bool {
    let is_loopback = |host: &str| match host.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host.eq_ignore_ascii_case("localhost"),
    };
    host(request).is_some_and(is_loopback)
}

/// The name or address in the header `Host`, without its port and brackets.
fn host<'a>(request: &'a Request<'_>) -> Option<&'a str> {
    let host = request.header("host")?;
    Some(match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    })
}

/// The bytes of a text in base64 (RFC 4648, section 4), with its padding; `None` of any other.
fn from_base64(text: &str) -> Option<Vec<u8>> {
    let bare = text.trim_end_matches('=');
    if !text.len().is_multiple_of(4) || text.len() - bare.len() > 2 {
        return None;
    }
    let (mut bytes, mut bits, mut held) = (Vec::with_capacity(bare.len() * 3 / 4), 0_u32, 0_u32);
    for letter in bare.bytes() {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        held = held << 6 | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            #[expect(clippy::cast_possible_truncation, reason = "the lowest byte is meant")]
            bytes.push((held >> bits) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn base64_is_read_as_the_standard_writes_it() {
        for (text, bytes) in [
            ("", Some("")),
            ("Zg==", Some("f")),
            ("Zm8=", Some("fo")),
            ("Zm9v", Some("foo")),
            ("Zm9vYg==", Some("foob")),
            ("Zm9vYmE=", Some("fooba")),
            ("Zm9vYmFy", Some("foobar")),
            ("Zg", None),
            ("Zg=", None),
            ("Z===", None),
            ("Zm9*", None),
        ] {
            assert_eq!(from_base64(text), bytes.map(|of| of.as_bytes().to_vec()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn secrets_are_equal_where_their_bytes_are(
            one in prop::collection::vec(any::<u8>(), 0..20),
            other in prop::collection::vec(any::<u8>(), 0..20),
        ) {
            prop_assert_eq!(is_equal(&one, &other), one == other);
            prop_assert!(is_equal(&one, &one));
        }
    }
}
