//! One request, and the requests of a load.

use std::fmt;

use plimsoll_units::ParseError;

use super::auth::Credentials;
use super::header::{is_secret, parse_header, parse_method};
use super::order::Order;
use super::template::{RenderState, Template};
use super::url::Url;
use crate::traceparent;

/// One request: what goes on the wire but for the framing, which is the driver's.
#[derive(Clone, PartialEq)]
pub struct Request {
    /// A token, as it goes on the request line.
    pub method: String,
    /// Where to and what for.
    pub url: Url,
    /// Names in lower case, with values; in the order given. Those that frame the message
    /// (`content-length`, `transfer-encoding`) are never among them, and `host` only where the
    /// user gave it.
    pub headers: Vec<(String, Template)>,
    /// The body; `None` sends none, and no `content-length`.
    pub body: Option<Template>,
}

impl Request {
    /// `GET` of a URL; its credentials become a header.
    #[must_use]
    pub fn new(url: Url) -> Self {
        let headers = url.credentials.iter().map(Credentials::header).collect();
        Self { method: "GET".to_owned(), url, headers, body: None }
    }

    /// With another method.
    ///
    /// # Errors
    /// A method that is no token.
    pub fn method(mut self, method: &str) -> Result<Self, ParseError> {
        self.method = parse_method(method)?;
        Ok(self)
    }

    /// With one more header, typed `Name: value`. An `authorization` header takes the place of the
    /// URL's credentials.
    ///
    /// # Errors
    /// A name or value that may not stand in a request, or an unknown placeholder.
    pub fn header(self, text: &str) -> Result<Self, ParseError> {
        let (name, value) = parse_header(text)?;
        Ok(self.with(name, value))
    }

    /// With basic authentication instead of the URL's own.
    #[must_use]
    pub fn basic(self, credentials: &Credentials) -> Self {
        let (name, value) = credentials.header();
        self.with(name, value)
    }

    /// With a bearer token.
    ///
    /// # Errors
    /// A token with characters that no token has.
    pub fn bearer(self, token: &str) -> Result<Self, ParseError> {
        let (name, value) = super::auth::bearer(token)?;
        Ok(self.with(name, value))
    }

    /// With a body.
    #[must_use]
    pub fn body(mut self, body: Template) -> Self {
        self.body = Some(body);
        self
    }

    /// The same request of another URL: method, headers and body stay. Credentials are those of
    /// the new URL: what one server may know is not told to another. An authorization that was
    /// given as a header or a token stays.
    #[must_use]
    pub fn at(&self, url: Url) -> Self {
        let own = self.url.credentials.as_ref().map(Credentials::header);
        let mut headers = self.headers.clone();
        headers.retain(|header| Some(header) != own.as_ref());
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
            headers.extend(url.credentials.as_ref().map(Credentials::header));
        }
        Self { method: self.method.clone(), url, headers, body: self.body.clone() }
    }

    /// The `host` header the user gave; without one the driver sends the URL's authority.
    #[must_use]
    pub fn host_given(&self) -> Option<&Template> {
        let host = self.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host"));
        host.map(|(_, value)| value)
    }

    /// What of it nobody may be shown: values of headers that authenticate, with and without their
    /// scheme, and user and password where these can be read from one. Values with placeholders are
    /// none.
    #[must_use]
    pub fn secrets(&self) -> Vec<Vec<u8>> {
        let mut secrets = Vec::new();
        let headers = self.headers.iter().filter(|(name, _)| is_secret(name));
        for value in headers.filter_map(|(_, value)| value.as_static()) {
            secrets.push(value.to_vec());
            let mut words = value.splitn(2, |byte| *byte == b' ');
            if let (Some(scheme), Some(rest)) = (words.next(), words.next()) {
                secrets.push(rest.to_vec());
                if scheme.eq_ignore_ascii_case(b"basic") {
                    secrets.extend(super::auth::passwords(rest));
                }
            }
        }
        secrets
    }

    /// Whether a part of it says under which id it is traced.
    #[must_use]
    pub fn is_traced(&self) -> bool {
        self.url.template.as_ref().is_some_and(Template::is_traced)
            || self.headers.iter().any(|(_, value)| value.is_traced())
            || self.body.as_ref().is_some_and(Template::is_traced)
    }

    /// The same with a header `traceparent`, another one each time, unless it has one.
    pub fn trace(&mut self) {
        let is_it = |name: &str| name.eq_ignore_ascii_case(traceparent::NAME);
        if !self.headers.iter().any(|(name, _)| is_it(name)) {
            self.headers.push((traceparent::NAME.to_owned(), Template::traceparent()));
        }
    }

    /// Whether every part is the same each time, so that its bytes can be made once.
    #[must_use]
    pub fn is_static(&self) -> bool {
        self.url.template.is_none()
            && self.headers.iter().all(|(_, value)| value.is_static())
            && self.body.as_ref().is_none_or(Template::is_static)
    }

    /// The request as the state's present one is: every placeholder filled in.
    #[must_use]
    pub fn rendered(&self, state: &mut RenderState) -> Self {
        let mut render = |template: &Template| {
            let mut text = Vec::new();
            template.render(state, &mut text);
            Template::literal(text)
        };
        let template = self.url.template.as_ref().map(&mut render);
        let text = template.as_ref().and_then(Template::as_static);
        let target = text.map(|text| String::from_utf8_lossy(text).into_owned());
        let target = target.unwrap_or_else(|| self.url.target.clone());
        let headers = self.headers.iter().map(|(name, value)| {
            let value = if value.is_static() { value.clone() } else { render(value) };
            (name.clone(), value)
        });
        let headers = headers.collect();
        let body = self.body.as_ref().map(&mut render);
        let url = Url { target, template: None, ..self.url.clone() };
        Self { method: self.method.clone(), url, headers, body }
    }

    /// Adds a header; of `authorization` and `host` the last one given holds.
    fn with(mut self, name: String, value: Template) -> Self {
        if ["authorization", "host"].iter().any(|single| name.eq_ignore_ascii_case(single)) {
            self.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(&name));
        }
        self.headers.push((name, value));
        self
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        struct Headers<'a>(&'a [(String, Template)]);
        impl fmt::Debug for Headers<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let shown = self.0.iter().map(|(name, value)| {
                    let value = value.clone();
                    (name, if is_secret(name) { value.redacted() } else { value })
                });
                f.debug_map().entries(shown).finish()
            }
        }
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("url", &format_args!("{}", self.url))
            .field("headers", &Headers(&self.headers))
            .field("body", &self.body)
            .finish()
    }
}

/// The requests of a load and their order.
#[derive(Debug, Clone, PartialEq)]
pub struct Requests {
    /// What is asked for; never empty in a load that runs.
    pub list: Vec<Request>,
    /// In which order.
    pub order: Order,
}

impl Requests {
    /// One request, again and again.
    #[must_use]
    pub fn one(request: Request) -> Self {
        Self { list: vec![request], order: Order::RoundRobin }
    }
}
