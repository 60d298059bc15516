//! `--web`: the report of what goes on, for a browser on this host.

use super::report;
use crate::interrupt::Interrupts;
use crate::terminal::error::{Context, Result, UsageError, read};
use crate::terminal::live::clock;
use crate::terminal::say;
use crate::terminal::table::us;
use crate::web_args::Web as Args;
use plimsoll_experiment::control::News;
use plimsoll_net::http::respond::{Bounds, Request, Server, Serving};
use plimsoll_report::live::Live;
use plimsoll_runs::{ErrorKind, Interval, Tag};
use plimsoll_stats::percentiles::is_stated;
use plimsoll_units::{ParseError, show_count, show_rate};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What browsers may ask: each has a stream of events open all the while.
const BOUNDS: Bounds =
    Bounds { connections: 32, head_bytes: 8192, request: Duration::from_secs(10) };
/// How often the program looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);

/// The page, and what serves it.
pub(crate) struct Web {
    live: Arc<Live>,
    /// Dropped after the end was told.
    server: Option<Server>,
    stays: bool,
    /// How long the load takes that goes on, nanoseconds, and the warm-up within it; 0 where that
    /// is not known.
    total_ns: AtomicU64,
    warmup_ns: AtomicU64,
    /// The folder of the experiment whose cells are shown as they are done, in the place of the run
    /// that goes on, and how many are.
    cells: Option<(PathBuf, AtomicU64)>,
}

impl Web {
    /// Serves the page of a run of that id, where the command line asks for it.
    pub(crate) fn start(args: &Args, (id, name): (&str, &str)) -> Result<Option<Self>> {
        let Some(text) = &args.web else { return Ok(None) };
        let address = read("--web", text, address)?;
        if !address.ip().is_loopback() {
            let text = format!(
                "serve the page on {address}: it is for browsers on this host only; take a \
                 loopback address, and come from elsewhere by ssh -L"
            );
            return Err(UsageError(text).into());
        }
        let live = Arc::new(Live::new(id, if name.is_empty() { id } else { name }));
        let served = Arc::clone(&live);
        let answer = move |request: &Request<'_>| Live::respond(&served, request);
        let serving = Serving { bounds: BOUNDS, is_slow: true, ..Serving::default() };
        let server = TcpListener::bind(address)
            .and_then(|it| Server::start_with(it, "web", serving, answer))
            .with_context(|| format!("serve the page at {address}; choose another --web"))?;
        say(&format!("live page: http://{}/", server.address()));
        let (total_ns, warmup_ns) = (AtomicU64::new(0), AtomicU64::new(0));
        let (server, stays) = (Some(server), args.web_stay);
        Ok(Some(Self { live, server, stays, total_ns, warmup_ns, cells: None }))
    }

    /// The same of an experiment in that folder, of simulated cells: they go on side by side, and
    /// each is shown when it is done.
    pub(crate) fn of_cells(mut self, folder: PathBuf) -> Self {
        self.cells = Some((folder, AtomicU64::new(0)));
        self
    }

    /// Takes what is told.
    pub(crate) fn hear(&self, news: &News<'_>) {
        match news {
            News::Length(total_ns, warmup_ns) => {
                self.total_ns.store(*total_ns, Ordering::Relaxed);
                self.warmup_ns.store(*warmup_ns, Ordering::Relaxed);
            }
            News::Writes(folder) => self.live.begins(folder),
            News::Second(second, true) => self.live.second(self.line(second)),
            News::Done(..) => self.cells.iter().for_each(|(folder, done)| {
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                let cells = if done == 1 { "cell" } else { "cells" };
                self.live.cell(folder, || format!("{} {cells} done.", show_count(done)));
            }),
            _ => {}
        }
    }

    /// Shows the report of what has ended, and keeps it where `plimsoll report` would.
    pub(crate) fn finish(self, path: &Path, interrupts: &Interrupts) -> Result<()> {
        let (page, place) = (report::page(path)?, report::place(path));
        self.live.ends(Some(&page));
        report::keep(&page, (&place, report::WEB))?;
        say(&format!("report: {}", place.display()));
        if self.stays {
            say("the report is served on: interrupt (Ctrl-C) to end");
            let before = interrupts.count();
            while interrupts.count() == before {
                std::thread::park_timeout(LOOK);
            }
        }
        Ok(())
    }

    /// How the run stands, by its last second.
    fn line(&self, second: &Interval) -> String {
        let (total_ns, warmup_ns) =
            (self.total_ns.load(Ordering::Relaxed), self.warmup_ns.load(Ordering::Relaxed));
        let seconds = (second.len_ns as f64 / 1e9).max(1e-3);
        let response = second.all_phases(Tag::Response);
        let at = |q: f64| {
            let value = response.value_at_quantile(q).filter(|_| is_stated(q, response.count()));
            value.map_or_else(|| "–".to_owned(), |ns| us(ns as f64 / 1e3))
        };
        let failed: u64 = ErrorKind::ALL.iter().map(|kind| second.events.errors_of(*kind)).sum();
        let now_ns = second.start_ns + second.len_ns;
        format!(
            "{}. Last second: {} offered, {} completed, {} failed; response p50 {}, p99 {}; \
             {} in flight, {} waiting.",
            clock(now_ns, (total_ns, warmup_ns)),
            show_rate(second.events.offered as f64 / seconds),
            show_rate(second.events.completed as f64 / seconds),
            show_count(failed),
            at(0.5),
            at(0.99),
            show_count(second.in_flight),
            show_count(second.waiting),
        )
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.live.ends(None);
        drop(self.server.take());
    }
}

/// Where the page is served; a port alone is one of the loopback address.
fn address(text: &str) -> Result<SocketAddr, ParseError> {
    super::agent::address(text).map_err(|_| {
        let wanted = "a port or a loopback address such as 127.0.0.1:8089 (a target or plan stands \
                      before --web)";
        ParseError::new(wanted, text, 0, text.len())
    })
}
