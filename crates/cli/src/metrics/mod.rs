//! Live figures of a load for whoever watches: at a port for Prometheus (`--prometheus`), and
//! pushed by OTLP (`--otlp`).

mod clauses;
mod families;
mod inferred;
mod otlp;
mod push;
mod receiver;
mod state;
mod times;

use self::push::Push;
use self::state::State;
use crate::place::unix_ns;
use crate::terminal::error::{Context, Result};
use crate::terminal::say;
use plimsoll_capacity::infer::result::StretchResult;
use plimsoll_net::http::access::is_for_this_host;
use plimsoll_net::http::respond::{Answer, Bounds, Request, Server};
use plimsoll_net::prometheus::CONTENT_TYPE;
use plimsoll_runs::{Interval, Names};
use plimsoll_stats::Slo;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub(crate) use self::receiver::Receiver;

/// How long the port goes on answering after the last run, unless its last second was scraped.
const LINGER: Duration = Duration::from_secs(2);

/// What is said where a page of a browser asks under a name of its own.
const ELSEWHERE: &[u8] = b"the header Host names no address of this host\n";
const TEXT: &str = "text/plain; charset=utf-8";

/// Tells what has been added so far.
#[derive(Clone)]
pub(crate) struct Metrics {
    figures: Arc<Figures>,
    server: Option<Arc<Server>>,
    pushed: Option<Arc<Pushed>>,
}

/// What is told.
struct Figures {
    state: Mutex<State>,
    /// Told of each scrape.
    scraped: Condvar,
    /// When the figures began, nanoseconds since 1970.
    from_ns: u64,
}

/// To whom figures are pushed.
struct Pushed {
    push: Push,
    /// The receiver, without what may be secret.
    to: String,
    /// Whose figures they are.
    resource: Vec<(String, String)>,
}

impl Metrics {
    /// Figures that are told to nobody yet, also of what must hold.
    pub(crate) fn new(slo: Option<Slo>) -> Self {
        let (state, scraped) = (Mutex::new(State::new(slo)), Condvar::new());
        let figures = Arc::new(Figures { state, scraped, from_ns: unix_ns() });
        Self { figures, server: None, pushed: None }
    }

    /// Serves them at an address, from a thread of its own, until [`Metrics::finish`].
    pub(crate) fn serve(&mut self, address: SocketAddr) -> Result<()> {
        let served = Arc::clone(&self.figures);
        // Who asks from elsewhere may know this host by any name.
        let is_local = address.ip().is_loopback();
        let answer = move |request: &Request<'_>| match is_local && !is_for_this_host(request, None)
        {
            true => Answer::new(421, TEXT, ELSEWHERE.to_vec()),
            false => served.answer(request),
        };
        let server = TcpListener::bind(address)
            .and_then(|it| Server::start(it, "prometheus", Bounds::default(), answer))
            .with_context(|| format!("serve figures at {address}; choose another --prometheus"))?;
        self.server = Some(Arc::new(server));
        Ok(())
    }

    /// Pushes them to a receiver, each second, from a thread of its own.
    pub(crate) fn push(
        &mut self,
        receiver: Receiver,
        resource: Vec<(String, String)>,
    ) -> Result<()> {
        let to = receiver.to_string();
        let push = Push::start(receiver)?;
        self.pushed = Some(Arc::new(Pushed { push, to, resource }));
        Ok(())
    }

    /// Takes what requests are called from now on.
    pub(crate) fn names(&self, names: &Names) {
        self.figures.lock().take_names(names, unix_ns());
    }

    /// Takes what is told of the load of others.
    pub(crate) fn inferred(&self, stretch: &StretchResult) {
        let mut state = self.figures.lock();
        state.inferred.take(stretch);
        state.is_scraped = false;
    }

    /// Adds a second of a run. Returns what a person should hear.
    pub(crate) fn add(&self, second: &Interval) -> Option<String> {
        let mut state = self.figures.lock();
        state.add(second);
        let Pushed { push, to, resource } = self.pushed.as_deref()?;
        state.pushed = Some(push.tally());
        let span = otlp::Span { from_ns: self.figures.from_ns, until_ns: unix_ns() };
        let body = otlp::encode(&state.families(), resource, span);
        drop(state);
        push.add(body.to_string().into_bytes());
        push.note().map(|note| format!("note: --otlp: {to}: {note}"))
    }

    /// Ends, once the last second was scraped or [`LINGER`] is over, and what waits has been pushed
    /// or given up.
    pub(crate) fn finish(self) {
        if let Some(Pushed { push, to, .. }) = self.pushed.as_deref() {
            push.finish().told(to).iter().for_each(|text| say(text));
        }
        if let Some(server) = self.server {
            let state = self.figures.lock();
            let waited =
                self.figures.scraped.wait_timeout_while(state, LINGER, |state| !state.is_scraped);
            drop(waited);
            // Its last owner ends it, after the answers that are under way.
            drop(server);
        }
    }
}

impl Figures {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, request: &Request<'_>) -> Answer {
        let is_read = matches!(request.method, "GET" | "HEAD");
        if !is_read || !matches!(request.path, "/metrics" | "/") {
            return Answer::new(404, CONTENT_TYPE, Vec::new());
        }
        let mut state = self.lock();
        let body = families::text(&state.families());
        state.is_scraped |= request.method == "GET";
        self.scraped.notify_all();
        Answer::new(200, CONTENT_TYPE, body)
    }
}
