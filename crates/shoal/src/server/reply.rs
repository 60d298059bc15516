//! An answer before it is HTTP.

use http_bodies::Full;
use hyper::Response;
use hyper::body::Bytes;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName, HeaderValue,
    REFERRER_POLICY, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS,
};

use crate::answer::{JSON, PROBLEM_JSON, old, problem};

/// An answer: its status, its body, the headers that are not the same for all.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    content_type: &'static str,
    pub(super) body: Bytes,
    allow: Option<&'static str>,
    cache: Option<HeaderValue>,
    etag: Option<HeaderValue>,
    retry_s: Option<u32>,
    /// A browser shows it: it is told what it may load and do.
    shown: bool,
}

/// What a browser may do with what is shown: load from here, and nothing else.
const SHOWN: [(HeaderName, &str); 3] = [
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; \
         object-src 'none'",
    ),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
];

impl Reply {
    pub(super) fn new(content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self {
            status: 200,
            content_type,
            body: body.into(),
            allow: None,
            cache: None,
            etag: None,
            retry_s: None,
            shown: false,
        }
    }

    pub(super) fn json(body: Vec<u8>) -> Self {
        Self::new(JSON, body)
    }

    /// An answer of the old paths that is always the same.
    pub(super) fn fixed(fixed: &'static old::Fixed) -> Self {
        Self {
            status: fixed.status,
            allow: fixed.allow,
            ..Self::new(fixed.content_type, fixed.body)
        }
    }

    /// A problem (RFC 9457).
    pub(super) fn problem(status: u16, reason: &str, detail: &str) -> Self {
        let mut body = Vec::with_capacity(128);
        problem(&mut body, status, reason, detail);
        Self { status, ..Self::new(PROBLEM_JSON, body) }
    }

    pub(super) fn empty(status: u16) -> Self {
        Self { status, ..Self::new("", Bytes::new()) }
    }

    pub(super) fn allowing(self, methods: &'static str) -> Self {
        Self { allow: Some(methods), ..self }
    }

    pub(super) fn status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    /// Not to be kept by any cache: it is true for this client at this moment.
    pub(super) fn no_store(self) -> Self {
        Self { cache: Some(HeaderValue::from_static("no-store")), ..self }
    }

    /// To be asked for again each time, with its tag.
    pub(super) fn no_cache(self) -> Self {
        Self { cache: Some(HeaderValue::from_static("no-cache")), ..self }
    }

    /// Never another under this address.
    pub(super) fn immutable(self) -> Self {
        let value = HeaderValue::from_static("public, max-age=31536000, immutable");
        Self { cache: Some(value), ..self }
    }

    /// For a browser, which is told what it may load.
    pub(super) fn shown(self) -> Self {
        Self { shown: true, ..self }
    }

    pub(super) fn max_age(self, seconds: u32) -> Self {
        Self { cache: HeaderValue::from_str(&format!("max-age={seconds}")).ok(), ..self }
    }

    pub(super) fn tagged(self, etag: &str) -> Self {
        Self { etag: HeaderValue::from_str(etag).ok(), ..self }
    }

    pub(super) fn retry_after(self, seconds: u32) -> Self {
        Self { retry_s: Some(seconds), ..self }
    }

    pub(super) fn into_http(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(self.body));
        *response.status_mut() = hyper::StatusCode::from_u16(self.status).unwrap_or_default();
        let headers = response.headers_mut();
        if !self.content_type.is_empty() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        }
        let allow = self.allow.map(HeaderValue::from_static);
        let retry = self.retry_s.map(HeaderValue::from);
        let more =
            [(ALLOW, allow), (CACHE_CONTROL, self.cache), (ETAG, self.etag), (RETRY_AFTER, retry)];
        for (name, value) in more {
            if let Some(value) = value {
                headers.insert(name, value);
            }
        }
        if self.shown {
            for (name, value) in SHOWN {
                headers.insert(name, HeaderValue::from_static(value));
            }
        }
        response
    }
}
