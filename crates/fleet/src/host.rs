//! What tells one host from another, and what its workers share.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// A host, as a worker on it sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// What the kernel drew when it was booted; empty where it does not tell.
    pub boot: String,
    /// The network that the worker is in.
    pub network: String,
    /// The processors that the worker may use, as the kernel lists them: `0-3,7`.
    pub processors: String,
    /// How many processors' time the worker gets, where its control group has less than those.
    pub quota: Option<usize>,
}

impl Host {
    /// This one. `system` is the root of the file system.
    #[must_use]
    pub fn read(system: &Path) -> Self {
        let text = |path: &str| std::fs::read_to_string(system.join(path)).unwrap_or_default();
        let network = std::fs::read_link(system.join("proc/self/ns/net")).unwrap_or_default();
        let status = text("proc/self/status");
        let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let processors = line.unwrap_or_default().trim().to_owned();
        let most = std::thread::available_parallelism().map_or(usize::MAX, NonZeroUsize::get);
        Self {
            boot: text("proc/sys/kernel/random/boot_id").trim().to_owned(),
            network: network.display().to_string(),
            quota: Some(most).filter(|most| *most < numbers(&processors).len()),
            processors,
        }
    }

    /// Whether workers on both use the same processors.
    #[must_use]
    pub fn shares_processors(&self, other: &Self) -> bool {
        let (own, others) = (numbers(&self.processors), numbers(&other.processors));
        self.is_machine_of(other) && (own.is_empty() || !own.is_disjoint(&others))
    }

    /// How many processors the worker may use at a time; 1 where the kernel does not tell.
    #[must_use]
    pub fn processors_count(&self) -> usize {
        let listed = numbers(&self.processors).len();
        self.quota.map_or(listed, |quota| quota.min(listed)).max(1)
    }

    /// Whether both are one: the same machine, in the same network.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        self.is_machine_of(other) && self.network == other.network
    }

    fn is_machine_of(&self, other: &Self) -> bool {
        !self.boot.is_empty() && self.boot == other.boot
    }
}

/// The most processors of a host that are told apart.
const MOST: u32 = 1 << 16;

/// The numbers of a list as `0-3,7`; none of what is no number.
fn numbers(list: &str) -> BTreeSet<u32> {
    let range = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let numbers = from.trim().parse::<u32>().ok().zip(to.trim().parse::<u32>().ok());
        numbers.map(|(from, to)| from.min(MOST)..=to.min(MOST))
    };
    list.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_told_apart_by_their_boot_their_network_and_their_processors() {
        let host = |boot: &str, network: &str, processors: &str| Host {
            boot: boot.to_owned(),
            network: network.to_owned(),
            processors: processors.to_owned(),
            quota: None,
        };
        let one = host("a", "1", "0-3,7");
        assert!(one.is(&host("a", "1", "5")) && !one.is(&host("a", "2", "0-3,7")));
        assert!(!one.is(&host("b", "1", "0-3,7")));
        assert!(one.shares_processors(&host("a", "2", "7-9")));
        assert!(!one.shares_processors(&host("a", "1", "4-6,8")));
        assert!(!one.shares_processors(&host("b", "1", "0-3,7")));
        // What the kernel does not tell is nobody's.
        assert!(!host("", "1", "0").is(&host("", "1", "0")));
        assert!(host("a", "1", "").shares_processors(&one));
        // A container on a host of 64 processors has two of them.
        let limited = |quota| Host { quota, ..host("a", "1", "0-63") };
        assert_eq!(limited(None).processors_count(), 64);
        assert_eq!(limited(Some(2)).processors_count(), 2);
        assert_eq!(limited(Some(99)).processors_count(), 64);
        assert_eq!(Host { quota: Some(2), ..Host::default() }.processors_count(), 1);
        let here = Host::read(Path::new("/"));
        assert!(here.is(&Host::read(Path::new("/"))) && here.shares_processors(&here), "{here:?}");
    }
}
