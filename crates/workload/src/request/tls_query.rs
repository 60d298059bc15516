//! Whether TLS is spoken, as URLs of databases say it in their queries: `?sslmode=require` of
//! PostgreSQL's clients, `?ssl-mode=REQUIRED` of MySQL's. Those who rent out databases hand out
//! such URLs.
//!
//! Such a URL is read as that of the scheme which means the same, without the key. What the words
//! say of certificates is not told apart: a certificate is always checked, unless the plan accepts
//! any.

use plimsoll_units::ParseError;

use super::scheme::Scheme;

/// Words of the clients for TLS and nothing else, in lower case and with `-` for `_`.
const WITH: [&str; 5] = ["require", "required", "verify-ca", "verify-full", "verify-identity"];
/// Words for no TLS.
const WITHOUT: [&str; 2] = ["disable", "disabled"];

/// The scheme and the target of a store's URL, where its query says whether TLS is spoken; else
/// both as they are. `rest` is the target as it was written.
///
/// # Errors
/// A word that leaves the choice to the server, and one that contradicts the scheme or a Unix
/// socket. Their place is that in `rest`.
pub(super) fn tls_of_query(
    scheme: &'static Scheme,
    over_unix: bool,
    target: String,
    rest: &str,
) -> Result<(&'static Scheme, String), ParseError> {
    let keys = scheme.store.as_ref().map_or(&[][..], |store| store.tls_keys);
    let Some((path, query)) = target.split_once('?').filter(|_| !keys.is_empty()) else {
        return Ok((scheme, target));
    };
    let is_key = |pair: &&str| {
        let key = pair.split('=').next().unwrap_or_default();
        keys.iter().any(|known| key.eq_ignore_ascii_case(known))
    };
    let Some(pair) = query.split('&').find(is_key) else { return Ok((scheme, target)) };
    let word = pair.split_once('=').map_or("", |(_, word)| word);
    let wrong = |wanted: &str| {
        let at = rest.find(pair).unwrap_or_default();
        ParseError::new(wanted, pair, at, pair.len())
    };
    let plain = word.to_ascii_lowercase().replace('_', "-");
    let found = if WITH.contains(&&*plain) && over_unix {
        return Err(wrong("a URL without TLS, as a Unix socket is private"));
    } else if WITH.contains(&&*plain) {
        scheme.over_tls.unwrap_or(scheme)
    } else if WITHOUT.contains(&&*plain) && scheme.is_secure {
        return Err(wrong("a URL with TLS, as its scheme says"));
    } else if WITHOUT.contains(&&*plain) {
        scheme
    } else {
        let key = pair.split('=').next().unwrap_or_default();
        let error = wrong(&format!("{key}=require, {key}=verify-full or {key}=disable"));
        return Err(error.hint("all connections of a load speak TLS, or none does"));
    };
    let left: Vec<&str> = query.split('&').filter(|pair| !is_key(pair)).collect();
    let mark = if left.is_empty() { "" } else { "?" };
    Ok((found, format!("{path}{mark}{}", left.join("&"))))
}
