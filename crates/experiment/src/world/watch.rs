//! What is watched beside a load: collectors, sampled on threads of their own, whose samples the
//! run takes with its seconds.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use plimsoll_load::clock::Clock;
use plimsoll_monitor::{Sampler, Sampling, Source, Watched};
use plimsoll_plan::Plan;
use plimsoll_runs::event::Class;
use plimsoll_runs::{Event, RunWriter, Sink, SinkError};
use plimsoll_testbed::Instance as Server;

use crate::error::ExperimentError;

/// The longest that a source may take, as a share of the period.
const PATIENCE: f64 = 0.8;

/// The sources that a plan watches, with the servers that stand for it.
///
/// # Errors
/// A source that there is not: an unknown one, or one of a service that no server has.
pub fn sources(
    plan: &Plan,
    servers: &[Server],
    system: &Path,
) -> Result<Vec<(String, Source)>, ExperimentError> {
    let limit = plan.collect.every.mul_f64(PATIENCE).min(Duration::from_millis(900));
    let source = || Source { root: system.to_owned(), limit, ..Source::default() };
    let mut all = Vec::new();
    for name in &plan.collect.from {
        plimsoll_monitor::collector::named(name)?;
        let of_server = |server: &Server| -> Option<Source> {
            let instance = Some(server.name.clone());
            if name == "cgroup" {
                let cgroup = server.cgroups.clone();
                return (!cgroup.is_empty()).then(|| Source { instance, cgroup, ..source() });
            }
            let address = Some(server.collect.get(name)?.clone());
            Some(Source { instance, address, ..source() })
        };
        if name == "host" || name == "network" {
            let processes = plan.collect.processes.clone();
            all.push((name.clone(), Source { processes, ..source() }));
            continue;
        }
        let found: Vec<Source> = servers.iter().filter_map(of_server).collect();
        if found.is_empty() {
            let text = format!(
                "watch `{name}`: no server of the plan has it; leave it out of `from` in [collect]"
            );
            return Err(ExperimentError::Conflict(text));
        }
        all.extend(found.into_iter().map(|source| (name.clone(), source)));
    }
    Ok(all)
}

/// Names and values.
type Labels = Vec<(String, String)>;

/// Samples on their way into the run.
struct Taken {
    at_ns: u64,
    samples: Vec<(String, Labels, f64)>,
    faults: Vec<(String, String)>,
}

/// Collectors at work.
pub(crate) struct Watching {
    clock: Clock,
    taken: Receiver<Taken>,
    /// Where the run's time begins on our clock, nanoseconds; known with its first second.
    zero_ns: Option<u64>,
    /// Why each source that is away is so.
    away: BTreeMap<String, String>,
    _sampler: Sampler,
}

impl Watching {
    /// Begins to sample; `None` where nothing is watched.
    ///
    /// # Errors
    /// A source that cannot be opened; a thread that the host does not give.
    pub(crate) fn start(
        sources: &[(String, Source)],
        every: Duration,
        seed: u64,
    ) -> Result<Option<Self>, ExperimentError> {
        if sources.is_empty() {
            return Ok(None);
        }
        let open = |(name, source): &(String, Source)| Watched::open(name, source);
        let watched = sources.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let (clock, (send, taken)) = (Clock::start(), channel());
        let sampling = Sampling { period: every, seed, ..Sampling::default() };
        let hand = move |at_ns: u64, samples: &plimsoll_monitor::Samples| {
            let label = |(name, value): &(std::borrow::Cow<'static, str>, String)| {
                (name.to_string(), value.clone())
            };
            let one = |of: &plimsoll_monitor::Sample| {
                (of.name.to_string(), of.labels.iter().map(label).collect(), of.value)
            };
            let faults = samples.faults().iter().filter(|fault| fault.is_down);
            let fault = |fault: &plimsoll_monitor::Fault| {
                let of = fault.instance.as_ref().map(|of| format!(" of {of}")).unwrap_or_default();
                (format!("{}{of}", fault.collector), fault.reason.clone())
            };
            let samples = samples.iter().map(one).collect();
            // Whoever takes them is gone when the run has ended.
            let _ = send.send(Taken { at_ns, samples, faults: faults.map(fault).collect() });
        };
        let now = Arc::new(move || clock.now());
        let sampler = Sampler::start(watched, sampling, now, hand)?;
        Ok(Some(Self { clock, taken, zero_ns: None, away: BTreeMap::new(), _sampler: sampler }))
    }

    /// Stores what was sampled. `run_ns` is how far the run is, which the first call goes by.
    pub(crate) fn store(&mut self, writer: &mut RunWriter, run_ns: u64) -> Result<(), SinkError> {
        let now_ns = self.clock.now();
        let zero_ns = *self.zero_ns.get_or_insert(now_ns.saturating_sub(run_ns));
        for Taken { at_ns, samples, faults } in self.taken.try_iter() {
            // What was sampled before the first request is not of the run.
            let Some(at_ns) = at_ns.checked_sub(zero_ns) else { continue };
            for (name, labels, value) in &samples {
                let labels: Vec<(&str, &str)> =
                    labels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
                writer.series(name, &labels, at_ns, *value)?;
            }
            for (source, why) in faults {
                if self.away.insert(source.clone(), why.clone()).as_ref() != Some(&why) {
                    let text = format!("{source} could not be read: {why}");
                    let kind = "collector".to_owned();
                    writer.event(&Event { at_ns, class: Class::Failure, kind, text })?;
                }
            }
        }
        Ok(())
    }
}

impl From<plimsoll_monitor::SourceError> for ExperimentError {
    fn from(error: plimsoll_monitor::SourceError) -> Self {
        let told = plimsoll_units::failure::told(&error);
        Self::Conflict(told)
    }
}

impl From<plimsoll_monitor::SamplerError> for ExperimentError {
    fn from(error: plimsoll_monitor::SamplerError) -> Self {
        Self::Conflict(plimsoll_units::failure::told(&error))
    }
}
