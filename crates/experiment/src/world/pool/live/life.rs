//! How far a live pool is: what is known of its instances, its balancer and its time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use plimsoll_elastic::outcome::Churn;
use plimsoll_elastic::pool::Pool;
use plimsoll_runs::Event;
use plimsoll_runs::event::Class;
use plimsoll_stats::figure::Round;
use plimsoll_testbed::balance::Lost;
use plimsoll_testbed::{Instance as Server, TestbedError};
use plimsoll_units::failure::chain;
use plimsoll_workload::random::Stream;

use super::counting::Part;
use super::patience::{Deaths, Patience};
use super::time::Time;
use crate::world::watch::Gate;

/// The kind of the events that say what becomes of an instance, and how they begin: with its number
/// behind that, and then its state.
pub(crate) const EVENT: &str = "instance";
pub(crate) const NAME: &str = "instance ";

/// What watches the instances that take requests.
pub(super) trait Sees: Send {
    /// Has one watched.
    fn joins(&self, server: &Server);

    /// Has one watched no more.
    fn leaves(&self, server: &Server);
}

impl Sees for Gate {
    fn joins(&self, server: &Server) {
        self.joins(server);
    }

    fn leaves(&self, server: &Server) {
        self.leaves(server);
    }
}

/// How far the pool is.
pub(super) struct Life {
    pub(super) pool: Pool,
    /// The servers of those that are ready, by their numbers in the pool.
    pub(super) servers: BTreeMap<usize, Server>,
    pub(super) time: Arc<dyn Time>,
    /// Where the load begins in that time.
    zero_ns: Option<u64>,
    pub(super) is_over: bool,
    /// When the load ends: what comes after that is no business of the pool's.
    pub(super) until_ns: u64,
    /// What clients counted until then in the second that it is within.
    pub(super) until_end: Option<Part>,
    /// How many threads start and end instances just now, by the servers that they are at.
    pub(super) at_work: BTreeMap<Option<String>, usize>,
    /// What became of instances beside what was decided.
    pub(super) churn: Churn,
    /// How often the balancer was made anew, and whether it is being.
    pub(super) revivals: u64,
    pub(super) is_reviving: bool,
    /// What balancers counted as lost that are gone, and what the present one had counted before.
    pub(super) lost_before: Lost,
    pub(super) lost_from: Lost,
    /// What the present one told last.
    pub(super) lost_last: Lost,
    /// How many instances are wanted, as was decided last.
    wanted: u32,
    /// How many failed, and have nobody in their place.
    pub(super) owed: u64,
    /// Those of somebody else's that are out, and are asked again whether they are well.
    pub(super) resting: BTreeSet<usize>,
    /// Whether so many fail together that none is ended for it, and that is told.
    pub(super) spares: bool,
    /// With who starts instances, and with the balancer where it takes none; and with instances
    /// that are ready and then fail.
    pub(super) patience: Patience,
    pub(super) admission: Patience,
    pub(super) deaths: Deaths,
    /// The end of the names of the figures that the policy goes by, where collectors watch them,
    /// and their sum within the tick, with how many values it is of.
    watched: Option<(String, f64, u32)>,
    /// Where those that take requests are watched.
    gate: Option<Box<dyn Sees>>,
    pub(super) last_fault: Option<TestbedError>,
    /// How many starts the budget had no room for, what was said of the first, and whether it had
    /// none for the last.
    pub(super) beyond_budget: (u64, String),
    pub(super) is_spent: bool,
    /// Why it is not known which instances there are that somebody else starts and ends.
    pub(super) unknown: Option<String>,
    pub(super) boot: Stream,
    pub(super) termination: Stream,
    events: Vec<Event>,
}

/// One that takes requests no more, and the balancer that it had them from.
pub(super) struct Leaver {
    pub(super) number: usize,
    pub(super) server: Server,
    /// How often the balancer had been made anew by then.
    pub(super) revivals: u64,
}

impl Life {
    pub(super) fn new(time: Arc<dyn Time>, seed: u64) -> Self {
        let stream = |name| Stream::named(seed, name);
        Self {
            pool: Pool::default(),
            servers: BTreeMap::new(),
            time,
            zero_ns: None,
            is_over: false,
            until_ns: u64::MAX,
            until_end: None,
            at_work: BTreeMap::new(),
            churn: Churn::default(),
            revivals: 0,
            is_reviving: false,
            lost_before: Lost::default(),
            lost_from: Lost::default(),
            lost_last: Lost::default(),
            wanted: 0,
            owed: 0,
            resting: BTreeSet::new(),
            spares: false,
            patience: Patience::default(),
            admission: Patience::default(),
            deaths: Deaths::default(),
            watched: None,
            gate: None,
            last_fault: None,
            beyond_budget: (0, String::new()),
            is_spent: false,
            unknown: None,
            boot: stream("boot"),
            termination: stream("termination"),
            events: Vec::new(),
        }
    }

    /// Nanoseconds since the load began; 0 before that.
    pub(super) fn now_ns(&self) -> u64 {
        self.zero_ns.map_or(0, |zero_ns| self.time.now().saturating_sub(zero_ns))
    }

    /// The load has begun so long ago, where that is not known yet.
    pub(super) fn begins(&mut self, since_ns: u64) {
        let zero_ns = self.time.now().saturating_sub(since_ns);
        self.zero_ns.get_or_insert(zero_ns);
    }

    /// Whether the load has begun, and the pool is looked at.
    pub(super) fn has_begun(&self) -> bool {
        self.zero_ns.is_some()
    }

    /// Notes what has become of an instance.
    pub(super) fn note(&mut self, number: usize, state: &str) {
        self.note_of(EVENT, &format!("{NAME}{} {state}", number + 1));
    }

    /// Notes what has happened to the pool.
    pub(super) fn note_of(&mut self, kind: &str, text: &str) {
        let (at_ns, kind, text) = (self.now_ns(), kind.to_owned(), text.to_owned());
        self.events.push(Event { at_ns, class: Class::Infrastructure, kind, text });
    }

    /// The servers that take requests.
    pub(super) fn servers(&self) -> Vec<Server> {
        self.servers.values().cloned().collect()
    }

    /// Has those watched that take requests, from now on. Some are already.
    pub(super) fn watched_at(&mut self, gate: Box<dyn Sees>, already: &[Server]) {
        for server in
            already.iter().filter(|of| !self.servers.values().any(|is| is.name == of.name))
        {
            gate.leaves(server);
        }
        for server in
            self.servers.values().filter(|of| !already.iter().any(|is| is.name == of.name))
        {
            gate.joins(server);
        }
        self.gate = Some(gate);
    }

    /// An instance takes requests from now on.
    pub(super) fn takes_in(&mut self, number: usize, server: Server) {
        self.gate.iter().for_each(|gate| gate.joins(&server));
        self.servers.insert(number, server);
    }

    /// An instance takes requests no more. Returns it where it took some.
    pub(super) fn takes_out(&mut self, number: usize) -> Option<Leaver> {
        let server = self.servers.remove(&number)?;
        self.gate.iter().for_each(|gate| gate.leaves(&server));
        Some(Leaver { number, server, revivals: self.revivals })
    }

    /// Whether a thread is at a server of this name.
    pub(super) fn is_at(&self, name: &str) -> bool {
        self.at_work.contains_key(&Some(name.to_owned()))
    }

    /// An instance has ended, where that is not known yet.
    pub(super) fn ends(&mut self, number: usize) {
        let now_ns = self.now_ns();
        if self.pool.instances()[number].ended_ns.is_none() {
            self.pool.end(number, now_ns);
        }
    }

    /// Whether an instance is to take requests, when it can.
    pub(super) fn is_wanted(&self, number: usize) -> bool {
        let of = &self.pool.instances()[number];
        !self.is_over && of.draining_ns.is_none() && of.ended_ns.is_none()
    }

    /// The policy goes by a figure of instances that collectors watch.
    pub(super) fn watches(&mut self, figure: &str) {
        self.watched = Some((format!(".{figure}"), 0.0, 0));
    }

    /// Takes the figures of a period.
    pub(super) fn hears(&mut self, round: &Round) {
        let names: Vec<String> =
            self.servers.values().map(|of| format!("instance.{}", of.name)).collect();
        let Some((end, sum, count)) = &mut self.watched else { return };
        for name in names {
            if let Some(value) = round.figures.get(&format!("{name}{end}")) {
                (*sum, *count) = (*sum + value, *count + 1);
            }
        }
    }

    /// Ends a tick: the mean of what was watched in it; not a number where nothing was.
    pub(super) fn take_watched(&mut self) -> f64 {
        let Some((_, sum, count)) = &mut self.watched else { return f64::NAN };
        let mean = *sum / f64::from(*count);
        (*sum, *count) = (0.0, 0);
        mean
    }

    /// So many instances are wanted from now on. Those that failed are owed only where there is a
    /// place for another.
    pub(super) fn wants(&mut self, wanted: u32) {
        self.wanted = wanted;
        self.owed = self.owed.min(self.lacking());
    }

    /// Whether there are fewer instances than are wanted.
    pub(super) fn lacks(&self) -> bool {
        !self.is_over && self.lacking() > 0
    }

    /// The balancer has told that so much was lost; of an earlier time than was told last, perhaps.
    pub(super) fn has_lost(&mut self, lost: &Lost) {
        self.lost_last = self.lost_last.plus(&lost.less(&self.lost_last));
    }

    /// An instance that was ready has failed. Returns how long it takes until another comes,
    /// nanoseconds.
    pub(super) fn died(&mut self, number: usize) -> u64 {
        let (of, now_ns) = (self.pool.instances()[number], self.now_ns());
        self.owed += 1;
        self.deaths.died((of.launched_ns, of.ready_ns), now_ns)
    }

    /// A start was refused.
    pub(super) fn refused(&mut self, error: &TestbedError) {
        self.is_spent = error.is_of_budget();
        if self.is_spent {
            let (count, first) = &mut self.beyond_budget;
            if *count == 0 {
                *first = chain(error);
            }
            *count += 1;
        }
    }

    /// What is said where the budget had no room for some starts.
    pub(super) fn limited(&self) -> Option<String> {
        let (count, first) = &self.beyond_budget;
        (*count > 0).then(|| {
            format!(
                "its budget limited it: {count} starts of instances were refused for it, first: \
                 {first}"
            )
        })
    }

    /// Whether one more is asked for now, of who starts instances and for the balancer; in the
    /// place of one that has failed it may be later.
    pub(super) fn asks(&mut self, now_ns: u64) -> bool {
        let may_come = self.owed == 0 || self.deaths.may_replace(self.now_ns());
        may_come
            && self.admission.may_ask(now_ns)
            && self.patience.asks(now_ns)
            && self.admission.asks(now_ns)
    }

    fn lacking(&self) -> u64 {
        (self.wanted as usize).saturating_sub(self.pool.wanted().count()) as u64
    }

    /// What has become of instances since the last time.
    pub(super) fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }
}
