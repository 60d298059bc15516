//! How a load is divided among workers, and what cannot be.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use plimsoll_load::{Config, Endpoint, Pacing, Protocol};
use plimsoll_plan::Plan;
use plimsoll_workload::scenario::{Data, Each, RowOrder, Scenario};

use crate::error::ExperimentError;

/// How a load is divided among workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Division {
    /// How many workers there are.
    pub workers: u32,
    /// How many threads each has.
    pub threads: u32,
    /// How many workers of this host spin before a request is due; the others sleep to ticks of a
    /// millisecond. Those elsewhere decide by their own cores.
    pub precise: Option<u32>,
    /// The silence after which one is lost, nanoseconds.
    pub(crate) lost_after_ns: u64,
}

impl Division {
    /// That of a plan, which one process would execute with so many threads; `None` where one does.
    /// `spinning`: how many threads of this host may spin.
    pub(crate) fn of(plan: &Plan, threads: u32, spinning: u32) -> Option<Self> {
        let fleet = plan.fleet.as_ref()?;
        let (workers, is_here) = (fleet.count(), fleet.is_here());
        let each = if is_here { (threads / workers).max(1) } else { threads };
        let precise = is_here.then(|| (spinning / each).min(workers));
        let lost_after_ns = u64::try_from(fleet.lost_after().as_nanos()).unwrap_or(u64::MAX);
        Some(Self { workers, threads: each, precise, lost_after_ns })
    }

    /// How many threads there are in all.
    #[must_use]
    pub fn all_threads(&self) -> u32 {
        self.workers.saturating_mul(self.threads)
    }

    /// How the threads of a worker wait, by its number; `None` where it decides itself.
    pub(crate) fn pacing_of(&self, worker: u32) -> Option<Pacing> {
        let precise = self.precise?;
        Some(if worker < precise { Pacing::Precise } else { Pacing::Thrifty })
    }

    /// How threads wait where not all do alike: as those that are later.
    pub(crate) fn pacing(&self) -> Option<Pacing> {
        self.pacing_of(self.workers.saturating_sub(1))
    }

    /// What a reader should know of it.
    pub(crate) fn note(&self) -> Option<String> {
        let (workers, precise) = (self.workers, self.precise?);
        (precise > 0 && precise < workers).then(|| {
            format!(
                "{precise} of {workers} workers spin before a request is due, the others sleep to \
                 ticks of 1 ms, as they share the cores of one host; --pacing precise has all spin"
            )
        })
    }

    /// Refuses what cannot be divided without workers asking each other.
    ///
    /// # Errors
    /// What that is.
    pub(crate) fn check(&self, plan: &Plan, config: &Config) -> Result<(), ExperimentError> {
        let why = self.undivided(plan, config);
        why.map_or(Ok(()), |why| Err(ExperimentError::Undivided(why)))
    }

    fn undivided(&self, plan: &Plan, config: &Config) -> Option<String> {
        let (least, most) = config.connections;
        if config.users.is_none() && least != most && least > 0 {
            return Some(format!(
                "a number of connections that grows, {least} to {most}: say one number"
            ));
        }
        if most < self.all_threads() {
            let (workers, threads) = (self.workers, self.all_threads());
            return Some(format!(
                "{most} connections: {workers} workers have {threads} threads, each with one at \
                 least"
            ));
        }
        if let Some(of) = config.users.as_ref().and_then(|users| undivided(&users.scenario)) {
            return Some(of);
        }
        let hidden = plan.hides();
        if !hidden.is_empty() {
            return Some(format!(
                "a secret that stands in the plan ({}): name a variable of the environment, which \
                 workers have too",
                hidden.join(", ")
            ));
        }
        asked(config)
            .into_iter()
            .find(is_never_asked)
            .map(|address| format!("a load on {address}: workers are never sent to such addresses"))
    }
}

/// How the protocol of a load is called.
pub(crate) fn protocol_of(config: &Config) -> &'static str {
    match config.protocol {
        Protocol::Http1 => "HTTP/1.1",
        Protocol::Http2 => "HTTP/2",
        Protocol::Store(of) => of.scheme.name,
    }
}

/// What of a scenario is of all users together.
fn undivided(scenario: &Scenario) -> Option<String> {
    let by_step = |of: &&Data| of.each == Each::Step && of.order != RowOrder::Random;
    if let Some(of) = scenario.data().iter().find(by_step) {
        return Some(format!(
            "the data `{}`, whose rows go to steps in the order in which these come: give one to \
             each user, or take rows at random",
            of.name
        ));
    }
    if scenario.rules().any(|rule| rule.broadcast.is_some()) {
        return Some("broadcasts, whose spread is measured over all users together".to_owned());
    }
    scenario.has_labels().then(|| "the labels of users".to_owned())
}

/// The addresses that a load goes to.
pub(crate) fn asked(config: &Config) -> BTreeSet<IpAddr> {
    let of = |endpoint: &Endpoint| match endpoint {
        Endpoint::Tcp(address) => Some(address.ip()),
        Endpoint::Unix(_) => None,
    };
    let others = config.users.iter().flat_map(|users| &users.others);
    let endpoints = others.map(|(endpoint, _)| endpoint).chain([&config.endpoint]);
    endpoints.filter_map(of).chain(config.way.others.iter().map(SocketAddr::ip)).collect()
}

/// Whether nobody is sent there by somebody else: networks of a link alone, and the addresses at
/// which clouds tell instances their secrets.
pub(crate) fn is_never_asked(address: &IpAddr) -> bool {
    const CLOUDS: [IpAddr; 3] = [
        IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
        IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
        IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    ];
    let address = embedded(address);
    let is_of_link = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    is_of_link || CLOUDS.contains(&address)
}

/// An address, or the one of IPv4 that is in it: mapped (RFC 4291), or behind a translator (NAT64,
/// RFC 6052; 6to4, RFC 3056).
fn embedded(address: &IpAddr) -> IpAddr {
    let IpAddr::V6(of_six) = address else { return *address };
    let four = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        IpAddr::V4(Ipv4Addr::new(a, b, c, d))
    };
    match of_six.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0, 0, 0, 0, 0, 0, high, low] if high > 0 => {
            four(high, low)
        }
        [0x2002, high, low, ..] => four(high, low),
        _ => address.to_canonical(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_tell_secrets_are_never_asked() {
        let never = |text: &str| is_never_asked(&text.parse().unwrap());
        for address in [
            "169.254.169.254",
            "169.254.1.1",
            "::ffff:169.254.169.254",
            "::169.254.169.254",
            "64:ff9b::169.254.169.254",
            "2002:a9fe:a9fe::1",
            "fe80::1",
            "fd00:ec2::254",
            "168.63.129.16",
            "100.100.100.200",
        ] {
            assert!(never(address), "{address}");
        }
        for address in ["127.0.0.1", "::1", "10.0.0.5", "168.63.129.17", "fd00:ec2::253"] {
            assert!(!never(address), "{address}");
        }
    }
}
