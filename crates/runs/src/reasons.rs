//! Why requests failed, in words: the first few different causes of each kind of failure.
//!
//! A cause is what was seen: the words of an error that a store answered, the bytes that were not
//! understood, the name of an error of the system. Nothing is kept of requests that succeed.
//! What is kept of failures is bounded: [`PER_KIND`] causes a kind in a run, each of at most
//! [`MAX_TEXT`] characters, and only a cause that is new costs an allocation.
//!
//! # Which causes are the same
//!
//! Two failures of one kind and one code have the same cause where their words are equal. The words
//! of answers with a code may differ in their numbers besides (`MOVED 6189 …`, `MOVED 12 …`, the
//! key of a record): the text is that of the first.
//!
//! # What may be shown
//!
//! Words come from a peer. Bytes that are not printable are shown as `\xNN`, and what is secret of
//! our own (a password, a token) as `***`, in case the peer repeats it: see [`Secrets`].

use crate::ErrorKind;
use std::borrow::Cow;
use std::fmt::Write as _;

/// The most causes of one kind that a run keeps.
pub const PER_KIND: usize = 3;
/// The most causes of one kind that a stretch keeps. It is more than a run keeps, so that those of
/// several threads and stretches are counted in full although each met others first.
const PER_KIND_IN_STRETCH: usize = 8;
/// The most characters of a cause.
pub const MAX_TEXT: usize = 200;
/// The most bytes of a cause that are looked at.
const MAX_WORDS: usize = 2048;

/// One cause of failures.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Reason {
    /// How the requests failed.
    pub kind: ErrorKind,
    /// The cause, at most [`MAX_TEXT`] printable characters without secrets.
    pub text: String,
    /// How many requests failed so.
    pub count: u64,
    /// When the first did, in nanoseconds since the run's first due time.
    pub first_ns: u64,
    /// Equal for causes that are the same ([`key`]).
    pub(crate) key: u64,
}

/// The causes of failures in a stretch of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Reasons(Vec<Reason>);

impl Reasons {
    /// Counts a failure whose cause is told by `words`; `code` is that of the answer, where there
    /// was one.
    pub fn note(
        &mut self,
        kind: ErrorKind,
        code: Option<u16>,
        at_ns: u64,
        words: &[u8],
        secrets: &Secrets,
    ) {
        let words = &words[..words.len().min(MAX_WORDS)];
        let key = key(kind, code, words);
        if let Some(known) = self.0.iter_mut().find(|known| known.key == key) {
            known.count += 1;
            known.first_ns = known.first_ns.min(at_ns);
        } else if self.of_kind(kind) < PER_KIND_IN_STRETCH {
            let text = secrets.shown(words);
            self.0.push(Reason { kind, text, count: 1, first_ns: at_ns, key });
        }
    }

    /// Adds those of another stretch.
    pub fn add(&mut self, other: &Self) {
        for theirs in &other.0 {
            if let Some(known) = self.0.iter_mut().find(|known| known.key == theirs.key) {
                known.count += theirs.count;
                known.first_ns = known.first_ns.min(theirs.first_ns);
            } else if self.of_kind(theirs.kind) < PER_KIND_IN_STRETCH {
                self.0.push(theirs.clone());
            }
        }
    }

    /// Forgets all, keeping the allocation.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Forgets those of one kind.
    pub fn forget(&mut self, kind: ErrorKind) {
        self.0.retain(|reason| reason.kind != kind);
    }

    /// Whether nothing has failed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first [`PER_KIND`] causes of each kind, kinds in the order of their discriminants and
    /// causes in that of their first failure.
    #[must_use]
    pub fn first(&self) -> Vec<&Reason> {
        let mut found: Vec<&Reason> = self.0.iter().collect();
        found.sort_by_key(|reason| (reason.kind, reason.first_ns));
        let mut kept: Vec<&Reason> = Vec::new();
        for reason in found {
            let same = kept.iter().filter(|one| one.kind == reason.kind).count();
            if same < PER_KIND {
                kept.push(reason);
            }
        }
        kept
    }

    fn of_kind(&self, kind: ErrorKind) -> usize {
        self.0.iter().filter(|known| known.kind == kind).count()
    }
}

/// A number that causes have in common which are the same: FNV-1a of kind, code and words. With a
/// code, each number in the words counts as any other.
fn key(kind: ErrorKind, code: Option<u16>, words: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut take = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    take(kind as u8);
    code.unwrap_or(0).to_le_bytes().into_iter().for_each(&mut take);
    let mut before = 0;
    for &byte in words {
        let is_digit = code.is_some() && byte.is_ascii_digit();
        if !(is_digit && before == b'0') {
            take(if is_digit { b'0' } else { byte });
        }
        before = if is_digit { b'0' } else { 0 };
    }
    hash
}

/// Our own secrets, which nothing that is shown may hold. `Debug` shows none.
#[derive(Clone, Default)]
pub struct Secrets(Vec<Vec<u8>>);

impl Secrets {
    /// These secrets; empty ones are none.
    #[must_use]
    pub fn new(secrets: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let mut all: Vec<Vec<u8>> =
            secrets.into_iter().filter(|secret| !secret.is_empty()).collect();
        // A secret that holds another one is looked for first.
        all.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        all.dedup();
        Self(all)
    }

    /// Text of a peer as it may be shown: without secrets, its unprintable bytes as `\xNN`, and of
    /// at most [`MAX_TEXT`] characters.
    #[must_use]
    pub fn shown(&self, words: &[u8]) -> String {
        let words = self.hidden(words);
        let mut text = String::new();
        for chunk in words.utf8_chunks() {
            for c in chunk.valid().chars() {
                if c.is_control() || is_invisible(c) {
                    let mut bytes = [0; 4];
                    push_escaped(c.encode_utf8(&mut bytes).as_bytes(), &mut text);
                } else {
                    text.push(c);
                }
            }
            push_escaped(chunk.invalid(), &mut text);
        }
        if text.chars().count() > MAX_TEXT {
            text = text.chars().take(MAX_TEXT - 1).collect();
            text.push('…');
        }
        text
    }

    /// The same bytes with `***` in the place of each secret. Where the bytes were cut, the secret
    /// that stood at the cut is hidden as well.
    fn hidden<'a>(&self, words: &'a [u8]) -> Cow<'a, [u8]> {
        if self.0.is_empty() {
            return Cow::Borrowed(words);
        }
        let (mut out, mut at) = (Vec::with_capacity(words.len()), 0);
        while at < words.len() {
            let rest = &words[at..];
            if let Some(secret) = self.0.iter().find(|secret| rest.starts_with(secret)) {
                out.extend_from_slice(b"***");
                at += secret.len();
            } else if rest.len() >= 4 && self.0.iter().any(|secret| secret.starts_with(rest)) {
                out.extend_from_slice(b"***");
                break;
            } else {
                out.push(rest[0]);
                at += 1;
            }
        }
        Cow::Owned(out)
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secrets({} redacted)", self.0.len())
    }
}

/// Characters that change how a terminal or a page shows the ones around them.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
    )
}

fn push_escaped(bytes: &[u8], text: &mut String) {
    for byte in bytes {
        let _ = write!(text, "\\x{byte:02x}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(all: &[&str]) -> Secrets {
        Secrets::new(all.iter().map(|secret| secret.as_bytes().to_vec()))
    }

    #[test]
    fn what_is_shown_is_printable_and_bounded() {
        let none = secrets(&[""]);
        assert_eq!(none.shown(b"a\x1b[31mb\r\n\0\xff\xc3\xa9"), "a\\x1b[31mb\\x0d\\x0a\\x00\\xffé");
        assert_eq!(none.shown("\u{202e}x".as_bytes()), "\\xe2\\x80\\xaex");
        let long = none.shown(&vec![b'x'; 5000]);
        assert_eq!(long.chars().count(), MAX_TEXT);
        assert!(long.ends_with('…'));
        assert_eq!(none.shown(&[b'x'; MAX_TEXT]).chars().count(), MAX_TEXT);
    }

    #[test]
    fn secrets_are_hidden_wherever_they_stand() {
        let ours = secrets(&["hunter2", "hunter2-long", "pw"]);
        assert_eq!(ours.shown(b"user ann:hunter2-long@host, hunter2."), "user ann:***@host, ***.");
        assert_eq!(ours.shown(b"pwpw"), "******");
        assert_eq!(ours.shown(b"it was cut at hunter"), "it was cut at ***");
        assert!(!format!("{ours:?}").contains("hunter"));
        // A secret with bytes that would be escaped is hidden before.
        assert_eq!(secrets(&["a\nb"]).shown(b"xa\nbx"), "x***x");
    }

    #[test]
    fn equal_causes_are_counted_and_others_are_bounded() {
        let (mut reasons, none) = (Reasons::default(), Secrets::default());
        for nth in 0..1000_u64 {
            let words = format!("MOVED {nth} 10.0.0.1:6379");
            reasons.note(ErrorKind::Status, Some(421), 5 + nth, words.as_bytes(), &none);
            let words = format!("byte {nth}");
            reasons.note(ErrorKind::Protocol, None, nth, words.as_bytes(), &none);
        }
        reasons.note(ErrorKind::Status, Some(403), 3, b"MOVED 0 10.0.0.1:6379", &none);
        let found = reasons.first();
        let shown: Vec<_> = found.iter().map(|r| (r.kind, r.text.as_str(), r.count)).collect();
        let wanted = [
            (ErrorKind::Protocol, "byte 0", 1),
            (ErrorKind::Protocol, "byte 1", 1),
            (ErrorKind::Protocol, "byte 2", 1),
            (ErrorKind::Status, "MOVED 0 10.0.0.1:6379", 1),
            (ErrorKind::Status, "MOVED 0 10.0.0.1:6379", 1000),
        ];
        assert_eq!(shown, wanted);
        assert!(reasons.0.len() <= PER_KIND_IN_STRETCH + 2);
    }

    #[test]
    fn stretches_add_up_in_any_order() {
        let none = Secrets::default();
        let stretch = |words: &[(&str, u64)]| {
            let mut reasons = Reasons::default();
            for (words, at) in words {
                reasons.note(ErrorKind::Reset, None, *at, words.as_bytes(), &none);
            }
            reasons
        };
        let (a, b) = (stretch(&[("one", 9), ("two", 4)]), stretch(&[("two", 2), ("two", 3)]));
        let sum = |first: &Reasons, second: &Reasons| {
            let mut sum = first.clone();
            sum.add(second);
            sum.first().into_iter().cloned().collect::<Vec<_>>()
        };
        assert_eq!(sum(&a, &b), sum(&b, &a));
        let found = sum(&a, &b);
        assert_eq!((found[0].text.as_str(), found[0].count, found[0].first_ns), ("two", 3, 2));
        assert_eq!((found[1].text.as_str(), found[1].count, found[1].first_ns), ("one", 1, 9));
    }
}
