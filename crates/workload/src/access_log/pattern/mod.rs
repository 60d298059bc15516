//! Formats that are given in the words of the server that wrote the log: nginx's `log_format`,
//! Apache's `LogFormat`.
//!
//! `$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent`
//!
//! `%h %l %u %t "%r" %>s %b "%{Referer}i"`
//!
//! A format is compiled once, into texts and fields that follow one another. A field ends where the
//! text behind it begins for the first time; one in quotes at a quote that is not escaped, and that
//! of a request at one that a status follows where the format says so. A field whose server writes
//! lists, `0.001, 0.002`, does not end behind a comma. Two fields with nothing between them are
//! refused, unless it is known where the second begins: a path at its `/`. A line must be the
//! format's from its first byte to its last. Reading a line allocates nothing.
//!
//! A format must have a time and say what is asked for. Fields that are not needed are passed over.
//! The text of an escaped quote in the format itself, `\"` as it stands in httpd.conf, is a quote.
//!
//! Sources: nginx, "Module ngx_http_log_module" and "Alphabetical index of variables"; Apache HTTP
//! Server 2.4, "Apache Module mod_log_config", "Custom Log Formats".

mod apache;
mod clock;
mod compile;
mod line;
mod nginx;

use plimsoll_units::ParseError;

use clock::Part;

/// The longest format, in bytes.
const MAX_BYTES: usize = 8192;

/// A format in a server's own words.
#[derive(Debug, Clone)]
pub struct Pattern {
    text: String,
    tokens: Vec<Token>,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Pattern {
    /// Reads a format: nginx's where it has a `$`, else Apache's.
    ///
    /// # Errors
    /// An unknown word, two fields with nothing between them, a format without a time or without
    /// what is asked for.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        if text.len() > MAX_BYTES {
            let wanted = format!("a log format of at most {MAX_BYTES} bytes");
            return Err(ParseError::new(wanted, text, 0, text.len()));
        }
        let pieces = if text.contains('$') { nginx::pieces(text)? } else { apache::pieces(text)? };
        Ok(Self { text: text.to_owned(), tokens: compile::tokens(text, pieces)? })
    }

    /// The format as it was given.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// A part of a format as it was written.
#[derive(Debug, Clone, PartialEq)]
struct Piece {
    what: What,
    /// Where it stands, in bytes.
    at: usize,
    len: usize,
}

#[derive(Debug, Clone, PartialEq)]
enum What {
    Text(u8),
    Field(Field),
}

/// What a field says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    /// Nothing that is needed.
    Other,
    /// The same, where a comma may stand within it, with a blank behind it.
    List,
    /// A name or an address.
    Client,
    /// The addresses of `X-Forwarded-For`: the first is the client's, whoever has connected.
    Forwarded,
    Status,
    /// Bytes sent. The least number counts, of several such fields.
    Bytes(u8),
    /// The host that was asked. The least number counts, of several such fields.
    Site(u8),
    /// `GET /a HTTP/1.1`.
    Request,
    Method,
    /// A path with its query, as it came.
    Target,
    Path,
    /// `?a=b`, or nothing.
    Query,
    /// `?`, or nothing.
    Mark,
    /// `a=b`.
    Arguments,
    /// `10/Oct/2000:13:55:36 -0700`.
    Clf,
    /// By ISO 8601.
    Iso,
    /// Seconds since 1970 with a fraction, or whole milli- or microseconds.
    Epoch,
    /// One of several that make a time.
    Part(Part),
}

impl Field {
    /// Whether its value begins with `/`, so that it ends the field before it.
    fn begins_with_slash(self) -> bool {
        matches!(self, Self::Target | Self::Path)
    }

    /// How many bytes it has; `None` where that differs.
    fn bytes(self) -> Option<usize> {
        match self {
            Self::Clf => Some(super::date::CLF_BYTES),
            Self::Part(part) => Some(part.bytes()),
            _ => None,
        }
    }
}

/// What follows one another in a line.
#[derive(Debug, Clone, PartialEq)]
enum Token {
    Text(Vec<u8>),
    Field(Field, End),
}

/// Where a field ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// After so many bytes.
    After(usize),
    /// Where the next text is.
    Text,
    /// Where the next text is, which begins with a quote; `true` if a status follows it.
    Quote(bool),
    /// At the next `/`.
    Slash,
    /// At the end of the line.
    Line,
}
