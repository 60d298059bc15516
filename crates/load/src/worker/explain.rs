//! Why requests and attempts to connect have failed, in words. Nothing here runs while requests
//! succeed.

use super::Worker;
use crate::driver::{Driver, Slot};
use crate::errno;
use plimsoll_runs::ErrorKind;
use std::borrow::Cow;
use std::io;

/// Why a request has failed.
#[derive(Clone, Copy)]
pub(super) enum Why<'a> {
    /// Its driver knows.
    Driver,
    /// The socket, or TLS, has failed.
    Error(&'a io::Error),
    /// The peer has closed the connection.
    Closed,
    /// It was given up.
    TimedOut,
    /// Something else.
    Words(&'a str),
}

impl<D: Driver> Worker<D> {
    /// A request that was sent has failed: it has no whole answer.
    pub(super) fn fail(&mut self, slot: Slot, kind: ErrorKind, why: Why<'_>) {
        self.explain(slot, kind, None, why);
        self.end_request(slot, None, 0, Some(kind));
    }

    /// Notes why a request is failing that has not ended yet; `code` is that of its answer.
    #[cold]
    pub(super) fn explain(&mut self, slot: Slot, kind: ErrorKind, code: Option<u16>, why: Why<'_>) {
        let driver = self.driver.words(slot).map(Cow::Owned);
        let Some((sent, _)) = self.in_flight.get_mut(slot) else { return };
        let (phase, begun) = (sent.phase, sent.first_byte != 0);
        let owned = |text: String| Cow::Owned(text.into_bytes());
        let words: Cow<'_, [u8]> = match (driver, why) {
            (Some(words), _) => words,
            (None, Why::Error(error)) => owned(errno::describe(error)),
            (None, Why::Closed) if begun => {
                Cow::Borrowed(b"the peer closed the connection in the middle of the answer")
            }
            (None, Why::Closed) => {
                Cow::Borrowed(b"the peer closed the connection before a byte of the answer")
            }
            (None, Why::TimedOut) => {
                let part = if begun { "no whole answer" } else { "no answer" };
                let limit = plimsoll_units::show_duration(self.config.timeout_ns);
                owned(format!("{part} within {limit}"))
            }
            (None, Why::Words(words)) => Cow::Borrowed(words.as_bytes()),
            (None, Why::Driver) => match code {
                Some(code) => owned(format!("the answer's status is {code}")),
                None => Cow::Borrowed(b"the answer breaks the rules of its protocol"),
            },
        };
        self.recorder.reason(phase, kind, code, self.now, &words);
    }
}
