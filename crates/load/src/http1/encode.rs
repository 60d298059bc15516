//! Requests as HTTP/1.1 bytes (RFC 9112, section 3).
//!
//! A request without templates is encoded once; with more than `MADE_BEFORE` of them (a list of
//! URLs may hold 200,000) each is put together when it is sent, which costs a copy of its head.

use plimsoll_workload::request::{RenderState, Request, Requests, Template};
use plimsoll_workload::scenario::Message;
use plimsoll_workload::traceparent::Traceparent;
use std::sync::Arc;

/// Lists up to this length are encoded before the run.
const MADE_BEFORE: usize = 1024;

/// What a run may choose about every request's head.
#[derive(Debug, Clone)]
pub struct Head {
    /// `User-Agent`, where a request names none.
    pub user_agent: String,
    /// `Host` in place of the URL's.
    pub host: Option<String>,
    /// Whether to ask for the connection to be closed after the answer.
    pub close: bool,
    /// Set where a forward proxy is asked for each URL, which is then written whole (RFC 9112,
    /// section 3.2.2).
    pub proxy: Option<Proxied>,
}

/// What a forward proxy is told with each request.
#[derive(Clone)]
pub struct Proxied {
    /// The value of `Proxy-Authorization`.
    pub authorization: Option<String>,
}

impl std::fmt::Debug for Proxied {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Proxied(redacted)")
    }
}

/// Makes the bytes of each request.
pub struct Encoder {
    requests: Arc<Requests>,
    head: Head,
    made: Vec<Option<Vec<u8>>>,
    /// Whether any request has templates, so that requests have to be numbered.
    numbered: bool,
    render: RenderState,
    body: Vec<u8>,
}

impl Encoder {
    /// An encoder for a list; `render` carries what templates count and draw.
    #[must_use]
    pub fn new(requests: Arc<Requests>, head: Head, render: RenderState) -> Self {
        let numbered = !requests.list.iter().all(Request::is_static);
        let mut encoder =
            Self { requests, head, made: Vec::new(), numbered, render, body: Vec::new() };
        if encoder.requests.list.len() <= MADE_BEFORE {
            encoder.made = (0..encoder.requests.list.len()).map(|at| encoder.make(at)).collect();
        }
        encoder
    }

    /// Whether the answer to a request has no body whatever its head says.
    #[must_use]
    pub fn is_head(&self, index: u32) -> bool {
        self.requests.list[index as usize].method == "HEAD"
    }

    /// A request of the list.
    pub(crate) fn request(&self, index: u32) -> &Request {
        &self.requests.list[index as usize]
    }

    /// What the server is told that it is called, where the run says so.
    pub(crate) fn host(&self) -> Option<&str> {
        self.head.host.as_deref()
    }

    /// What requests say of the client that sends them.
    pub(crate) fn user_agent(&self) -> &str {
        &self.head.user_agent
    }

    /// Under which id the request is traced that was written last, once.
    pub(crate) fn take_traceparent(&mut self) -> Option<Traceparent> {
        self.render.take_traceparent()
    }

    /// A request with its placeholders filled in: the next one is numbered on.
    pub(crate) fn rendered(&mut self, index: u32) -> Request {
        let request = self.requests.list[index as usize].rendered(&mut self.render);
        self.render.next_request();
        request
    }

    /// Appends the bytes of a request that is none of the list.
    pub(crate) fn encode_other(&mut self, request: &Request, out: &mut Vec<u8>) {
        write(request, &self.head, &mut self.render, &mut self.body, out);
    }

    /// The bytes of one request: made before, or appended to `out`, which is empty.
    pub fn encode<'a>(&'a mut self, index: u32, out: &'a mut Vec<u8>) -> &'a [u8] {
        let index = index as usize;
        let made = matches!(self.made.get(index), Some(Some(_)));
        if !made {
            write(&self.requests.list[index], &self.head, &mut self.render, &mut self.body, out);
        }
        if self.numbered {
            self.render.next_request();
        }
        match self.made.get(index) {
            Some(Some(made)) => made,
            _ => out,
        }
    }

    /// The bytes of what a user sends to a host, in the place of what `out` held.
    pub fn encode_message(&self, message: &Message, host: &str, out: &mut Vec<u8>) {
        out.clear();
        let lines = [message.method.as_str(), " ", &message.target, " HTTP/1.1\r\nHost: "];
        lines.iter().for_each(|part| out.extend_from_slice(part.as_bytes()));
        let own = self.head.host.as_deref().filter(|_| message.origin == 0);
        out.extend_from_slice(own.unwrap_or(host).as_bytes());
        out.extend_from_slice(b"\r\n");
        let mut field = |name: &str, value: &str| {
            if !has_line(&message.head, name) {
                [name, ": ", value, "\r\n"]
                    .iter()
                    .for_each(|part| out.extend_from_slice(part.as_bytes()));
            }
        };
        field("User-Agent", &self.head.user_agent);
        field("Accept", "*/*");
        if self.head.close {
            field("Connection", "close");
        }
        out.extend_from_slice(&message.head);
        let body = message.body.as_deref().unwrap_or_default();
        // A body of nothing is said where the method has one by its meaning (RFC 9110, section
        // 8.6).
        let expected = matches!(message.method.as_str(), "POST" | "PUT" | "PATCH");
        if message.body.is_some() || expected {
            out.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(body);
    }

    fn make(&mut self, index: usize) -> Option<Vec<u8>> {
        let request = &self.requests.list[index];
        request.is_static().then(|| {
            let mut out = Vec::new();
            write(request, &self.head, &mut self.render, &mut self.body, &mut out);
            out
        })
    }
}

/// Whether doing it twice does no more than doing it once, by its method (RFC 9110, section 9.2.2).
#[must_use]
pub fn is_repeatable(request: &Request) -> bool {
    is_repeatable_method(&request.method)
}

/// Whether doing what a method asks for twice does no more than doing it once.
pub(crate) fn is_repeatable_method(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS" | "PUT" | "DELETE")
}

/// Whether lines of headers have one of that name, whatever its case.
pub(crate) fn has_line(lines: &[u8], name: &str) -> bool {
    lines.split(|byte| *byte == b'\n').any(|line| {
        line.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
            && line.get(name.len()) == Some(&b':')
    })
}

fn write(
    request: &Request,
    head: &Head,
    render: &mut RenderState,
    body: &mut Vec<u8>,
    out: &mut Vec<u8>,
) {
    let named =
        |name: &str| request.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
    let field = |out: &mut Vec<u8>, name: &str, value: &str| {
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value.as_bytes());
        out.extend_from_slice(b"\r\n");
    };
    let template = |out: &mut Vec<u8>, name: &str, value: &Template, render: &mut RenderState| {
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b": ");
        value.render(render, out);
        out.extend_from_slice(b"\r\n");
    };
    out.extend_from_slice(request.method.as_bytes());
    out.push(b' ');
    if head.proxy.is_some() {
        out.extend_from_slice(request.url.scheme.name.as_bytes());
        out.extend_from_slice(b"://");
        out.extend_from_slice(request.url.authority().as_bytes());
    }
    request.url.render_target(render, out);
    out.extend_from_slice(b" HTTP/1.1\r\n");
    // `Host` first, whoever names it (RFC 9110, section 7.2).
    let is_host = |name: &str| name.eq_ignore_ascii_case("host");
    match (request.headers.iter().find(|(name, _)| is_host(name)), &head.host) {
        (Some((name, value)), _) => template(out, name, value, render),
        (None, Some(host)) => field(out, "Host", host),
        (None, None) => field(out, "Host", &request.url.authority()),
    }
    if !named("user-agent") {
        field(out, "User-Agent", &head.user_agent);
    }
    if !named("accept") {
        field(out, "Accept", "*/*");
    }
    let authorization = head.proxy.as_ref().and_then(|proxy| proxy.authorization.as_ref());
    if let Some(value) = authorization.filter(|_| !named("proxy-authorization")) {
        field(out, "Proxy-Authorization", value);
    }
    if head.close && !named("connection") {
        field(out, "Connection", "close");
    }
    for (name, value) in request.headers.iter().filter(|(name, _)| !is_host(name)) {
        template(out, name, value, render);
    }
    body.clear();
    if let Some(template) = &request.body {
        template.render(render, body);
    }
    // A body of nothing is said where the method has one by its meaning (RFC 9110, section 8.6).
    let expected = matches!(request.method.as_str(), "POST" | "PUT" | "PATCH");
    if (!body.is_empty() || expected) && !named("content-length") {
        field(out, "Content-Length", &body.len().to_string());
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(body);
}
