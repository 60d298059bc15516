//! The provider `ssh`: which instance stands on which host, at which port, and what is done to
//! reach the hosts.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::agent::Agent;
use crate::cgroup::group_of;
use crate::command::Words;
use crate::error::TestbedError;
use crate::launch::Order;
use crate::op::Op;
use crate::provider::{Provider, Shared, Spot, cannot_limit};
use crate::role::{Instance, OnHost, Role};
use crate::route::Route;
use crate::ssh::client::Client;
use crate::ssh::watch::{Watch, ops as watched};

/// Where folders are made on hosts, where the plan names no other place.
const FOLDERS: &str = "/var/tmp";
/// How long it may take to reach a host: this program is copied there.
const REACHES: Duration = Duration::from_secs(600);

/// A role, and the hosts that its instances are dealt out to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dealt {
    /// The role.
    pub role: String,
    /// How many instances there are.
    pub count: u32,
    /// The port of its recipe.
    pub port: u16,
    /// The hosts, by their names. Each instance goes to the one that has the fewest so far.
    pub hosts: Vec<String>,
}

/// The host and the port of instances, by role and number.
type Spots = BTreeMap<(String, u32), (String, u16)>;

/// A host, and where servers on it listen.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Host {
    route: Route,
    address: Ipv4Addr,
    agent: Option<Agent>,
}

/// `ssh`: servers on hosts that are reached by `ssh`.
#[derive(Debug)]
pub struct Ssh {
    /// The hosts that have an instance, by name.
    hosts: BTreeMap<String, Host>,
    /// The host and the port of each instance, by its role and number.
    spots: Spots,
    folders: PathBuf,
    watch: Option<Watch>,
}

impl Ssh {
    /// Deals instances out to hosts, and looks up where those listen. Nothing is connected to.
    /// `folders` is where folders of instances are made on each host.
    ///
    /// # Errors
    /// A host without an IPv4 address; more instances than ports; a role without a host.
    pub fn deal(
        hosts: &[(Route, Option<Ipv4Addr>)],
        roles: &[Dealt],
        folders: Option<&str>,
        client: &Client,
        watch: Option<Watch>,
    ) -> Result<Self, TestbedError> {
        let names = deal(roles)?;
        let used: BTreeSet<&String> = names.values().collect();
        let mut all = BTreeMap::new();
        for (route, serves) in hosts.iter().filter(|(route, _)| used.contains(&route.name)) {
            route.check()?;
            let address = match serves {
                Some(address) => *address,
                None => look_up(route, &client.real_address(route)?)?,
            };
            let agent = watch.as_ref().map(|_| Agent::planned()).transpose()?;
            all.insert(route.name.clone(), Host { route: route.clone(), address, agent });
        }
        let spots = ports(roles, &names, &all)?;
        let folders = PathBuf::from(folders.unwrap_or(FOLDERS));
        Ok(Self { hosts: all, spots, folders, watch })
    }

    fn folder_of(&self, bed: &str, host: &str) -> PathBuf {
        self.folders.join(format!("plimsoll-{bed}.{host}"))
    }

    /// The name of the cgroups of an instance, where it gets some to be watched by.
    fn group(&self, bed: &str, instance: &Instance) -> Option<String> {
        let is_watched = self.watch.as_ref().is_some_and(|watch| watch.cgroups);
        is_watched.then(|| group_of(bed, &instance.name))
    }

    fn spot(&self, role: &str, number: u32) -> Result<(&Host, u16), TestbedError> {
        let spot = self.spots.get(&(role.to_owned(), number));
        let found = spot.and_then(|(host, port)| Some((self.hosts.get(host)?, *port)));
        found.ok_or_else(|| {
            TestbedError::Wrong(format!("place {role}-{number}: no host of the plan is for it"))
        })
    }
}

/// The host of each instance: of those that its role may have the one with the fewest so far, the
/// first of several.
fn deal(roles: &[Dealt]) -> Result<BTreeMap<(String, u32), String>, TestbedError> {
    let mut dealt = BTreeMap::new();
    let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
    for Dealt { role, count, hosts, .. } in roles {
        for number in 1..=*count {
            let fewest = hosts.iter().min_by_key(|host| counts.get(host).copied().unwrap_or(0));
            let Some(host) = fewest else {
                return Err(TestbedError::Wrong(format!("place {role}-{number}: it has no host")));
            };
            *counts.entry(host).or_default() += 1;
            dealt.insert((role.clone(), number), host.clone());
        }
    }
    Ok(dealt)
}

/// The port of each instance: that of its recipe, or the next one that no other instance has at the
/// same address.
fn ports(
    roles: &[Dealt],
    names: &BTreeMap<(String, u32), String>,
    hosts: &BTreeMap<String, Host>,
) -> Result<Spots, TestbedError> {
    let (mut taken, mut spots) = (BTreeSet::new(), BTreeMap::new());
    for Dealt { role, count, port, .. } in roles {
        for number in 1..=*count {
            let key = (role.clone(), number);
            let Some(name) = names.get(&key) else { continue };
            let Some(host) = hosts.get(name) else {
                let text = format!("place {role}-{number}: there is no host `{name}`");
                return Err(TestbedError::Wrong(text));
            };
            let free = (*port..=u16::MAX).find(|port| taken.insert((host.address, *port)));
            let port = free.ok_or_else(|| {
                TestbedError::Wrong(format!("find a port for {role}-{number} on `{name}`"))
            })?;
            spots.insert(key, (name.clone(), port));
        }
    }
    Ok(spots)
}

/// The address of a name, as this host knows it.
fn look_up(route: &Route, name: &str) -> Result<Ipv4Addr, TestbedError> {
    if let Ok(address) = name.parse() {
        return Ok(address);
    }
    let found = (name, 0).to_socket_addrs().into_iter().flatten();
    let four = |address: SocketAddr| match address.ip() {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(_) => None,
    };
    found.filter_map(four).next().ok_or_else(|| {
        TestbedError::Wrong(format!(
            "find where servers of the host {route} listen: `{name}` has no IPv4 address here; say \
             it by `serves` in [testbed.hosts]"
        ))
    })
}

impl Provider for Ssh {
    fn name(&self) -> &'static str {
        "ssh"
    }

    fn check(&self, role: &Role) -> Result<(), TestbedError> {
        cannot_limit(role, "ssh")
    }

    fn address(&self, _: usize) -> Result<(String, Option<u16>), TestbedError> {
        Err(TestbedError::Wrong("give instances on hosts an address of their own".to_owned()))
    }

    fn spot(&self, role: &Role, number: u32, _: usize) -> Result<Spot, TestbedError> {
        let (host, port) = Self::spot(self, &role.name, number)?;
        let on = OnHost { name: host.route.name.clone(), agent: host.agent.clone() };
        Ok(Spot { address: host.address.to_string(), port: Some(port), host: Some(on) })
    }

    fn folders(&self) -> Option<&Path> {
        Some(&self.folders)
    }

    fn shared(&self, bed: &str) -> Vec<Shared> {
        let host = |(name, host): (&String, &Host)| {
            let folder = self.folder_of(bed, name);
            let mut ops = vec![Op::Host { route: host.route.clone(), folder: folder.clone() }];
            if let (Some(agent), Some(watch)) = (&host.agent, &self.watch) {
                ops.extend(watched(agent, (bed, name), &folder, watch));
            }
            let (name, host) = (format!("reach the host {name}"), Some(name.clone()));
            Shared { name, host, limit: Some(REACHES), ops }
        };
        self.hosts.iter().map(host).collect()
    }

    fn place(&self, bed: &str, role: &Role, instance: &Instance) -> Vec<Op> {
        let Instance { address, port, folder, .. } = instance;
        let recipe = &role.recipe.recipe;
        let programs = recipe.needs.iter().chain(recipe.start.first());
        let programs = programs.filter(|word| !word.contains("{{")).cloned().collect();
        let needs = Op::Needs {
            what: format!("the role `{}`", role.name),
            programs,
            packages: recipe.packages.join(" "),
            address: format!("{address}:{port}"),
        };
        let user = Some(role.user().to_owned());
        let groups = self.group(bed, instance).map(|name| Op::Groups { name });
        let folder = Op::Folder { path: folder.clone(), user };
        [Some(needs), groups, Some(folder)].into_iter().flatten().collect()
    }

    fn moves(&self, _: &str, _: &str, _: Option<&str>, _: &str) -> Option<Vec<Words>> {
        None
    }

    fn start(&self, bed: &str, role: &Role, instance: &Instance) -> Result<Order, TestbedError> {
        let (becomes, enters) = (Some(role.user().to_owned()), self.group(bed, instance));
        Ok(Order { becomes, enters, ..Order::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dealt(role: &str, count: u32, hosts: &[&str]) -> Dealt {
        let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
        Dealt { role: role.to_owned(), count, port: 8080, hosts }
    }

    fn host(name: &str) -> (Route, Option<Ipv4Addr>) {
        let name = name.to_owned();
        let route = Route { address: name.clone(), name, user: None, port: None, config: None };
        (route, Some(Ipv4Addr::LOCALHOST))
    }

    #[test]
    fn instances_are_dealt_out_to_the_hosts_with_the_fewest() {
        let roles = [dealt("db", 1, &["b"]), dealt("web", 4, &["a", "b", "c"])];
        let found = deal(&roles).unwrap();
        let of = |number| found[&("web".to_owned(), number)].as_str();
        assert_eq!([of(1), of(2), of(3), of(4)], ["a", "c", "a", "b"]);
        assert!(deal(&[dealt("web", 1, &[])]).is_err());
    }

    #[test]
    fn no_two_instances_have_the_same_port_of_an_address() {
        let roles = [dealt("db", 1, &["b"]), dealt("web", 3, &["a", "b"])];
        let hosts = [host("a"), host("b"), host("unused")];
        let ssh = Ssh::deal(&hosts, &roles, None, &Client::default(), None).unwrap();
        let ports: BTreeSet<u16> = ssh.spots.values().map(|(_, port)| *port).collect();
        assert_eq!(ports.into_iter().collect::<Vec<_>>(), [8080, 8081, 8082, 8083]);
        assert_eq!(ssh.hosts.len(), 2);
        assert_eq!(ssh.shared("e1").len(), 2);
    }
}
