//! What a worker does for strangers: what its own command line says, and nothing else.

use std::fmt;
use std::str::FromStr;

use plimsoll_load::run::Offer;
use plimsoll_load::{Config, Part, Protocol};
use plimsoll_plan::Plan;
use plimsoll_units::{ParseError, show_rate};

use crate::prepare::offer::known_peak_of;
use crate::prepare::{Network, Reach};
use plimsoll_fleet::message::Job;
use plimsoll_fleet::worker::Refusal;

/// Something that a worker may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum May {
    /// Execute simulated cells.
    Simulate,
    /// Offer loads to a network.
    Load(Network),
}

impl FromStr for May {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        match text.split_once('=') {
            None if text == "simulate" => Ok(Self::Simulate),
            Some(("load", network)) => Ok(Self::Load(network.parse()?)),
            _ => {
                let wanted = "simulate, or load=NETWORK[:PORTS]";
                Err(ParseError::new(wanted, text, 0, text.len()))
            }
        }
    }
}

impl fmt::Display for May {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Simulate => f.write_str("simulate"),
            Self::Load(network) => write!(f, "load={network}"),
        }
    }
}

/// What a worker does for strangers.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// What it may do.
    pub may: Vec<May>,
    /// The highest rate at which it sends requests, requests a second.
    pub most_rate_per_s: Option<f64>,
    /// The most connections that it opens.
    pub most_connections: Option<u32>,
    /// The most that the files of a plan may have in all, bytes.
    pub most_disk_bytes: Option<u64>,
}

/// The sections of a plan of which a stranger's load may be; `collect`, `testbed` and others are
/// the controller's.
const OF_LOADS: [&str; 4] = ["target", "load", "measure", "search"];

/// What is asked for is not for this worker: another plan is wanted, or another worker.
fn refusal(why: String) -> Refusal {
    Refusal { why, hint: None, is_usage: true }
}

/// So many threads a stranger may have.
const MOST_THREADS: u32 = 1024;

impl Rules {
    /// Where its loads may go.
    #[must_use]
    pub fn reach(&self) -> Reach {
        let networks = self.may.iter().filter_map(|may| match may {
            May::Load(network) => Some(network.clone()),
            May::Simulate => None,
        });
        Reach::Networks(networks.collect())
    }

    /// The ports that its loads may go to; `None` where that is any.
    #[must_use]
    pub fn ports(&self) -> Option<Vec<u16>> {
        let mut ports = Vec::new();
        for may in &self.may {
            match may {
                May::Load(network) if network.ports().is_empty() => return None,
                May::Load(network) => ports.extend(network.ports()),
                May::Simulate => {}
            }
        }
        Some(ports)
    }

    /// Whether it may execute simulated cells.
    ///
    /// # Errors
    /// That it may not.
    pub(super) fn simulates(&self) -> Result<(), Refusal> {
        match self.may.contains(&May::Simulate) {
            true => Ok(()),
            false => Err(refusal("it may not execute simulated cells (--may simulate)".to_owned())),
        }
    }

    /// Whether a plan's text has nothing but what a load is of.
    ///
    /// # Errors
    /// What it has beside that.
    pub(super) fn is_of_load(text: &str) -> Result<(), Refusal> {
        let of = text.parse::<toml_edit::DocumentMut>();
        let of = of.map_err(|_| refusal("the plan is no TOML".to_owned()))?;
        let is_other = |(name, value): &(&str, &toml_edit::Item)| {
            (value.is_table_like() || value.is_array_of_tables()) && !OF_LOADS.contains(name)
        };
        match of.iter().find(is_other) {
            None => Ok(()),
            Some((name, _)) => Err(refusal(format!("[{name}] is not for a worker on a bus"))),
        }
    }

    /// Whether a plan may be made ready at all: nothing is asked before.
    ///
    /// # Errors
    /// What it may not.
    pub(super) fn may_prepare(&self, plan: &Plan) -> Result<(), Refusal> {
        let may_not = |what: &str| Err(refusal(format!("a worker on a bus may not {what}")));
        if !self.may.iter().any(|may| matches!(may, May::Load(_))) {
            return may_not("offer loads (--may load=NETWORK)");
        }
        if plan.store.is_some() {
            return may_not("load stores");
        }
        if !plan.target.through.is_empty() {
            return may_not("go through proxies, whose targets it cannot see");
        }
        if plan.target.restart.is_some() {
            return may_not("execute commands");
        }
        Ok(())
    }

    /// Whether what is to be connected keeps to the bounds.
    ///
    /// # Errors
    /// The bound that it does not keep.
    pub(super) fn keeps_connections(&self, config: &Config) -> Result<(), Refusal> {
        if matches!(config.protocol, Protocol::Store(_)) {
            return Err(refusal("a worker on a bus may not load stores".to_owned()));
        }
        if config.threads > MOST_THREADS {
            return Err(refusal(format!(
                "{} threads are more than any host needs",
                config.threads
            )));
        }
        let wanted = config.connections.1.div_ceil(config.part.processes.max(1));
        match self.most_connections.filter(|&most| wanted > most) {
            None => Ok(()),
            Some(most) => Err(refusal(format!(
                "{wanted} connections are more than its {most} (--most-connections)"
            ))),
        }
    }

    /// The highest rate of all workers together at which this one keeps to its own, requests a
    /// second; `None` where it has none.
    pub(super) fn most_of_all(&self, job: &Job) -> Option<f64> {
        let part = Part::from(job.part);
        let all = f64::from(part.before + job.threads + part.after);
        Some(self.most_rate_per_s? * all / f64::from(job.threads.max(1)))
    }

    /// Whether an offer of all workers together keeps to the highest rate of all.
    ///
    /// # Errors
    /// That it does not, or that it is not known before.
    pub(super) fn keeps_rate(&self, offer: &Offer, most: Option<f64>) -> Result<(), Refusal> {
        let Some(most_per_s) = most else { return Ok(()) };
        let Some(peak_per_s) = known_peak_of(offer) else {
            return Err(refusal(
                "users who wait for answers have no rate that is known before (--most-rate)"
                    .to_owned(),
            ));
        };
        if peak_per_s > most_per_s {
            let (wanted, most) = (show_rate(peak_per_s), show_rate(most_per_s));
            return Err(refusal(format!(
                "{wanted} are more than the {most} at which its own part is what it may \
                 (--most-rate)"
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_worker_may_is_read_as_it_is_written() {
        for text in ["simulate", "load=10.0.0.0/8:80,443", "load=[fd00::]/8"] {
            assert_eq!(text.parse::<May>().unwrap().to_string(), text);
        }
        for text in ["", "simulate=1", "load", "load=x", "start=target"] {
            assert!(text.parse::<May>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_stranger_s_plan_is_of_a_load_alone() {
        let of = |text: &str| Rules::is_of_load(text).map_err(|error| error.why);
        assert_eq!(of("seed = 7\n[target]\nurl = \"x\"\n[load]\nrate = 1\n"), Ok(()));
        for section in ["role.web", "testbed", "collect", "store", "fleet", "watch.x"] {
            let said = of(&format!("[target]\n[{section}]\na = 1\n")).unwrap_err();
            let name = section.split('.').next().unwrap();
            assert!(said.contains(&format!("[{name}]")), "{said}");
        }
        assert!(of("collect = { url = \"x\" }").is_err());
        assert!(of("[[role]]\nname = 1").is_err());
    }
}
