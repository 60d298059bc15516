//! Answers: their heads stand ready, small bodies with them; large bodies are one block, sent as
//! often as it takes, and never copied for a request.

use std::io::Write as _;

use super::head::{Link, Reject};

/// What an answer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Ok,
    BadRequest,
    Forbidden,
    HeadTooLarge,
    InternalError,
    NotImplemented,
    Unavailable,
    Version,
    /// 100: an interim answer; another follows.
    Continue,
}

/// The first lines of answers, in the order of [`Status::ALL`].
const LINES: [&str; 9] = [
    "HTTP/1.1 200 OK",
    "HTTP/1.1 400 Bad Request",
    "HTTP/1.1 403 Forbidden",
    "HTTP/1.1 431 Request Header Fields Too Large",
    "HTTP/1.1 500 Internal Server Error",
    "HTTP/1.1 501 Not Implemented",
    "HTTP/1.1 503 Service Unavailable",
    "HTTP/1.1 505 HTTP Version Not Supported",
    "HTTP/1.1 100 Continue",
];

impl Status {
    /// All of them, in their order.
    pub(crate) const ALL: [Self; 9] = [
        Self::Ok,
        Self::BadRequest,
        Self::Forbidden,
        Self::HeadTooLarge,
        Self::InternalError,
        Self::NotImplemented,
        Self::Unavailable,
        Self::Version,
        Self::Continue,
    ];

    /// The three digits.
    pub(crate) fn code(self) -> u16 {
        match self {
            Self::Ok => 200,
            Self::BadRequest => 400,
            Self::Forbidden => 403,
            Self::HeadTooLarge => 431,
            Self::InternalError => 500,
            Self::NotImplemented => 501,
            Self::Unavailable => 503,
            Self::Version => 505,
            Self::Continue => 100,
        }
    }

    /// The first line of an answer, without its end.
    pub(crate) fn line(self) -> &'static str {
        LINES[self as usize]
    }
}

impl From<Reject> for Status {
    fn from(reject: Reject) -> Self {
        match reject {
            Reject::Bad => Self::BadRequest,
            Reject::TooLarge => Self::HeadTooLarge,
            Reject::NotImplemented => Self::NotImplemented,
            Reject::Version => Self::Version,
        }
    }
}

/// One answer that a connection owes.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// When it may leave, on the server's clock.
    pub(crate) release_ns: u64,
    /// What `Content-Length` says: at most [`MAX_BODY`](crate::body::MAX_BODY).
    pub(crate) body: u32,
    pub(crate) status: Status,
    pub(crate) link: Link,
    /// The body is left out.
    pub(crate) is_head: bool,
    /// The whole answer, head and body, where it is made for its request.
    #[expect(clippy::box_collection, reason = "one word in every answer that is owed, not three")]
    pub(crate) page: Option<Box<Vec<u8>>>,
}

impl Answer {
    /// Bytes of body that are sent.
    fn body_sent(&self) -> u64 {
        if self.is_head { 0 } else { u64::from(self.body) }
    }
}

/// Body bytes that are put together with heads in one buffer instead of sent from the block.
const SMALL: usize = 16 * 1024;
/// Bytes put together before they are sent.
const BATCH: usize = 64 * 1024;
/// The block that large bodies are sent from, bytes.
pub(crate) const BLOCK: usize = 1 << 20;

/// The ready-made parts of all answers, and the block that bodies are made of.
pub(crate) struct Answers {
    /// By status and link: everything up to the digits of the length.
    heads: Vec<Vec<u8>>,
    /// The answer most requests get, head and body; empty when its size is drawn or large.
    usual: Vec<u8>,
    usual_body: u32,
    block: Vec<u8>,
}

/// What is to be sent next on a connection: the bytes put together, then `large` bytes of body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Batch {
    pub(crate) large: u64,
}

impl Answers {
    /// Answers whose usual body is `usual` bytes, where that is known, and at most `largest`.
    pub(crate) fn new(usual: Option<u64>, largest: u64) -> Self {
        let mut heads = Vec::new();
        for line in LINES {
            for link in [Link::Keep, Link::Close, Link::Keep10].map(Link::header) {
                heads.push(match line.contains(" 100 ") {
                    true => format!("{line}\r\n\r\n").into_bytes(),
                    false => format!("{line}\r\n{link}Content-Length: ").into_bytes(),
                });
            }
        }
        let block = vec![b'x'; usize::try_from(largest).unwrap_or(BLOCK).clamp(SMALL, BLOCK)];
        let mut answers = Self { heads, usual: Vec::new(), usual_body: u32::MAX, block };
        if let Some(body) = usual.filter(|&body| body <= SMALL as u64) {
            let (status, link) = (Status::Ok, Link::Keep);
            let (is_head, page) = (false, None);
            #[expect(clippy::cast_possible_truncation, reason = "at most SMALL")]
            let body = body as u32;
            let answer = Answer { release_ns: 0, body, status, link, is_head, page };
            let mut usual = Vec::new();
            answers.put(&answer, 0, &mut usual);
            answers.usual = usual;
            answers.usual_body = body;
        }
        answers
    }

    /// The whole of the answer, if it is the usual one.
    #[inline]
    pub(crate) fn usual(&self, answer: &Answer) -> Option<&[u8]> {
        let is_usual = answer.status == Status::Ok
            && answer.link == Link::Keep
            && answer.body == self.usual_body
            && !answer.is_head
            && answer.page.is_none();
        is_usual.then_some(&self.usual)
    }

    /// The block bodies are sent from.
    pub(crate) fn block(&self) -> &[u8] {
        &self.block
    }

    /// Length of the whole answer, bytes.
    pub(crate) fn len(&self, answer: &Answer) -> u64 {
        if let Some(usual) = self.usual(answer) {
            return usual.len() as u64;
        }
        if let Some(page) = &answer.page {
            return page.len() as u64;
        }
        let head = self.head(answer).len();
        match answer.status {
            Status::Continue => head as u64,
            _ => head as u64 + digits(u64::from(answer.body)) + 4 + answer.body_sent(),
        }
    }

    /// Puts together what is to be sent of `answers`, the first of which has `sent` bytes gone.
    pub(crate) fn gather<'a>(
        &self,
        answers: impl Iterator<Item = &'a Answer>,
        mut sent: u64,
        into: &mut Vec<u8>,
    ) -> Batch {
        into.clear();
        for answer in answers {
            let large = self.put(answer, sent, into);
            sent = 0;
            if large > 0 || into.len() >= BATCH {
                return Batch { large };
            }
        }
        Batch { large: 0 }
    }

    /// Appends the answer from its byte `sent` on; returns how much of a large body is left out.
    fn put(&self, answer: &Answer, sent: u64, into: &mut Vec<u8>) -> u64 {
        if let Some(page) = &answer.page {
            let sent = usize::try_from(sent).unwrap_or(usize::MAX).min(page.len());
            into.extend_from_slice(&page[sent..]);
            return 0;
        }
        let start = into.len();
        into.extend_from_slice(self.head(answer));
        if answer.status != Status::Continue {
            // Writing to a Vec cannot fail.
            let _ = write!(into, "{}\r\n\r\n", answer.body);
        }
        let head = (into.len() - start) as u64;
        #[expect(clippy::cast_possible_truncation, reason = "at most the head's length")]
        into.drain(start..start + sent.min(head) as usize);
        let left = answer.body_sent() - sent.saturating_sub(head).min(answer.body_sent());
        if left > SMALL as u64 {
            return left;
        }
        #[expect(clippy::cast_possible_truncation, reason = "at most SMALL")]
        into.extend_from_slice(&self.block[..left as usize]);
        0
    }

    fn head(&self, answer: &Answer) -> &[u8] {
        &self.heads[answer.status as usize * 3 + answer.link as usize]
    }
}

/// How many decimal digits the number has.
fn digits(number: u64) -> u64 {
    u64::from(number.checked_ilog10().unwrap_or(0)) + 1
}
