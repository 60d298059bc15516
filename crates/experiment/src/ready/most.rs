//! The most that a live pool takes of hosts or of a cloud, told before anything is started.

use plimsoll_plan::{Plan, Provider as Kind};
use plimsoll_testbed::Bed;
use plimsoll_testbed::provider::Most;

/// The most instances that a live pool has at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scaled {
    /// The role that is scaled.
    pub role: String,
    /// How many instances of it there are at most, in all cells at once.
    pub instances: u32,
    /// How many the pool would have, were it not for `max` in `[testbed]`.
    pub wanted: u32,
    /// Where they may stand, host by host.
    pub hosts: Vec<Most>,
}

impl Scaled {
    /// What a plan's pool takes, where its instances stand on other hosts or are rented.
    pub(super) fn of(plan: &Plan, bed: &Bed) -> Option<Self> {
        let (testbed, pool) = (plan.testbed.as_ref()?, &plan.elastic.as_ref()?.pool);
        let role = pool.role.clone().filter(|role| !plan.is_followed(role))?;
        let at_once = plan.experiment.as_ref().map_or(1, |of| of.at_once.max(1));
        let wanted = pool.most.saturating_mul(at_once);
        let others = plan.roles.iter().filter(|(name, _)| *name != role);
        let others: u32 = others.map(|(_, of)| of.count).sum();
        let instances = match testbed.provider {
            Kind::Ec2 => {
                let most = testbed.max.unwrap_or(u32::MAX);
                wanted.min(most.saturating_sub(others.saturating_mul(at_once)))
            }
            Kind::Ssh => wanted,
            Kind::Process | Kind::Namespace => return None,
        };
        let hosts = bed.provider.most(&role, pool.most);
        Some(Self { role, instances, wanted, hosts })
    }

    /// The same in words, a line each.
    #[must_use]
    pub fn told(&self) -> Vec<String> {
        let Self { role, instances, wanted, hosts } = self;
        let mut lines = vec![format!("up to {instances} instances of {role} at once")];
        if instances < wanted {
            lines[0] += &format!(": `max` in [testbed] keeps it from {wanted}");
        }
        lines.extend(hosts.iter().map(|of| {
            let Most { host, usual, alone, ports: (first, last) } = of;
            let away = match usual == alone {
                true => String::new(),
                false => format!(", and {alone} where the others are away"),
            };
            format!("on the host {host} up to {usual}{away}, at its ports {first} to {last}")
        }));
        lines
    }
}
