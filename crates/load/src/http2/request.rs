//! Requests as header blocks (RFC 9113, section 8.3).
//!
//! Fields that all requests of a list share (the authority, the user agent; of a list of one, all
//! but secrets) are put into the peer's table by the first request on a connection and are one byte
//! each from then on. Nothing else is ever added, so their places in the table do not change and
//! every block can be made before the run, once for each state the peer's table can be in. What
//! differs from request to request stands as a literal. A peer that allows no such table gets
//! literals throughout.
//!
//! A request without templates is made once, unless there are more than [`MADE_BEFORE`] of them.

use super::frame;
use super::hpack::encode::{self, Literal};
use super::hpack::{ENTRY_OVERHEAD, TABLE_SIZE};
use crate::http1::encode::{Head, has_line};
use plimsoll_workload::request::{RenderState, Request, Requests, Template};
use plimsoll_workload::scenario::Message;
use plimsoll_workload::traceparent::Traceparent;
use std::borrow::Cow;
use std::sync::Arc;

/// Lists up to this length are encoded before the run.
const MADE_BEFORE: usize = 1024;

/// Fields whose values are secrets: never put into a table (RFC 7541, section 7.1.3).
const SECRETS: [&str; 5] =
    ["authorization", "proxy-authorization", "cookie", "x-api-key", "x-auth-token"];

/// Fields about the connection: HTTP/2 has none (RFC 9113, section 8.2.2). `host` is `:authority`.
const DROPPED: [&str; 6] =
    ["host", "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade"];

/// What the peer's table holds of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Table {
    /// Nothing yet.
    Empty = 0,
    /// The shared fields.
    Filled = 1,
    /// Nothing ever: it is too small.
    None = 2,
}

/// A request that was made before the run.
struct Made {
    /// Its HEADERS frame for each state of the table; the stream's number is filled in.
    frames: [Vec<u8>; 3],
    /// Its body, unless empty.
    body: Option<Arc<[u8]>>,
}

/// Makes the header block and the body of each request.
pub(super) struct Encoder {
    requests: Arc<Requests>,
    head: Head,
    render: RenderState,
    shared: Shared,
    made: Vec<Option<Made>>,
    /// Whether any request draws on `render`.
    draws: bool,
    value: Vec<u8>,
}

/// The fields that all requests share.
struct Shared {
    fields: Vec<(String, Vec<u8>)>,
    /// Pseudo-header fields, then the others, for each state of the table.
    blocks: [(Vec<u8>, Vec<u8>); 3],
    /// What they take in the peer's table.
    size: usize,
}

/// A field's value, as far as it is known before it is sent.
enum Value<'a> {
    Text(Cow<'a, [u8]>),
    Drawn(&'a Template),
}

impl Encoder {
    /// An encoder for a list; `render` carries what templates count and draw.
    pub(super) fn new(requests: Arc<Requests>, head: Head, render: RenderState) -> Self {
        let shared = Shared::of(&requests.list, &head);
        let draws = requests.list.iter().any(|request| !request.is_static());
        let mut encoder =
            Self { requests, head, render, shared, made: Vec::new(), draws, value: Vec::new() };
        if encoder.requests.list.len() <= MADE_BEFORE {
            encoder.made = (0..encoder.requests.list.len()).map(|at| encoder.make(at)).collect();
        }
        encoder
    }

    /// The size the peer's table must have for the shared fields.
    pub(super) fn table_size(&self) -> usize {
        self.shared.size
    }

    /// Whether the answer to a request has no body whatever its head says.
    #[inline]
    pub(super) fn is_head(&self, index: u32) -> bool {
        self.requests.list[index as usize].method == "HEAD"
    }

    /// A request of the list.
    pub(super) fn request(&self, index: u32) -> &Request {
        &self.requests.list[index as usize]
    }

    /// What the server is told that it is called, where the run says so.
    pub(super) fn host(&self) -> Option<&str> {
        self.head.host.as_deref()
    }

    /// Under which id the request is traced that was written last, once.
    pub(super) fn take_traceparent(&mut self) -> Option<Traceparent> {
        self.render.take_traceparent()
    }

    /// A request with its placeholders filled in: the next one is numbered on.
    pub(super) fn rendered(&mut self, index: u32) -> Request {
        let request = self.requests.list[index as usize].rendered(&mut self.render);
        self.render.next_request();
        request
    }

    /// Appends the header block of a request that is none of the list: it has no field in the
    /// peer's table. Gives its body.
    pub(super) fn make_other(
        &mut self,
        request: &Request,
        block: &mut Vec<u8>,
    ) -> Option<Arc<[u8]>> {
        let mut body = Vec::new();
        if let Some(template) = &request.body {
            template.render(&mut self.render, &mut body);
        }
        let (render, value, none) = (&mut self.render, &mut self.value, Shared::none());
        write(request, &self.head, &none, Table::None, body.len(), render, value, block);
        (!body.is_empty()).then(|| body.into())
    }

    /// The header block, in the place of what `block` held, of what a user sends to a host by a
    /// scheme: it has no field in the peer's table. Gives its body.
    pub(super) fn make_message(
        &self,
        message: &Message,
        (scheme, host): (&str, &str),
        block: &mut Vec<u8>,
    ) -> Option<Arc<[u8]>> {
        block.clear();
        let own = self.head.host.as_deref().filter(|_| message.origin == 0);
        let pseudo = [
            (":method", message.method.as_str()),
            (":scheme", scheme),
            (":authority", own.unwrap_or(host)),
            (":path", message.target.as_str()),
        ];
        let usual = [("user-agent", self.head.user_agent.as_str()), ("accept", "*/*")];
        let usual = usual.into_iter().filter(|(name, _)| !has_line(&message.head, name));
        for (name, value) in pseudo.into_iter().chain(usual) {
            encode::field(name, value.as_bytes(), Literal::Plain, block);
        }
        for line in message.head.split(|byte| *byte == b'\n') {
            let Some(at) = line.iter().position(|byte| *byte == b':') else { continue };
            let name = String::from_utf8_lossy(&line[..at]).to_ascii_lowercase();
            let value = line[at + 1..].trim_ascii();
            let is_dropped = DROPPED.contains(&name.as_str())
                || name == "content-length"
                || (name == "te" && value != b"trailers");
            if !is_dropped {
                let literal = if is_secret(&name) { Literal::Never } else { Literal::Plain };
                encode::field(&name, value, literal, block);
            }
        }
        let body = message.body.as_deref();
        if body.is_some() || has_body_by_meaning(&message.method) {
            let length = body.map_or(0, <[u8]>::len).to_string();
            encode::field("content-length", length.as_bytes(), Literal::Plain, block);
        }
        body.filter(|body| !body.is_empty()).map(Into::into)
    }

    /// Whether a request was made before the run.
    #[inline]
    pub(super) fn is_made(&self, index: u32) -> bool {
        self.made.get(index as usize).is_some_and(Option::is_some)
    }

    /// A request that was made before the run: its HEADERS for a stream, and its body.
    #[inline]
    pub(super) fn made(
        &mut self,
        index: u32,
        table: Table,
        stream: u32,
    ) -> (&[u8], Option<Arc<[u8]>>) {
        self.next();
        let Some(Some(made)) = self.made.get_mut(index as usize) else { return (&[], None) };
        let frame = &mut made.frames[table as usize];
        frame[5..frame::HEAD].copy_from_slice(&stream.to_be_bytes());
        (frame, made.body.clone())
    }

    /// Templates go on to the next request.
    #[inline]
    pub(super) fn next(&mut self) {
        if self.draws {
            self.render.next_request();
        }
    }

    /// Appends the header block of a request that was not made before; gives its body.
    pub(super) fn make_now(
        &mut self,
        index: u32,
        table: Table,
        block: &mut Vec<u8>,
    ) -> Option<Arc<[u8]>> {
        let request = &self.requests.list[index as usize];
        let mut body = Vec::new();
        if let Some(template) = &request.body {
            template.render(&mut self.render, &mut body);
        }
        let (render, value) = (&mut self.render, &mut self.value);
        write(request, &self.head, &self.shared, table, body.len(), render, value, block);
        (!body.is_empty()).then(|| body.into())
    }

    fn make(&mut self, index: usize) -> Option<Made> {
        if !self.requests.list[index].is_static() {
            return None;
        }
        let index = u32::try_from(index).ok()?;
        let mut body = None;
        let mut frames = [const { Vec::new() }; 3];
        for table in [Table::Empty, Table::Filled, Table::None] {
            let mut block = Vec::new();
            body = self.make_now(index, table, &mut block);
            if block.len() > frame::MAX_PAYLOAD {
                return None;
            }
            frame::headers(&block, body.is_none(), 0, &mut frames[table as usize]);
        }
        Some(Made { frames, body })
    }
}

impl Shared {
    /// No field at all.
    fn none() -> Self {
        Self { fields: Vec::new(), blocks: Default::default(), size: 0 }
    }

    fn of(list: &[Request], head: &Head) -> Self {
        let mut fields: Vec<(String, Vec<u8>)> = Vec::new();
        let Some((first, others)) = list.split_first() else {
            return Self::none();
        };
        let mut twice: Vec<String> = Vec::new();
        each_field(
            first,
            head,
            |_| true,
            |name, value| {
                let known = fields.iter().any(|(known, _)| known == name);
                match value {
                    Value::Text(text) if !known && !is_secret(name) => {
                        fields.push((name.to_owned(), text.into_owned()));
                    }
                    _ => twice.push(name.to_owned()),
                }
            },
        );
        fields.retain(|(name, _)| !twice.contains(name));
        for other in others {
            let mut same = vec![0u32; fields.len()];
            each_field(
                other,
                head,
                |_| true,
                |name, value| {
                    if let Some(at) = fields.iter().position(|(known, _)| known == name) {
                        let equal = matches!(&value, Value::Text(text) if **text == *fields[at].1);
                        same[at] += if equal { 1 } else { 2 };
                    }
                },
            );
            let mut same = same.iter();
            fields.retain(|_| same.next() == Some(&1));
        }
        Self::encoded(fields)
    }

    fn encoded(fields: Vec<(String, Vec<u8>)>) -> Self {
        let mut size = 0;
        let added: Vec<bool> = fields
            .iter()
            .map(|(name, value)| {
                let more = name.len() + value.len() + ENTRY_OVERHEAD;
                let add = !encode::is_known(name, value) && size + more <= TABLE_SIZE;
                size += if add { more } else { 0 };
                add
            })
            .collect();
        let count = added.iter().filter(|added| **added).count();
        let mut blocks: [(Vec<u8>, Vec<u8>); 3] = Default::default();
        for table in [Table::Empty, Table::Filled, Table::None] {
            let block = &mut blocks[table as usize];
            let mut age = count;
            for ((name, value), added) in fields.iter().zip(&added) {
                let out = if name.starts_with(':') { &mut block.0 } else { &mut block.1 };
                age -= usize::from(*added);
                match table {
                    Table::Filled if *added => encode::added(age, out),
                    Table::Empty if *added => encode::field(name, value, Literal::Added, out),
                    _ => encode::field(name, value, Literal::Plain, out),
                }
            }
        }
        Self { fields, blocks, size }
    }

    fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|(known, _)| known == name)
    }
}

/// Appends a whole header block.
#[expect(clippy::too_many_arguments, reason = "parts of one encoder, borrowed apart")]
fn write(
    request: &Request,
    head: &Head,
    shared: &Shared,
    table: Table,
    body_len: usize,
    render: &mut RenderState,
    drawn: &mut Vec<u8>,
    out: &mut Vec<u8>,
) {
    let (pseudo, regular) = &shared.blocks[table as usize];
    out.extend_from_slice(pseudo);
    let mut in_pseudo = true;
    each_field(
        request,
        head,
        |name| !shared.has(name),
        |name, value| {
            // Pseudo-header fields come first (RFC 9113, section 8.3).
            if in_pseudo && !name.starts_with(':') {
                out.extend_from_slice(regular);
                in_pseudo = false;
            }
            let literal = if is_secret(name) { Literal::Never } else { Literal::Plain };
            match value {
                Value::Text(text) => encode::field(name, &text, literal, out),
                Value::Drawn(template) => {
                    drawn.clear();
                    template.render(render, drawn);
                    encode::field(name, drawn, literal, out);
                }
            }
        },
    );
    if in_pseudo {
        out.extend_from_slice(regular);
    }
    if body_len > 0 || has_body_by_meaning(&request.method) {
        encode::field("content-length", body_len.to_string().as_bytes(), Literal::Plain, out);
    }
}

/// Whether a body of nothing is said (RFC 9110, section 8.6).
fn has_body_by_meaning(method: &str) -> bool {
    matches!(method, "POST" | "PUT" | "PATCH")
}

/// Goes through the fields of a request whose names are wanted, pseudo-header fields first.
fn each_field<'a>(
    request: &'a Request,
    head: &'a Head,
    wanted: impl Fn(&str) -> bool,
    mut take: impl FnMut(&str, Value<'a>),
) {
    let text = |text: &'a str| Value::Text(Cow::Borrowed(text.as_bytes()));
    let value = |template: &'a Template| match template.as_static() {
        Some(text) => Value::Text(Cow::Borrowed(text)),
        None => Value::Drawn(template),
    };
    if wanted(":method") {
        take(":method", text(&request.method));
    }
    if wanted(":scheme") {
        take(":scheme", text(request.url.scheme.name));
    }
    if wanted(":authority") {
        let authority = match (request.host_given(), &head.host) {
            (Some(host), _) => value(host),
            (None, Some(host)) => text(host),
            (None, None) => Value::Text(Cow::Owned(request.url.authority().into_bytes())),
        };
        take(":authority", authority);
    }
    if wanted(":path") {
        let path = match &request.url.template {
            Some(template) => Value::Drawn(template),
            None => text(&request.url.target),
        };
        take(":path", path);
    }
    let named =
        |name: &str| request.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
    for (name, default) in [("user-agent", head.user_agent.as_str()), ("accept", "*/*")] {
        if !named(name) && wanted(name) {
            take(name, text(default));
        }
    }
    for (name, template) in &request.headers {
        // Names are in lower case here (RFC 9113, section 8.2).
        let is_lower = !name.bytes().any(|byte| byte.is_ascii_uppercase());
        let lower = if is_lower { None } else { Some(name.to_ascii_lowercase()) };
        let name = lower.as_deref().unwrap_or(name);
        let trailers = |value: &Template| value.as_static() == Some(b"trailers");
        let dropped = DROPPED.contains(&name) || (name == "te" && !trailers(template));
        if !dropped && wanted(name) {
            take(name, value(template));
        }
    }
}

fn is_secret(name: &str) -> bool {
    SECRETS.contains(&name)
}
