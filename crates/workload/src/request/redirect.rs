//! Where a redirect leads, and what is asked there.
//!
//! Answers 301, 302 and 303 lead to a GET without a body (a HEAD stays one), 307 and 308 to the
//! same method with the same body (RFC 9110, section 15.4; browsers and curl do the same). The
//! `Location` is resolved by RFC 3986, section 5.2. What proves who asks is told to no other
//! server: scheme, host and port have to be the same.

use plimsoll_net::url::{self, MAX_URL_BYTES};
use plimsoll_units::ParseError;

use super::header::is_secret;
use super::message::Request;
use super::url::Url;

/// Whether an answer of this status leads somewhere else.
#[must_use]
pub fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

impl Request {
    /// What is asked after an answer of this status with this `Location`.
    ///
    /// # Errors
    /// A location that is no URL of HTTP, and none relative to this request's.
    pub fn redirected(&self, status: u16, location: &str) -> Result<Self, ParseError> {
        let url = self.url.resolve(location)?;
        let keeps_body = matches!(status, 307 | 308);
        let is_same = url.is_of_server(&self.url);
        let goes = |name: &str| {
            let is_of_body = name.to_ascii_lowercase().starts_with("content-");
            let is_told = is_same || !(is_secret(name) || name.eq_ignore_ascii_case("host"));
            is_told && (keeps_body || !is_of_body)
        };
        let headers = self.headers.iter().filter(|(name, _)| goes(name)).cloned().collect();
        let method = if keeps_body || self.method == "HEAD" { &self.method } else { "GET" };
        let body = self.body.clone().filter(|_| keeps_body);
        Ok(Self { method: method.to_owned(), url, headers, body })
    }
}

impl Url {
    /// Whether both are answered by the same server, and over the same kind of connection.
    #[must_use]
    pub fn is_of_server(&self, other: &Self) -> bool {
        let server = |url: &Self| (url.scheme.name, url.port, url.unix.is_some());
        server(self) == server(other) && self.host == other.host && self.unix == other.unix
    }

    /// A reference as it stands in a `Location`, relative to this URL: a whole URL of HTTP, or one
    /// without a scheme, without a host, or with a relative path. Credentials in it are dropped, as
    /// is a fragment.
    ///
    /// # Errors
    /// What is none of these.
    pub fn resolve(&self, reference: &str) -> Result<Self, ParseError> {
        let reference = reference.split('#').next().unwrap_or_default().trim_ascii();
        if reference.len() > MAX_URL_BYTES {
            return Err(ParseError::new("a URL of at most 65536 bytes", "more", 0, 0));
        }
        // Some servers write blanks as they are.
        let reference = reference.replace(' ', "%20");
        url::refuse_unfit(&reference)?;
        let whole = match scheme_of(&reference) {
            Some(_) => Some(reference.clone()),
            None if reference.starts_with("//") => {
                Some(format!("{}:{reference}", self.scheme.name))
            }
            None => None,
        };
        if let Some(whole) = whole {
            let found = Self::parse_literal(&whole)?;
            if found.unix.is_some() {
                let wanted = "a URL of http:// or https://";
                return Err(ParseError::new(wanted, "one of a Unix socket", 0, 0));
            }
            let target = without_dots(&found.target);
            // A server on a Unix socket calls itself by the name that we gave it.
            if self.unix.is_some() && found.host == self.host && found.port == self.port {
                return Ok(Self { target, template: None, ..self.clone() });
            }
            return Ok(Self { target, credentials: None, ..found });
        }
        let (path, _) = split_query(&self.target);
        let target = match reference.as_bytes() {
            [] => self.target.clone(),
            [b'?', ..] => format!("{path}{reference}"),
            [b'/', ..] => reference,
            _ => {
                let folder = path.rfind('/').map_or("/", |slash| &path[..=slash]);
                format!("{folder}{reference}")
            }
        };
        let target = without_dots(&url::target(&target)?);
        Ok(Self { target, template: None, ..self.clone() })
    }
}

/// The scheme of a reference, where it has one (RFC 3986, section 3.1).
fn scheme_of(reference: &str) -> Option<&str> {
    let (scheme, _) = reference.split_once(':')?;
    let mut bytes = scheme.bytes();
    let is_first = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic());
    let is_rest = bytes.all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    (is_first && is_rest).then_some(scheme)
}

fn split_query(target: &str) -> (&str, &str) {
    let at = target.find('?').unwrap_or(target.len());
    target.split_at(at)
}

/// A target without the segments `.` and `..` of its path (RFC 3986, section 5.2.4).
fn without_dots(target: &str) -> String {
    let (path, query) = split_query(target);
    let mut kept: Vec<&str> = Vec::new();
    let segments = path.strip_prefix('/').unwrap_or(path).split('/');
    let mut is_folder = false;
    for segment in segments {
        is_folder = matches!(segment, "." | "..");
        match segment {
            "." => {}
            ".." => drop(kept.pop()),
            segment => kept.push(segment),
        }
    }
    let end = if is_folder && !kept.is_empty() { "/" } else { "" };
    format!("/{}{end}{query}", kept.join("/"))
}
