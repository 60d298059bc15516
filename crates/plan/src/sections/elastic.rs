//! The sections of an elastic pool together: `[pool]`, `[instance]` or `[instance.LABEL]`,
//! `[balancer]`, `[billing]` and `[policy.LABEL]`. A plan with any of them is of a pool, and needs
//! no target to be simulated.

use std::path::PathBuf;

use crate::reading::Reading;
use crate::reading::tree::Table;
use crate::section::Section;
use crate::sections::balancer::Balancer;
use crate::sections::billing::Billing;
use crate::sections::instance::{self, Instance, InstanceType};
use crate::sections::policies::{self, PolicyPlan};
use crate::sections::pool::Pool;
use crate::write::Writer;

/// A pool of instances, and the policies under which it is compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Elastic {
    /// How many instances, and how they are decided about.
    pub pool: Pool,
    /// What one of them can do: of several types, one of the first.
    pub instance: Instance,
    /// The instance types that are compared, in the order of the plan; none where it names none.
    pub types: Vec<InstanceType>,
    /// Which one takes a request.
    pub balancer: Balancer,
    /// What they cost.
    pub billing: Billing,
    /// The policies, in the order of the plan.
    pub policies: Vec<PolicyPlan>,
}

/// The sections, any of which makes a plan that of a pool.
const SECTIONS: [&str; 5] = ["pool", "instance", "balancer", "billing", "policy"];

impl Elastic {
    /// Whether a plan is of a pool.
    pub(crate) fn is_in(root: &Table) -> bool {
        SECTIONS.iter().any(|section| root.get(section).is_some())
    }

    /// Reads the sections, where the plan has any of them.
    pub(crate) fn read(reading: &Reading, root: &Table) -> Option<Self> {
        if !Self::is_in(root) {
            return None;
        }
        let pool = Pool::read(&Section::open(reading, root, Pool::SECTION));
        let instances = instance::read(reading, root);
        let balancer = Balancer::read(&Section::open(reading, root, Balancer::SECTION));
        let billing = Billing::read(&Section::open(reading, root, Billing::SECTION));
        let read = policies::read(reading, root);
        let policies = read.iter().map(|policy| policy.plan.clone()).collect();
        let pool = pool?;
        for policy in &read {
            policy.check_start(reading, &pool);
        }
        let (instance, types) = instances?;
        instance::check_starts(reading, root, &pool);
        let (balancer, billing) = (balancer?, billing?);
        Some(Self { pool, instance, types, balancer, billing, policies })
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        self.pool.write(out);
        instance::write(&self.instance, &self.types, out);
        self.balancer.write(out);
        self.billing.write(out);
        policies::write(&self.policies, out);
    }

    /// The files that the sections name.
    pub(crate) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        let others = self.types.iter().skip(1).map(|of| &of.instance);
        std::iter::once(&self.instance).chain(others).flat_map(Instance::files)
    }

    /// What an instance costs per hour.
    #[must_use]
    pub fn price(&self) -> f64 {
        self.instance.price.unwrap_or(self.billing.price)
    }

    /// How many instances there are at the beginning, where a policy does not say otherwise.
    #[must_use]
    pub fn start(&self) -> u32 {
        self.instance.start.unwrap_or(self.pool.start)
    }
}
