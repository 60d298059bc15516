//! Where a request that has been read is decided upon: draws, queue, counts and log.

use crate::burn::Workers;
use crate::clock;
use crate::counters::AtHand;
use crate::draws::Draws;
use crate::error::TargetError;
use crate::http::answer::Status;
use crate::http::head::Link;
use crate::http::request_head::RequestHead;
use crate::log::{Log, Record};
use crate::options::Options;
use crate::queue::{Admission, Queue};
use crate::sessions::Sessions;
use crate::stats::Stats;

/// What becomes of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fate {
    /// When it arrived, on the monotonic clock; 0 where nobody needs to know.
    pub(crate) arrived_ns: u64,
    /// When its answer leaves, on the same clock.
    pub(crate) depart_ns: u64,
    pub(crate) status: Status,
    /// Size of the answer's body.
    pub(crate) body: u64,
    /// What it needs of a worker.
    pub(crate) service_ns: u64,
}

/// Decides upon requests in order of arrival.
#[derive(Debug)]
pub(crate) struct Desk {
    queue: Queue,
    draws: Draws,
    log: Option<Log>,
    sessions: Option<Sessions>,
    /// Time zero: the arrival of the first request.
    origin_ns: Option<u64>,
    /// Nothing is drawn and nothing waits: every request is answered at once with so many bytes.
    at_once: Option<u64>,
    pub(crate) stats: Stats,
}

impl Desk {
    pub(crate) fn new(options: &Options) -> Result<Self, TargetError> {
        let mut queue = Queue::new(options.workers, options.queue_bound);
        if let Some(stall) = options.stall {
            queue = queue.stalling(stall);
        }
        let log = options.log.as_deref().map(Log::create).transpose()?;
        let at_once = options.usual_body().filter(|_| options.is_immediate() && log.is_none());
        let draws = Draws::new(options);
        let sessions = options.sessions.then(|| Sessions::new(options.seed));
        let (origin_ns, stats) = (None, Stats::default());
        Ok(Self { queue, draws, log, sessions, origin_ns, at_once, stats })
    }

    /// A request has been read to its last byte, just now; what it asks for, where that makes a
    /// difference.
    #[inline]
    pub(crate) fn arrive(&mut self, asked: Option<&RequestHead>) -> Result<Fate, TargetError> {
        self.stats.requests += 1;
        if let Some(body) = self.at_once {
            self.stats.succeeded += 1;
            let status = Status::Ok;
            return Ok(Fate { arrived_ns: 0, depart_ns: 0, status, body, service_ns: 0 });
        }
        self.arrive_at(clock::now_ns(), asked)
    }

    fn arrive_at(
        &mut self,
        arrived_ns: u64,
        asked: Option<&RequestHead>,
    ) -> Result<Fate, TargetError> {
        let origin = *self.origin_ns.get_or_insert(arrived_ns);
        let at = arrived_ns - origin;
        let draw = self.draws.next_of(at, asked.map(|asked| &*asked.path));
        let (depart, status) = match self.queue.arrive(at, draw.service_ns) {
            Admission::Refused => (at, Status::Unavailable),
            Admission::Served(times) if draw.is_error => (times.depart_ns, Status::InternalError),
            Admission::Served(times) => (times.depart_ns, self.status_of(asked)),
        };
        self.count(status, asked);
        let service_ns = draw.service_ns;
        self.record(at, service_ns, depart, status)?;
        let body = if status == Status::Ok { draw.body } else { 0 };
        let depart_ns = origin.saturating_add(depart);
        Ok(Fate { arrived_ns, depart_ns, status, body, service_ns })
    }

    /// As [`Self::arrive`] where the work is really done: when it departs is not known yet.
    pub(crate) fn arrive_to_burn(&mut self, is_full: bool, asked: Option<&RequestHead>) -> Fate {
        self.stats.requests += 1;
        let arrived_ns = clock::now_ns();
        let origin = *self.origin_ns.get_or_insert(arrived_ns);
        let path = asked.map(|asked| &*asked.path);
        let draw = self.draws.next_of(arrived_ns - origin, path);
        let status = match (is_full, draw.is_error) {
            (true, _) => Status::Unavailable,
            (false, true) => Status::InternalError,
            (false, false) => self.status_of(asked),
        };
        self.count(status, asked);
        let depart_ns = if is_full { arrived_ns } else { u64::MAX };
        let body = if status == Status::Ok { draw.body } else { 0 };
        Fate { arrived_ns, depart_ns, status, body, service_ns: draw.service_ns }
    }

    /// Logs a request whose work was really done, or which was refused.
    pub(crate) fn burnt(&mut self, fate: &Fate, depart_ns: u64) -> Result<(), TargetError> {
        let origin = self.origin_ns.unwrap_or(fate.arrived_ns);
        let (arrival, depart) = (fate.arrived_ns - origin, depart_ns - origin);
        self.record(arrival, fate.service_ns, depart, fate.status)
    }

    /// The status of a request that is served.
    fn status_of(&self, asked: Option<&RequestHead>) -> Status {
        let is_refused = |sessions: &Sessions| asked.is_none_or(|asked| !sessions.admits(asked));
        match self.sessions.as_ref().is_some_and(is_refused) {
            true => Status::Forbidden,
            false => Status::Ok,
        }
    }

    /// The whole answer to a request, where it is made for it: that of a user with a session, if
    /// no error was drawn and the queue was not full.
    pub(crate) fn page(
        &mut self,
        asked: Option<&RequestHead>,
        fate: &Fate,
        link: Link,
        is_head: bool,
    ) -> Option<Vec<u8>> {
        let (sessions, asked) = (self.sessions.as_mut()?, asked?);
        let is_served = matches!(fate.status, Status::Ok | Status::Forbidden);
        is_served.then(|| sessions.answer(asked, fate.status, link, is_head, fate.body))
    }

    fn count(&mut self, status: Status, asked: Option<&RequestHead>) {
        if let Some(asked) = asked {
            self.stats.by_path.count(&asked.path, status);
        }
        match status {
            Status::Forbidden => self.stats.forbidden += 1,
            Status::InternalError => self.stats.errors += 1,
            Status::Unavailable => self.stats.refused += 1,
            _ => self.stats.succeeded += 1,
        }
    }

    fn record(
        &mut self,
        arrival_ns: u64,
        service_ns: u64,
        depart_ns: u64,
        status: Status,
    ) -> Result<(), TargetError> {
        let Some(log) = &mut self.log else { return Ok(()) };
        log.write(&Record { arrival_ns, service_ns, depart_ns, status: status.code() })
    }

    /// What there is to do now, and what has been done: by the queue, or by workers that really
    /// work.
    pub(crate) fn at_hand(&mut self, workers: Option<&Workers>) -> AtHand {
        if let Some(workers) = workers {
            return workers.at_hand();
        }
        let Some(origin) = self.origin_ns else { return AtHand::default() };
        let at = clock::now_ns() - origin;
        let (in_work, waiting) = self.queue.at_hand(at);
        AtHand { in_work, waiting, worked_ns: self.queue.worked_ns(at) }
    }

    /// Hands what is logged to the system.
    pub(crate) fn flush(&mut self) -> Result<(), TargetError> {
        self.log.as_mut().map_or(Ok(()), Log::flush)
    }

    /// The figures at the end; `burnt_ns` is what really working workers have used.
    pub(crate) fn finish(mut self, workers: u32, burnt: Option<u64>) -> Result<Stats, TargetError> {
        self.flush()?;
        if let Some(origin) = self.origin_ns {
            let lasted = clock::now_ns() - origin;
            let worked = burnt.map_or_else(|| self.queue.worked_ns(lasted), u128::from);
            let could = u128::from(lasted.max(1)) * u128::from(workers);
            self.stats.worker_busy_share = worked as f64 / could as f64;
        }
        self.stats.peak_in_system = self.stats.peak_in_system.max(self.queue.peak());
        Ok(self.stats)
    }
}
