//! What a user makes of an answer: cookies, redirects, checks, and what is taken.

use super::{Awaited, User};
use crate::request::Url;
use crate::scenario::Scenario;
use crate::scenario::check::shown;
use crate::scenario::message::Page;
use crate::scenario::outcome::{Came, Failure, FailureKind, Now, Received};
use crate::scenario::reference::{resolve, stripped};
use crate::scenario::step::{Ask, Taking};
use crate::scenario::take::Answer;
use crate::scenario::text::Held;
use crate::scenario::unpack::unpack;

impl User {
    /// Takes an answer that was whole at `now`, after a response time of `response_ns`. `room` is
    /// where it is unpacked.
    pub fn answered(
        &mut self,
        scenario: &Scenario,
        received: &Received<'_>,
        response_ns: u64,
        now: Now,
        room: &mut Vec<u8>,
    ) -> Came {
        self.due_ns = now.ns;
        let Some((asked, ask)) =
            self.asked.and_then(|asked| Some((asked, scenario.ask(asked.op)?)))
        else {
            return Came::Passed;
        };
        let Some(origin) = scenario.origins.get(usize::from(self.message.origin)) else {
            return Came::Passed;
        };
        self.keep_cookies(received, origin, now);
        let came = match self.redirected(scenario, asked, ask, received) {
            Ok(true) => return Came::Redirected,
            Ok(false) => self.looked_at(scenario, ask, received, response_ns, (now, room)),
            Err(failure) => Err(failure),
        };
        self.asked = None;
        self.has_taken(response_ns);
        match came {
            Ok(()) => {
                if ask.upgrade.is_some() {
                    self.keep(asked.op);
                }
                Came::Passed
            }
            Err(failure) => {
                self.has_failed(ask.on_failure);
                Came::Failed(failure)
            }
        }
    }

    /// Puts the cookies of an answer to his message into his jar.
    pub(super) fn keep_cookies(&mut self, received: &Received<'_>, origin: &Url, now: Now) {
        for cookie in received.headers.all("set-cookie") {
            // One that is refused is not kept, and no failure: so do browsers.
            let _ = self.jar.set(cookie, &origin.host, &self.message.target, now.unix_s());
        }
    }

    /// Whether the answer is a redirect that is followed, which is pending then.
    fn redirected(
        &mut self,
        scenario: &Scenario,
        asked: Awaited,
        ask: &Ask,
        received: &Received<'_>,
    ) -> Result<bool, Failure> {
        let is_redirect = matches!(received.status, 301 | 302 | 303 | 307 | 308);
        if ask.follow == 0 || !is_redirect {
            return Ok(false);
        }
        let wrong = |what: String| Failure { kind: FailureKind::Redirect, what };
        let Some(location) = received.headers.all("location").next() else {
            return Err(wrong(format!("expected a location beside status {}", received.status)));
        };
        if asked.redirects >= ask.follow {
            return Err(wrong(format!("expected at most {} redirects, found more", ask.follow)));
        }
        let base = &scenario.origins[usize::from(self.message.origin)];
        let base = Url { target: self.message.target.clone(), ..base.clone() };
        let url =
            resolve(&base, location).map_err(|error| wrong(format!("a redirect: {error}")))?;
        let is_here = base.unix.is_some() && url.unix == base.unix;
        let origin = if is_here { Some(self.message.origin) } else { scenario.origin_of(&url) };
        let Some(origin) = origin else {
            let to = shown(url.authority().as_bytes());
            return Err(wrong(format!("expected a redirect to one of `hosts`, found {to}")));
        };
        self.message.redirect(received.status, origin, url);
        self.asked = Some(Awaited { redirects: asked.redirects + 1, is_pending: true, ..asked });
        Ok(true)
    }

    /// Checks an answer, and takes from it what is to be taken.
    pub(super) fn looked_at(
        &mut self,
        scenario: &Scenario,
        ask: &Ask,
        received: &Received<'_>,
        response_ns: u64,
        (now, room): (Now, &mut Vec<u8>),
    ) -> Result<(), Failure> {
        let take = |what| Failure { kind: FailureKind::Take, what };
        let packed = received.headers.all("content-encoding").next().unwrap_or(b"");
        let keep = usize::try_from(ask.keep).unwrap_or(usize::MAX);
        let body = match ask.needs_body() {
            true if received.is_whole => unpack(packed, received.body, keep, room)
                .map_err(|error| take(plimsoll_units::failure::chain(&error))),
            true => Err(take(format!("expected an answer of at most {keep} bytes, found more"))),
            false => Ok(&[][..]),
        };
        let origin = &scenario.origins[usize::from(self.message.origin)];
        let page = Url { target: self.message.target.clone(), ..origin.clone() };
        let url = page.to_string();
        let jar = std::mem::take(&mut self.jar);
        let searched = *body.as_ref().unwrap_or(&&[][..]);
        let answer = Answer::new(received.status, received.headers, searched, &url)
            .with_jar(&jar, now.unix_s());
        let mut values = self.values(scenario, now);
        // What is not searched fails no check of its status.
        let checked = match &body {
            Ok(_) => ask.checks.hold(&answer, response_ns, &mut values),
            Err(_) => ask.checks.head_holds(&answer, response_ns, &mut values),
        };
        let came = checked
            .map_err(|what| Failure {
                kind: FailureKind::Check,
                what: what + followed(ask, &answer),
            })
            .and_then(|()| body.map(drop))
            .and_then(|()| self.take(scenario, &ask.takes, &answer, Some(&page)));
        self.jar = jar;
        came
    }

    /// Takes what is to be taken from an answer: of a page with its URL, of a message without one.
    pub(super) fn take(
        &mut self,
        scenario: &Scenario,
        takes: &[Taking],
        answer: &Answer<'_>,
        page: Option<&Url>,
    ) -> Result<(), Failure> {
        for taking in takes {
            let mut draws = self.draws(scenario);
            let draw = |count: usize| {
                usize::try_from(draws.stream(taking.place).below(count as u64)).unwrap_or(0)
            };
            let Some(found) = taking.take.find(answer, draw) else {
                let name = scenario.variable(taking.variable);
                let found = taking.take.fault(answer).unwrap_or_else(|| "nothing".to_owned());
                let what = format!("expected something to take for `{name}`, found {found}");
                return Err(Failure { kind: FailureKind::Take, what });
            };
            let is_link = scenario.links.contains(&taking.variable);
            // Blanks around an address of a page are none of it.
            let found = match found {
                Held::Text(text) if is_link => {
                    Held::Text(String::from_utf8_lossy(&stripped(text.as_bytes())).into())
                }
                found => found,
            };
            self.variables[usize::from(taking.variable)] = found;
            if is_link {
                self.pages.retain(|(of, _)| *of != taking.variable);
                let url = page.map(|page| base_of(page, taking, answer));
                let page = url.map(|url| Page { origin: self.message.origin, url });
                self.pages.extend(page.map(|page| (taking.variable, page)));
            }
        }
        Ok(())
    }
}

/// Where the links of a page are told from: its URL, or what it says of that (WHATWG HTML, 4.2.3).
/// Of what is taken as no attribute of an element, its URL.
fn base_of(page: &Url, taking: &Taking, answer: &Answer<'_>) -> Url {
    let said = if taking.take.is_attribute() { answer.base() } else { None };
    let base = said.and_then(|base| resolve(page, base.as_bytes()).ok());
    base.unwrap_or_else(|| page.clone())
}

/// What makes a step follow the redirect that it took for its answer, where it follows none.
fn followed(ask: &Ask, answer: &Answer<'_>) -> &'static str {
    let is_redirect = matches!(answer.status, 301 | 302 | 303 | 307 | 308);
    match is_redirect && ask.follow == 0 && ask.upgrade.is_none() {
        true => "; follow = 5 in this step, or at the top of the scenario, follows it",
        false => "",
    }
}
