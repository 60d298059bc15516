//! The page of what goes on: the report of the run so far, for a browser on this host.
//!
//! | asked for | answered |
//! | --- | --- |
//! | `/` | the page |
//! | `/events/VERSION` | what has changed since that version of it, as events (`text/event-stream`), until the end |
//!
//! # What it costs
//!
//! The page is drawn where somebody looks at it, and nowhere else: after a second of the run was
//! written, or a cell of an experiment was done, at most once a second, and so seldom that drawing
//! takes at most 2% of a core. The thread that draws gives way to those of the load.
//!
//! # Who may ask
//!
//! Whoever names the loopback of this host ([`is_for_loopback`]): it is for the caller to listen
//! nowhere else. A page of another site cannot read it, whatever name it has for this host.

mod page;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plimsoll_analysis::analyse;
use plimsoll_load::clock::{Clock, thread_cpu_ns};
use plimsoll_net::http::access::is_for_loopback;
use plimsoll_net::http::respond::{Answer, Body, Parts, Request};
use plimsoll_runs::experiment::{Experiment, place};
use plimsoll_runs::{Run, RunError};
use plimsoll_units::failure::chain;

use crate::document::nothing;
use crate::guarded::{HTML, OF_FILES, OF_LIVE_PAGES, OF_PAGES, guarded, refused};
use crate::{Document, ReportError, Source, document};
use page::{Page, event};

/// The page is drawn at most once in such a time.
const PERIOD_NS: u64 = 1_000_000_000;
/// Drawing takes at most one part in so many of the time of a core.
const ONE_PART_IN: u64 = 50;
/// How often at most browsers are told that further cells are done, nanoseconds.
const CELLS_NS: u64 = 200_000_000;
/// How long a stream of events waits for news before it looks whether its client is still there.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long the end waits until every stream was told of it.
const LINGER: Duration = Duration::from_secs(2);
/// How nice the threads are that draw: they get about a tenth of what one of the load gets where
/// both want a core.
const NICE: i32 = 10;

/// What a stream says where there is no news: a comment.
const NO_NEWS: &[u8] = b":\n\n";
/// What a page says once it is over: that of a report, and one that never became one.
const REPORT: &str = "This is the report.";
const HAS_ENDED: &str = "There is no report: the program says why.";

/// The page of what goes on, which threads share.
pub struct Live {
    /// What versions of this page are called after, so that a browser that still has the page of an
    /// earlier run is told of all of this one.
    session: String,
    clock: Clock,
    state: Mutex<State>,
    /// Told of whatever a stream waits for.
    news: Condvar,
}

struct State {
    page: Arc<Page>,
    /// The folder of the run or experiment that goes on; `None` before one does.
    folder: Option<PathBuf>,
    /// When it may be told next that further cells are done, nanoseconds of the clock.
    cells_ns: u64,
    /// Whether something was written since the page was drawn.
    is_behind: bool,
    /// Whether a thread draws it.
    is_drawn: bool,
    /// From when on it may be drawn again, nanoseconds of the clock.
    due_ns: u64,
    /// How the run stands, in a line.
    now: String,
    is_over: bool,
    streams: usize,
}

impl Live {
    /// A page on which a load is about to begin. `session` tells it from pages of other times.
    #[must_use]
    pub fn new(session: &str, name: &str) -> Self {
        let begins = "It has not begun yet.";
        let first = Document {
            title: name.to_owned(),
            head: vec![nothing(begins)],
            sections: Vec::new(),
            is_several: false,
        };
        let state = State {
            page: Arc::new(Page::first(first.parts())),
            folder: None,
            cells_ns: 0,
            is_behind: false,
            is_drawn: false,
            due_ns: 0,
            now: begins.to_owned(),
            is_over: false,
            streams: 0,
        };
        let (clock, session) = (Clock::start(), session.to_owned());
        Self { session, clock, state: Mutex::new(state), news: Condvar::new() }
    }

    /// A run begins that is written to a folder.
    pub fn begins(&self, folder: &Path) {
        let mut state = self.state();
        (state.folder, state.is_behind, state.due_ns) = (Some(folder.to_owned()), true, 0);
        self.news.notify_all();
    }

    /// How the run stands, in a line: a second more of it is written.
    pub fn second(&self, now: String) {
        let mut state = self.state();
        (state.now, state.is_behind) = (now, true);
        self.news.notify_all();
    }

    /// Another cell is done of the experiment that is written to a folder; `now` says in a line how
    /// it stands.
    pub fn cell(&self, folder: &Path, now: impl FnOnce() -> String) {
        let at_ns = self.clock.now();
        let mut state = self.state();
        state.is_behind = true;
        // There may be thousands in a second.
        if at_ns < state.cells_ns {
            return;
        }
        (state.cells_ns, state.now) = (at_ns + CELLS_NS, now());
        state.folder = Some(folder.to_owned());
        self.news.notify_all();
    }

    /// All is over, and this is the report; without one the page stays as it is. Waits a moment
    /// until whoever looks was told.
    pub fn ends(&self, report: Option<&Document>) {
        let mut state = self.state();
        if let Some(report) = report {
            state.page = Arc::new(state.page.next(report.parts()));
            REPORT.clone_into(&mut state.now);
        } else if !state.is_over {
            HAS_ENDED.clone_into(&mut state.now);
        }
        (state.folder, state.is_over) = (None, true);
        self.news.notify_all();
        let told = self.news.wait_timeout_while(state, LINGER, |state| state.streams > 0);
        drop(told);
    }

    /// Answers a request. It may take as long as the page takes to be drawn; `this` is what events
    /// are taken from later.
    pub fn respond(this: &Arc<Self>, request: &Request<'_>) -> Answer {
        if !is_for_loopback(request) {
            return refused(
                421,
                "the header Host names no loopback address: this page is for this \
                                 host only",
            );
        }
        if !["GET", "HEAD"].contains(&request.method) {
            return refused(405, "only GET and HEAD are answered").with("allow", "GET, HEAD");
        }
        match request.path.strip_prefix("/events/") {
            Some(version) => {
                // Who was cut off says what it had.
                let had = request.header("last-event-id").unwrap_or(version);
                this.stream(had)
            }
            None if request.path == "/" => this.page(),
            None => refused(404, "there is nothing here but / and its events"),
        }
    }

    fn page(&self) -> Answer {
        self.draw_where_due();
        let (page, now, is_over) = {
            let state = self.state();
            (Arc::clone(&state.page), state.now.clone(), state.is_over)
        };
        if is_over {
            return guarded(Answer::new(200, HTML, page.report()), OF_PAGES);
        }
        let events = format!("events/{}", self.version(page.version));
        guarded(Answer::new(200, HTML, page.live(&events, &now)), OF_LIVE_PAGES)
    }

    fn stream(self: &Arc<Self>, had: &str) -> Answer {
        let seen = had.strip_prefix(&self.session).and_then(|rest| rest.strip_prefix('-'));
        let seen = seen.and_then(|version| version.parse().ok()).unwrap_or(0);
        self.state().streams += 1;
        let mut stream =
            Stream { live: Arc::clone(self), seen, now: String::new(), has_ended: false };
        let mut answer = guarded(Answer::new(200, "text/event-stream", ""), OF_FILES);
        answer.body = Body::Parts(Parts::new(move || stream.next()));
        answer
    }

    /// What a version of this page is called.
    fn version(&self, version: u64) -> String {
        format!("{}-{version}", self.session)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Draws the page, where there is something new and it may be drawn.
    fn draw_where_due(&self) {
        let (folder, before) = {
            let mut state = self.state();
            let is_due = state.is_behind && !state.is_drawn && self.clock.now() >= state.due_ns;
            let Some(folder) = state.folder.clone().filter(|_| is_due) else { return };
            (state.is_behind, state.is_drawn) = (false, true);
            (folder, Arc::clone(&state.page))
        };
        // Where it is refused, it is drawn all the same.
        let _ = rustix::process::setpriority_process(None, NICE);
        let (began_ns, cpu_ns) = (self.clock.now(), thread_cpu_ns());
        let drawn = so_far(&folder);
        let next = drawn.map(|drawn| Arc::new(before.next(drawn.parts())));
        let cost_ns = thread_cpu_ns().saturating_sub(cpu_ns);
        let mut state = self.state();
        state.is_drawn = false;
        state.due_ns = began_ns + PERIOD_NS.max(cost_ns.saturating_mul(ONE_PART_IN));
        // Its report may have come meanwhile, or another run.
        if let Some(next) = next.filter(|_| state.folder.as_ref() == Some(&folder)) {
            state.page = next;
        }
        self.news.notify_all();
    }
}

/// The report of a run or an experiment so far; `None` before it has one.
fn so_far(folder: &Path) -> Option<Document> {
    let drawn = match place(folder) {
        Some(_) => of_cells(folder),
        None => Run::open_going_on(folder)
            .map_err(ReportError::within(&folder.display().to_string()))
            .and_then(|run| document(Source::Runs(&[run]), None).map(Some)),
    };
    match drawn {
        Ok(document) => document,
        Err(ReportError::Run { source, .. }) if matches!(*source, RunError::NotARun { .. }) => None,
        Err(error) => Some(Document {
            title: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            head: vec![nothing(format!("The run cannot be shown: {}.", chain(&error)))],
            sections: Vec::new(),
            is_several: false,
        }),
    }
}

/// The report of an experiment by the cells that are done; `None` before one is.
fn of_cells(folder: &Path) -> Result<Option<Document>, ReportError> {
    let id = folder.display().to_string();
    let failed = ReportError::within(&id);
    let experiment = Experiment::open(folder).map_err(&failed)?;
    if experiment.progress().map_err(&failed)?.done == 0 {
        return Ok(None);
    }
    let analysis = analyse(&experiment).map_err(&failed)?;
    document(Source::Experiment(&experiment, &analysis), None).map(Some)
}

/// The events of one browser.
struct Stream {
    live: Arc<Live>,
    /// The version of the page that it has.
    seen: u64,
    /// The line that it shows.
    now: String,
    has_ended: bool,
}

impl Stream {
    /// What is to be told next; a comment where there is no news for a while, and `None` after the
    /// end.
    fn next(&mut self) -> Option<Vec<u8>> {
        if self.has_ended {
            return None;
        }
        self.live.draw_where_due();
        if let Some(news) = self.news() {
            return Some(news.into_bytes());
        }
        let state = self.live.state();
        let has_none = |state: &mut State| {
            state.page.version == self.seen && state.now == self.now && !state.is_over
        };
        drop(self.live.news.wait_timeout_while(state, PATIENCE, has_none));
        self.live.draw_where_due();
        Some(self.news().map_or_else(|| NO_NEWS.to_vec(), String::into_bytes))
    }

    fn news(&mut self) -> Option<String> {
        let (page, now, is_over) = {
            let state = self.live.state();
            (Arc::clone(&state.page), state.now.clone(), state.is_over)
        };
        let mut out = String::new();
        if page.version != self.seen {
            out.push_str(&page.since(self.seen, &self.live.version(page.version)));
            self.seen = page.version;
        }
        if is_over {
            event(&mut out, "end", &[&now]);
            self.has_ended = true;
        } else if now != self.now {
            event(&mut out, "now", &[&now]);
        }
        self.now = now;
        (!out.is_empty()).then_some(out)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.live.state().streams -= 1;
        self.live.news.notify_all();
    }
}
