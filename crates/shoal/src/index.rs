//! Which members are near a point: trees over their places whose nodes are ranges of one array.
//!
//! An [`Index`] is built off the serving threads and never changes (but for notes of who died). It
//! has the members once by kind and upstream and, for those of a cloud, once more within their
//! cloud; and it knows who lives at an address.

mod addresses;
mod band;
mod forest;
mod search;
mod tree;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use crate::registry::Cache;
use addresses::Addresses;
pub use band::{BANDS, band};
pub(crate) use forest::{Forest, GROUPS};
pub(crate) use search::{AT_ONCE, Branch, Member, Search};

/// Members by place, kind, upstream, cloud and address.
#[derive(Debug, Default)]
pub struct Index {
    everywhere: Forest,
    clouds: BTreeMap<Box<str>, Forest>,
    addresses: Addresses,
}

impl Index {
    /// Of members; positions in it are positions in `caches`, which must be fewer than 2³¹.
    ///
    /// *Cost*: O(n log n).
    #[must_use]
    pub fn new(caches: &[Arc<Cache>]) -> Self {
        let mut clouds: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
        for (member, cache) in (0_u32..).zip(caches) {
            if let Some(cloud) = &cache.cloud {
                clouds.entry(cloud).or_default().push(member);
            }
        }
        let within = |(cloud, members): (&str, Vec<u32>)| {
            (Box::from(cloud), Forest::new(caches, members.into_iter()))
        };
        Self {
            everywhere: Forest::new(caches, (0_u32..).zip(caches).map(|(member, _)| member)),
            clouds: clouds.into_iter().map(within).collect(),
            addresses: Addresses::new(caches),
        }
    }

    /// Lets go of so many members at most; false if there were none. So it is freed in parts.
    pub(crate) fn let_go(&mut self, most: usize) -> bool {
        let mut forests = self.clouds.values_mut().chain([&mut self.everywhere]);
        forests.any(|forest| forest.let_go(most))
    }

    /// Has what is asked first about an address fetched.
    pub(crate) fn fetch(&self, address: IpAddr) {
        self.addresses.fetch(address);
    }

    /// Members of a cloud, or of all; `None` if the cloud has none.
    pub(crate) fn forest(&self, cloud: Option<&str>) -> Option<&Forest> {
        cloud.map_or(Some(&self.everywhere), |cloud| self.clouds.get(cloud))
    }

    /// Calls with the position of each member whose public or external address this is. The
    /// address must be in its canonical form, the caches those that the index was built of.
    pub(crate) fn at(&self, caches: &[Arc<Cache>], address: IpAddr, each: impl FnMut(usize)) {
        self.addresses.each(caches, address, each);
    }
}
