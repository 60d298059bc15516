//! Answers for a browser that does with them what they are for, and nothing else.

use plimsoll_net::http::respond::Answer;

pub(crate) const TEXT: &str = "text/plain; charset=utf-8";
pub(crate) const HTML: &str = "text/html; charset=utf-8";

/// What a page of ours may do in a browser: show itself.
pub(crate) const OF_PAGES: &str = "default-src 'none'; style-src 'unsafe-inline'; \
                                   script-src 'unsafe-inline'; img-src data:; \
                                   base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// What one of what goes on may do besides: take events of the server that it came from.
pub(crate) const OF_LIVE_PAGES: &str = "default-src 'none'; style-src 'unsafe-inline'; \
                                        script-src 'unsafe-inline'; img-src data:; \
                                        connect-src 'self'; base-uri 'none'; \
                                        form-action 'none'; frame-ancestors 'none'";
/// What anything else may do: nothing.
pub(crate) const OF_FILES: &str = "default-src 'none'; sandbox; frame-ancestors 'none'";

/// A refusal, and why.
pub(crate) fn refused(status: u16, why: &str) -> Answer {
    guarded(Answer::new(status, TEXT, format!("{why}\n")), OF_FILES)
}

/// An answer that a browser takes for nothing else than it is, keeps nowhere and tells nobody of.
pub(crate) fn guarded(answer: Answer, policy: &str) -> Answer {
    answer
        .with("content-security-policy", policy)
        .with("x-content-type-options", "nosniff")
        .with("referrer-policy", "no-referrer")
        .with("cache-control", "no-store")
}
