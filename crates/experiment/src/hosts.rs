//! The hosts of a plan's `[testbed]`, as the provider `ssh` takes them.

use plimsoll_plan::{Host, Plan, Testbed};
use plimsoll_runs::Event;
use std::collections::BTreeSet;
use std::path::Path;

use plimsoll_testbed::ssh::{Client, Dealt, Route, Ssh, Watch};
use plimsoll_testbed::{Instance as Server, Role, TestbedError};

use crate::control::{Control, News, Wish};
use crate::error::ExperimentError;
use crate::kept::Kept;

/// Ends what goes on when a host is gone that it stands on, and tells it of servers that ended by
/// themselves.
pub(crate) struct OnHosts<'a> {
    /// What the user wishes.
    pub(crate) control: &'a dyn Control,
    /// How the hosts are reached.
    pub(crate) client: &'a Client,
    /// The names of the hosts that are needed.
    needed: BTreeSet<String>,
    /// What is kept of the servers of the cell that goes on, where somebody does.
    kept: Option<&'a Kept>,
}

impl<'a> OnHosts<'a> {
    /// What goes on with these servers.
    pub(crate) fn new(control: &'a dyn Control, client: &'a Client, servers: &[Server]) -> Self {
        let needed = servers.iter().filter_map(|of| Some(of.host.as_ref()?.name.clone()));
        Self { control, client, needed: needed.collect(), kept: None }
    }

    /// With what is kept of these servers.
    pub(crate) fn keeping(self, kept: &'a Kept) -> Self {
        Self { kept: Some(kept), ..self }
    }

    fn lost(&self) -> Option<TestbedError> {
        self.client.lost(|name| self.needed.contains(name))
    }
}

impl Control for OnHosts<'_> {
    fn tell(&self, news: News<'_>) {
        self.control.tell(news);
    }

    fn wish(&self) -> Wish {
        match self.lost() {
            Some(_) => Wish::Abort,
            None => self.control.wish(),
        }
    }

    fn broken(&self) -> Option<TestbedError> {
        self.lost()
    }

    fn happened(&self, at_ns: u64) -> Vec<Event> {
        self.kept.map_or_else(Vec::new, |kept| kept.gone_since(at_ns))
    }

    fn is_spent(&self) -> Option<String> {
        self.control.is_spent()
    }

    fn is_asked_to_end(&self) -> bool {
        self.control.is_asked_to_end()
    }
}

/// The collectors of what a host and the instances on it do, which its agent has.
pub(crate) const HOST: &str = "host";
pub(crate) const CGROUP: &str = "cgroup";

/// How a host of a plan is reached, by this configuration of `ssh` where it is not the user's own.
pub(crate) fn route(name: &str, of: &Host, config: Option<&Path>) -> Route {
    // `ssh` is started in another folder.
    let config = config.map(|file| std::path::absolute(file).unwrap_or_else(|_| file.to_owned()));
    Route {
        name: name.to_owned(),
        address: of.address.clone(),
        user: of.user.clone(),
        port: of.port,
        config,
    }
}

/// The provider of a plan's hosts. They are watched where the plan collects what hosts do, and the
/// instances there where it collects what those do.
///
/// # Errors
/// A host without an address; a role without a host.
pub(crate) fn provider(
    plan: &Plan,
    testbed: &Testbed,
    roles: &[Role],
    client: &Client,
) -> Result<Ssh, ExperimentError> {
    let config = testbed.ssh_config.as_deref();
    let host = |(name, of): (&String, &Host)| (route(name, of, config), of.serves);
    let hosts: Vec<_> = testbed.hosts.iter().map(host).collect();
    let dealt = roles.iter().zip(&plan.roles).map(|(role, (name, of))| {
        let comes = !plan.is_followed(name) && scaled(plan) == Some(name);
        Dealt {
            role: role.name.clone(),
            count: if comes { 0 } else { role.count },
            comes,
            port: role.recipe.recipe.port,
            hosts: testbed.hosts_of(name, of).into_iter().map(str::to_owned).collect(),
        }
    });
    let dealt: Vec<Dealt> = dealt.collect();
    let collect = &plan.collect;
    let has = |name: &str| collect.from.iter().any(|from| from == name);
    let watch = (has(HOST) || has(CGROUP)).then(|| Watch {
        every: collect.every,
        processes: collect.processes.clone(),
        hosts: has(HOST),
        cgroups: has(CGROUP),
    });
    Ok(Ssh::deal(&hosts, &dealt, testbed.host_folder.as_deref(), client, watch)?)
}

/// The role whose instances come and go.
fn scaled(plan: &Plan) -> Option<&str> {
    plan.elastic.as_ref()?.pool.role.as_deref()
}
