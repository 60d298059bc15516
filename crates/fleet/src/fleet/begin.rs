//! From nothing to a load that has begun.

use super::{Fleet, Load, Terms};
use crate::clock::{EXCHANGES, Moved, Offset};
use crate::crew::{Care, Crew, Progress};
use crate::error::FleetError;
use crate::gather::Gather;
use crate::message::{Answer, Order};
use crate::silence::Silence;
use plimsoll_load::clock::{Clock, monotonic_ns};

/// The load begins so long after all are ready, at least.
const AHEAD_NS: u64 = 1_000_000_000;

impl Fleet {
    /// Starts workers, waits until all are ready, and has them begin at one moment, a second ahead
    /// or more. Whether it is interrupted is asked several times a second.
    ///
    /// # Errors
    /// [`FleetError`]: nothing was sent.
    pub fn start(
        terms: Terms<'_>,
        mut interrupted: impl FnMut() -> bool,
    ) -> Result<Self, FleetError> {
        let Terms { workers, inputs, version, system, lost_after_ns, .. } = terms;
        let (version, system) = (version.to_owned(), system.to_owned());
        let care = Care { inputs, version, system, lost_after_ns, may_come_back: false };
        let jobs = workers.into_iter().map(|(start, job)| (start, Order::Job(Box::new(job))));
        let mut crew = Crew::new(care, jobs);
        let mut loads: Vec<Load> = (0..crew.len()).map(|_| Load::default()).collect();
        crew.come(&mut interrupted)?;
        for exchanges in 1..=EXCHANGES {
            crew.ask_time();
            crew.until(&mut interrupted, &mut |_, answers| {
                let loads = &mut loads;
                answers.into_iter().for_each(|(of, answer, at_ns)| {
                    loads.iter_mut().skip(of).take(1).for_each(|load| load.hear(&answer, at_ns));
                });
                let missing = (0..loads.len()).filter(|&of| loads[of].exchanges < exchanges);
                let came_on = loads.iter().map(|of| of.exchanges as u64).sum();
                Progress { came_on, missing: missing.collect() }
            })?;
        }
        let clock = begin(&mut crew, &mut loads);
        Ok(Self {
            gather: Gather::of(loads.len()),
            crew,
            loads,
            hangs_after_ns: terms.hangs_after_ns,
            names: terms.names,
            measured_from_ns: terms.measured_from_ns,
            current: None,
            clock,
            lost: None,
            used: Default::default(),
            seconds: Vec::new(),
        })
    }
}

impl Load {
    /// Hears what time it is at a worker, before the load begins.
    fn hear(&mut self, answer: &Answer, at_ns: u64) {
        let Answer::Pong { sent_ns, received_ns, answered_ns } = *answer else { return };
        self.exchanges += 1;
        let told = Offset::of([sent_ns, received_ns, answered_ns, at_ns]);
        self.offset = told.map(|told| told.better(self.offset)).or(self.offset);
    }
}

/// Has all begin at one moment.
fn begin(crew: &mut Crew, loads: &mut [Load]) -> Clock {
    let offsets = loads.iter().filter_map(|of| of.offset);
    let longest_ns = offsets.map(|of| of.ways_ns).max().unwrap_or_default();
    let start_ns = monotonic_ns() + AHEAD_NS.max(4 * longest_ns);
    for (number, load) in loads.iter_mut().enumerate() {
        let at_ns = load.offset.map_or(start_ns, |offset| offset.theirs(start_ns));
        load.told = Silence::from(start_ns);
        load.moved = Moved::since(load.offset, start_ns);
        crew.tell(number, &Order::Begin { at_ns });
    }
    Clock::from_origin(start_ns)
}
