//! What is fetched through caches, and how it is known again.
//!
//! Source: RFC 9112, section 3.2 (a proxy is asked for the whole URL, an origin for its path).

use super::Aim;
use crate::client::choose::is_object;
use crate::heartbeat::Kind;
use plimsoll_net::http::client::{Error, Request};
use plimsoll_net::url::Url;

/// A small object of the operator's choice.
#[derive(Debug, Clone)]
pub struct Object {
    url: Url,
    text: Option<String>,
    /// To a forward proxy, and to a reverse proxy, which stands in the origin's place.
    requests: [Vec<u8>; 2],
}

/// Why something is no such object.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectError {
    /// Caches see nothing of what is encrypted.
    #[error("a cache cannot be asked for https: name an object by http")]
    Encrypted,
    /// Then whatever answers would pass.
    #[error(
        "how is the object known? Say what text is in it, or name a repository's .cvmfswhitelist"
    )]
    Unknown,
    /// It cannot stand in a request.
    #[error("it cannot be asked for")]
    Request(#[source] Error),
}

impl Object {
    /// The object at `url`, which has `text` in it. A CVMFS repository's `.cvmfswhitelist` is known
    /// by its own line `N`, too.
    ///
    /// # Errors
    ///
    /// See [`ObjectError`].
    pub fn new(url: Url, text: Option<String>) -> Result<Self, ObjectError> {
        if url.secure {
            return Err(ObjectError::Encrypted);
        }
        let text = text.filter(|text| !text.is_empty());
        if text.is_none() && !url.path.ends_with("/.cvmfswhitelist") {
            return Err(ObjectError::Unknown);
        }
        let (whole, host) = (url.to_string(), url.authority());
        let encode = |target| {
            let request = Request { method: "GET", target, host: &host, headers: &[], body: &[] };
            request.encode().map_err(ObjectError::Request)
        };
        let requests = [encode(&whole)?, encode(&url.path)?];
        Ok(Self { url, text, requests })
    }

    /// The bytes of a request for it.
    #[must_use]
    pub fn request(&self, aim: Aim) -> &[u8] {
        match aim.kind {
            Kind::Squid => &self.requests[0],
            Kind::Varnish => &self.requests[1],
        }
    }

    /// Whether a body is it.
    #[must_use]
    pub fn is(&self, body: &[u8]) -> bool {
        let has = |text: &String| body.windows(text.len()).any(|part| part == text.as_bytes());
        self.text.as_ref().is_none_or(has) && is_object(&self.url.path, 200, body)
    }
}
