//! Users with a session: a cookie that says who they are, and a token that changes with each page.
//!
//! `POST /login`, with any form, begins a session: its answer sets the cookie [`COOKIE`] and is a
//! page with a token. `GET /login` is a page with a form to log in by. Every other path wants the
//! cookie and the newest token back, in the query or the form as `token`, or as the header
//! `X-Token`, and answers with the next one; else the answer is 403 and the token stays.
//!
//! Cookies and tokens are drawn from the seed, in the order of log-ins and of requests.

use plimsoll_workload::random::Stream;

use crate::http::answer::Status;
use crate::http::head::Link;
use crate::http::request_head::RequestHead;

/// The name of the cookie.
pub const COOKIE: &str = "plimsoll";
/// Where a session begins.
const LOGIN: &[u8] = b"/login";
/// The most sessions; beyond them a new one takes the place of the oldest.
const MOST: usize = 1_000_000;

#[derive(Debug, Clone, Copy)]
struct Session {
    /// What proves that the cookie was given by us.
    secret: u64,
    /// The newest token.
    token: u64,
}

/// All sessions.
#[derive(Debug)]
pub(crate) struct Sessions {
    sessions: Vec<Session>,
    /// How many were ever begun.
    begun: usize,
    draws: Stream,
}

impl Sessions {
    pub(crate) fn new(seed: u64) -> Self {
        let draws = Stream::named(seed, "target.sessions");
        Self { sessions: Vec::new(), begun: 0, draws }
    }

    /// Whether a request may have what it asks for.
    pub(crate) fn admits(&self, asked: &RequestHead) -> bool {
        asked.path == LOGIN || self.session_of(asked).is_some()
    }

    /// The session of a request that has its newest token.
    fn session_of(&self, asked: &RequestHead) -> Option<usize> {
        let cookie = std::str::from_utf8(asked.cookie(COOKIE.as_bytes())?).ok()?;
        let (place, secret) = cookie.split_once('-')?;
        let place = usize::from_str_radix(place, 16).ok()?;
        let session = self.sessions.get(place)?;
        let is_own = secret == format!("{:016x}", session.secret);
        let is_newest = asked.token() == Some(format!("{:016x}", session.token).as_bytes());
        (is_own && is_newest).then_some(place)
    }

    /// The answer to a request, whole: head, and a body of at least so many bytes unless it is of
    /// HEAD. What is admitted gets its next token.
    pub(crate) fn answer(
        &mut self,
        asked: &RequestHead,
        status: Status,
        link: Link,
        is_head: bool,
        size: u64,
    ) -> Vec<u8> {
        let mut headers = String::new();
        let body = if status != Status::Ok {
            "<!doctype html><title>No session</title><p>This path wants the cookie of POST /login \
             and the newest token.\n"
                .to_owned()
        } else if asked.path == LOGIN && !asked.is_post {
            "<!doctype html><title>Log in</title><form method=post action=\"/login\">\
             <input name=user><input type=password name=password><button>Log in</button></form>\n"
                .to_owned()
        } else {
            let place = match asked.path == LOGIN {
                true => self.begin(&mut headers),
                false => self.session_of(asked).unwrap_or_default(),
            };
            let token = self.draws.next_u64();
            self.sessions[place].token = token;
            headers.push_str(&format!("X-Token: {token:016x}\r\n"));
            page(token, size)
        };
        let (line, link) = (status.line(), link.header());
        let length = body.len();
        let mut whole = format!(
            "{line}\r\n{link}Content-Type: text/html; charset=utf-8\r\nCache-Control: no-store\r\n\
             {headers}Content-Length: {length}\r\n\r\n"
        );
        if !is_head {
            whole.push_str(&body);
        }
        whole.into_bytes()
    }

    /// Begins a session, and says by a header how its user is known.
    fn begin(&mut self, headers: &mut String) -> usize {
        let session = Session { secret: self.draws.next_u64(), token: 0 };
        let place = self.begun % MOST;
        self.begun += 1;
        match self.sessions.get_mut(place) {
            Some(oldest) => *oldest = session,
            None => self.sessions.push(session),
        }
        let secret = session.secret;
        headers.push_str(&format!("Set-Cookie: {COOKIE}={place:x}-{secret:016x}; Path=/\r\n"));
        place
    }
}

/// A page with a token, of at least so many bytes.
fn page(token: u64, size: u64) -> String {
    let mut page = format!(
        "<!doctype html><title>A page</title><form method=post action=\"/next\">\
         <input type=hidden name=token value=\"{token:016x}\"><button>Next</button></form>\n"
    );
    let missing = usize::try_from(size).unwrap_or(usize::MAX).saturating_sub(page.len());
    page.extend(std::iter::repeat_n('x', missing));
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(sessions: &mut Sessions, head: &str) -> String {
        let asked = RequestHead::of(head.as_bytes());
        let status = if sessions.admits(&asked) { Status::Ok } else { Status::Forbidden };
        let answer = sessions.answer(&asked, status, Link::Keep, false, 0);
        String::from_utf8(answer).unwrap()
    }

    fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
        let rest = text.split_once(before).unwrap().1;
        rest.split_once(after).unwrap().0
    }

    #[test]
    fn each_answer_gives_the_next_token_and_the_last_one_is_worth_nothing() {
        let mut sessions = Sessions::new(1);
        let login = text(&mut sessions, "POST /login HTTP/1.1\r\n\r\n");
        let cookie = between(&login, "Set-Cookie: ", ";");
        let first = between(&login, "value=\"", "\"");
        assert_eq!(first, between(&login, "X-Token: ", "\r"));
        let ask = |sessions: &mut Sessions, cookie: &str, token: &str| {
            let head = format!("GET /a?token={token} HTTP/1.1\r\nCookie: x=1; {cookie}\r\n\r\n");
            text(sessions, &head)
        };
        let second = ask(&mut sessions, cookie, first);
        assert!(second.starts_with("HTTP/1.1 200 OK\r\n") && !second.contains("Set-Cookie"));
        assert!(ask(&mut sessions, cookie, first).starts_with("HTTP/1.1 403 Forbidden\r\n"));
        let second = between(&second, "value=\"", "\"");
        for (cookie, token) in [("plimsoll=0-0", second), (cookie, ""), ("plimsoll=9-1", second)] {
            assert!(ask(&mut sessions, cookie, token).contains(" 403 "), "{cookie} {token}");
        }
        assert!(ask(&mut sessions, cookie, second).contains(" 200 "), "403 leaves the token");
        // Another user's session is another.
        let other = text(&mut sessions, "POST /login HTTP/1.1\r\n\r\n");
        assert_ne!(cookie, between(&other, "Set-Cookie: ", ";"));
        assert!(text(&mut sessions, "GET /login HTTP/1.1\r\n\r\n").contains("name=password"));
    }

    #[test]
    fn the_oldest_session_gives_way() {
        let mut sessions = Sessions::new(1);
        let login = RequestHead::of(b"POST /login HTTP/1.1\r\n\r\n");
        for _ in 0..=MOST {
            sessions.answer(&login, Status::Ok, Link::Keep, true, 0);
        }
        assert_eq!((sessions.sessions.len(), sessions.begun), (MOST, MOST + 1));
    }
}
