//! The built-in balancer of a pool.

use std::path::Path;
use std::time::Duration;

use super::{BalancerCounts, Balances, Member, Newcomer};
use crate::balance::{InstanceStatus, Listing, Order, Orders};
use crate::error::TestbedError;

/// The file of its control socket, in its folder.
pub(super) const CONTROL: &str = "control";

/// A built-in balancer, by its control socket.
pub(super) struct BuiltIn {
    orders: Orders,
}

impl BuiltIn {
    /// That of which this is the folder.
    pub(super) fn of(folder: &Path) -> Self {
        Self { orders: Orders::to(&folder.join(CONTROL)) }
    }
}

impl Balances for BuiltIn {
    fn add(&self, newcomer: &Newcomer) -> Result<(), TestbedError> {
        let Newcomer { name, address, weight } = newcomer.clone();
        self.orders.give(&Order::Add { name, address, weight })
    }

    fn drain(&self, name: &str, within: Duration) -> Result<(), TestbedError> {
        let within_ms = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
        self.orders.give(&Order::Drain { name: name.to_owned(), within_ms })
    }

    fn remove(&self, name: &str) -> Result<(), TestbedError> {
        self.orders.give(&Order::Remove { name: name.to_owned() })
    }

    fn forget(&self) -> Result<(), TestbedError> {
        Ok(())
    }

    fn look(&self) -> Result<BalancerCounts, TestbedError> {
        self.orders.list().map(seen)
    }

    fn take(&self) -> Result<BalancerCounts, TestbedError> {
        self.orders.take().map(seen)
    }
}

fn seen(of: Listing) -> BalancerCounts {
    let member = |of: &InstanceStatus| Member {
        name: of.name.clone(),
        state: of.state,
        active: Some(of.active),
        answered: of.answered,
        failed: of.failed,
        ill: of.ill,
    };
    BalancerCounts {
        connections: of.connections,
        requests: of.requests,
        answered: of.answered,
        response_us: of.response_us,
        waiting: of.waiting as u64,
        active: of.instances.iter().map(|of| u64::from(of.active)).sum(),
        lost: of.lost,
        untold: 0,
        instances: of.instances.iter().map(member).collect(),
        notes: Vec::new(),
        times: of.times.unwrap_or_default(),
    }
}
