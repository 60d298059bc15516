//! What of a request is a secret, for whatever keeps or shows it: by its name, and by its shape
//! where the name says nothing.

use crate::scenario::har::secret_names::{is_drawn, is_secret};

/// What tokens of well-known services begin with.
const BEGINNINGS: [&str; 14] = [
    "AKIA",
    "ASIA",
    "AIza",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "sk_live_",
    "sk-",
    "ya29.",
    "SG.",
];
/// The shortest token of an unknown service, bytes.
const LEAST_DRAWN: usize = 24;
/// Headers that say by their names what stands in them, however that looks.
const ORDINARY: [&str; 15] = [
    "accept",
    "host",
    "origin",
    "referer",
    "range",
    "if-range",
    "if-match",
    "if-none-match",
    "user-agent",
    "via",
    "traceparent",
    "tracestate",
    "x-request-id",
    "x-correlation-id",
    "idempotency-key",
];

/// Whether the value of a header is a secret.
#[must_use]
pub fn is_in_header(name: &str, value: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_ordinary = ORDINARY.contains(&name.as_str())
        || ["accept-", "content-", "sec-websocket-"].iter().any(|of| name.starts_with(of));
    !is_ordinary && !is_hole(value) && (is_secret(&name, value, false) || looks_secret(value))
}

/// A path with its query, or a URL, with `mark` in the place of secrets in its query.
#[must_use]
pub fn without(url: &str, mark: &str) -> String {
    let Some((path, query)) = url.split_once('?') else { return url.to_owned() };
    let pairs = query.split('&').map(|pair| match pair.split_once('=') {
        Some((name, value)) if is_field(name, value) => format!("{name}={mark}"),
        _ => pair.to_owned(),
    });
    format!("{path}?{}", pairs.collect::<Vec<_>>().join("&"))
}

/// Whether there is a secret in a body: a form, or JSON.
#[must_use]
pub fn is_in_body(text: &str) -> bool {
    match text.trim_start().starts_with(['{', '[']) {
        true => is_in_json(text),
        false => text.split('&').any(|pair| {
            pair.split_once('=').is_some_and(|(name, value)| is_field(name.trim(), value.trim()))
        }),
    }
}

/// Whether there is one in JSON, which may have holes in it: names and values are found by their
/// quotes.
fn is_in_json(text: &str) -> bool {
    let parts: Vec<&str> = text.split('"').collect();
    (1..parts.len().saturating_sub(1)).step_by(2).any(|at| {
        let Some(rest) = parts[at + 1].trim_start().strip_prefix(':') else { return false };
        let bare = rest.trim().trim_end_matches([',', '}', ']']).trim();
        let value = if bare.is_empty() { parts.get(at + 2).copied().unwrap_or("") } else { bare };
        is_field(parts[at], value)
    })
}

fn is_field(name: &str, value: &str) -> bool {
    !is_hole(value) && (is_secret(name, value, false) || looks_secret(value))
}

/// Whether all of it is filled in when it is sent, behind the word of a scheme of authentication.
fn is_hole(value: &str) -> bool {
    let value = value.trim();
    let bare = ["Bearer ", "Basic "].iter().find_map(|word| value.strip_prefix(word));
    let inside = bare.unwrap_or(value).trim().strip_prefix("{{");
    let inside = inside.and_then(|of| of.strip_suffix("}}"));
    inside.is_some_and(|of| !of.contains("{{"))
}

/// Whether a value is a secret by its shape: a token of a well-known kind, or drawn from letters of
/// both cases and digits.
fn looks_secret(value: &str) -> bool {
    let value = value.trim();
    let is_jwt = value.starts_with("eyJ") && value.split('.').count() == 3;
    let is_known = BEGINNINGS.iter().any(|of| value.starts_with(of)) && value.len() >= 16;
    let has = |of: fn(&u8) -> bool| value.bytes().any(|byte| of(&byte));
    let is_mixed = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    // A path is no token.
    let is_path = value.contains('/') && !value.ends_with('=');
    is_jwt || is_known || value.len() >= LEAST_DRAWN && is_mixed && !is_path && is_drawn(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn headers_are_secret_by_name_and_by_shape() {
        for (name, value) in [
            ("Ocp-Apim-Subscription-Key", "LEAK"),
            ("Private-Key", "LEAK"),
            ("X-Signature", "LEAK"),
            ("X-Jwt", "LEAK"),
            ("X-Session-Id", "LEAK"),
            ("X-SessionKey", "LEAK"),
            ("Passphrase", "LEAK"),
            ("X-Pass", "LEAK"),
            ("X-Credential", "LEAK"),
            ("X-Whatever", "eyJhbGciOi.eyJzdWIiOi.abc"),
            ("X-Whatever", "ghp_16C7e42F292c6912E7"),
            ("X-Whatever", "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5"),
        ] {
            assert!(is_in_header(name, value), "{name}: {value}");
        }
        for (name, value) in [
            ("Accept", "application/vnd.Example2+json"),
            ("Range", "bytes=0-123456789"),
            ("User-Agent", "Mozilla/5.0"),
            ("X-Request-Id", "550e8400-e29b-41d4-a716-446655440000"),
            ("X-Tenant", "550e8400-e29b-41d4-a716-446655440000"),
            ("X-Signature", "{{uuid}}"),
            ("X-Auth", "Bearer {{env.TOKEN}}"),
            ("X-Path", "/Static/Release20261130/Main"),
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("Idempotency-Key", "7"),
        ] {
            assert!(!is_in_header(name, value), "{name}: {value}");
        }
    }

    #[test]
    fn queries_and_bodies_lose_their_secrets_only() {
        for (url, shown) in [
            ("/x?access_token=LEAK&sig=LEAK&page=2", "/x?access_token=*&sig=*&page=2"),
            ("http://h/x?id=7&X-Amz-Signature=LEAK", "http://h/x?id=7&X-Amz-Signature=*"),
            ("/x?v=eyJhbGciOi.eyJzdWIiOi.abc", "/x?v=*"),
            ("/token=LEAK", "/token=LEAK"),
            ("/x?token", "/x?token"),
            ("/x?token={{env.T}}&q=a=b", "/x?token={{env.T}}&q=a=b"),
        ] {
            assert_eq!(without(url, "*"), shown);
        }
        for body in [
            "password=LEAK",
            "user=me&pass=LEAK",
            "{\"user\": \"me\", \"password\" : \"LEAK\"}",
            "[{\"pin\":1234567}]",
            "{\"a\":{\"apiKey\":\"LEAK\"}}",
        ] {
            assert!(is_in_body(body), "{body}");
        }
        for body in ["", "q=shoes&page=2", "{\"n\": {{random:1..100}}}", "password={{env.P}}"] {
            assert!(!is_in_body(body), "{body}");
        }
    }

    proptest! {
        #[test]
        fn what_has_no_secret_stays_as_it_is(
            path in "/[a-z/]{0,10}",
            pairs in prop::collection::vec(("(id|q|page|sort)", "[a-z0-9]{0,8}"), 0..5),
        ) {
            let pairs: Vec<String> =
                pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let url = format!("{path}?{}", pairs.join("&"));
            prop_assert_eq!(without(&url, "*"), url);
        }

        #[test]
        fn nothing_of_a_secret_is_left(name in "(token|api_key|sig)", value in "[A-Z0-9]{6,20}") {
            let url = format!("/x?a=1&{name}={value}#end");
            prop_assert!(!without(&url, "*").contains(&value));
        }
    }
}
