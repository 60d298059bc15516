//! Signature V4: what a request carries so that its receiver knows who sent it, and that nobody has
//! changed it.
//!
//! Source: *AWS Signature Version 4 for API requests* (docs.aws.amazon.com), and its published test
//! suite, with which the tests below compare.

use std::fmt::Write as _;

use hmac::{Hmac, KeyInit, Mac};
use plimsoll_units::hash::hex;
use sha2::{Digest, Sha256};

use super::credentials::Keys;

/// The name of the algorithm.
const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// For which service and when a request is signed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope<'a> {
    /// The region: `eu-central-1`.
    pub(crate) region: &'a str,
    /// The service: `ec2`.
    pub(crate) service: &'a str,
    /// When, as `YYYYMMDDTHHMMSSZ`.
    pub(crate) at: &'a str,
}

/// A request that is to be signed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unsigned<'a> {
    /// `GET`, `POST`.
    pub(crate) method: &'a str,
    /// The path, without a query.
    pub(crate) path: &'a str,
    /// What stands behind the `?`, each name and value [escaped](escape).
    pub(crate) query: &'a [(String, String)],
    /// The host, with its port where that is not the scheme's own.
    pub(crate) host: &'a str,
    /// The type of the body, where there is one.
    pub(crate) content_type: Option<&'a str>,
    /// The body.
    pub(crate) body: &'a [u8],
}

/// The headers that a signed request carries.
pub(crate) fn headers(
    of: &Unsigned<'_>,
    scope: Scope<'_>,
    keys: &Keys,
) -> Vec<(&'static str, String)> {
    let mut signed = vec![("host", of.host.to_owned()), ("x-amz-date", scope.at.to_owned())];
    signed.extend(of.content_type.map(|text| ("content-type", text.to_owned())));
    signed.extend(keys.token.as_ref().map(|token| ("x-amz-security-token", token.clone())));
    signed.sort();
    let names: Vec<&str> = signed.iter().map(|(name, _)| *name).collect();
    let names = names.join(";");
    let mut query: Vec<String> =
        of.query.iter().map(|(name, value)| format!("{name}={value}")).collect();
    query.sort();
    let mut canonical = format!("{}\n{}\n{}\n", of.method, of.path, query.join("&"));
    for (name, value) in &signed {
        let _ = writeln!(canonical, "{name}:{}", value.trim());
    }
    let _ = write!(canonical, "\n{names}\n{}", hex(&Sha256::digest(of.body)));
    let day = scope.at.get(..8).unwrap_or_default();
    let of_what = format!("{day}/{}/{}/aws4_request", scope.region, scope.service);
    let digest = hex(&Sha256::digest(canonical.as_bytes()));
    let text = format!("{ALGORITHM}\n{}\n{of_what}\n{digest}", scope.at);
    let signature = hex(&mac(&key(&keys.secret, day, scope), text.as_bytes()));
    let authorization = format!(
        "{ALGORITHM} Credential={}/{of_what}, SignedHeaders={names}, Signature={signature}",
        keys.id
    );
    // The client adds the host itself.
    signed.retain(|(name, _)| *name != "host");
    signed.push(("authorization", authorization));
    signed
}

/// The key that signs what is sent on a day.
fn key(secret: &str, day: &str, scope: Scope<'_>) -> Vec<u8> {
    let first = format!("AWS4{secret}").into_bytes();
    let parts = [day, scope.region, scope.service, "aws4_request"];
    parts.iter().fold(first, |key, part| mac(&key, part.as_bytes()))
}

fn mac(key: &[u8], text: &[u8]) -> Vec<u8> {
    // A key of any length is one.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return Vec::new() };
    mac.update(text);
    mac.finalize().into_bytes().to_vec()
}

/// A text as it stands in a query or a form: all but letters, digits and `-._~` by their bytes in
/// hexadecimal digits.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

/// A time as requests have it: `20150830T123600Z`.
pub(crate) fn stamp(unix_ns: u64) -> String {
    let text = plimsoll_units::civil::iso8601(unix_ns);
    let digits: String = text.chars().take(19).filter(|c| !matches!(c, '-' | ':')).collect();
    format!("{digits}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The credentials, the time and the scope of the published suite.
    fn authorization(of: Unsigned<'_>, service: &str, token: Option<&str>) -> String {
        let keys = Keys {
            id: "AKIDEXAMPLE".to_owned(),
            secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned(),
            token: token.map(str::to_owned),
            ends_unix_s: None,
        };
        let scope = Scope { region: "us-east-1", service, at: "20150830T123600Z" };
        let (_, value) = headers(&of, scope, &keys).pop().unwrap();
        value
    }

    fn expected(service: &str, names: &str, signature: &str) -> String {
        format!(
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/{service}/aws4_request, \
             SignedHeaders={names}, Signature={signature}"
        )
    }

    const GET: Unsigned<'static> = Unsigned {
        method: "GET",
        path: "/",
        query: &[],
        host: "example.amazonaws.com",
        content_type: None,
        body: b"",
    };

    #[test]
    fn requests_are_signed_as_in_the_published_suite() {
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        let both = [pair("Param2", "value2"), pair("Param1", "value1")];
        let form = "application/x-www-form-urlencoded";
        let posted = Unsigned { method: "POST", ..GET };
        let suite = [
            // get-vanilla
            (GET, "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
            // get-vanilla-query-order-key-case
            (
                Unsigned { query: &both, ..GET },
                "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
            ),
            // post-vanilla
            (posted, "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        ];
        for (of, signature) in suite {
            let names = "host;x-amz-date";
            assert_eq!(authorization(of, "service", None), expected("service", names, signature));
        }
        // post-x-www-form-urlencoded
        let of = Unsigned { content_type: Some(form), body: b"Param1=value1", ..posted };
        let signature = "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a";
        let names = "content-type;host;x-amz-date";
        assert_eq!(authorization(of, "service", None), expected("service", names, signature));
        // get-vanilla-with-session-token
        let token = "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267";
        let signature = "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8";
        let names = "host;x-amz-date;x-amz-security-token";
        let found = authorization(GET, "service", Some(token));
        assert_eq!(found, expected("service", names, signature));
    }

    /// The example of the manual: its key of the day, and its request.
    #[test]
    fn the_example_of_the_manual_is_signed_as_it_says() {
        let scope = Scope { region: "us-east-1", service: "iam", at: "20150830T123600Z" };
        let key = key("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "20150830", scope);
        let of_manual = "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9";
        assert_eq!(hex(&key), of_manual);
        let query = [("Action", "ListUsers"), ("Version", "2010-05-08")];
        let query = query.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let of = Unsigned {
            query: &query,
            host: "iam.amazonaws.com",
            content_type: Some("application/x-www-form-urlencoded; charset=utf-8"),
            ..GET
        };
        let signature = "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7";
        let names = "content-type;host;x-amz-date";
        assert_eq!(authorization(of, "iam", None), expected("iam", names, signature));
    }

    #[test]
    fn texts_and_times_are_written_as_requests_have_them() {
        assert_eq!(escape("a b/ü~"), "a%20b%2F%C3%BC~");
        assert_eq!(stamp(1_440_938_160_000_000_000), "20150830T123600Z");
    }
}
