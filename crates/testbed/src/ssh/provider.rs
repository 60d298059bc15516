//! The provider `ssh`: which instance stands on which host, at which port, and what is done to
//! reach the hosts.

use plimsoll_net::resolve::resolve;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::agent::Agent;
use crate::cgroup::group_of;
use crate::command::Words;
use crate::error::TestbedError;
use crate::launch::Order;
use crate::ledger::Serves;
use crate::op::Op;
use crate::provider::{Most, Process, Provider, Shared, Spot, cannot_limit};
use crate::role::{Instance, OnHost, Role};
use crate::route::Route;
use crate::ssh::client::{Client, Lost};
use crate::ssh::watch::{Watch, ops as watched};

/// Where folders are made on hosts, where the plan names no other place.
// tidy: allow(shared-folder, the script of the host looks whose it is)
const FOLDERS: &str = "/var/tmp";
/// How long it may take to reach a host: this program is copied there.
const REACHES: Duration = Duration::from_secs(600);

/// A role, and the hosts that its instances are dealt out to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dealt {
    /// The role.
    pub role: String,
    /// How many instances there are; of those that come and go none.
    pub count: u32,
    /// Whether they come and go while the others stand.
    pub comes: bool,
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
    address: String,
    agent: Option<Agent>,
}

/// `ssh`: servers on hosts that are reached by `ssh`.
#[derive(Debug)]
pub struct Ssh {
    /// The hosts that have an instance, or may get one, by name.
    hosts: BTreeMap<String, Host>,
    /// The host and the port of each instance, by its role and number.
    spots: Mutex<Spots>,
    /// The roles that are dealt out.
    roles: BTreeSet<String>,
    /// Those whose instances come and go.
    coming: Vec<Dealt>,
    folders: PathBuf,
    watch: Option<Watch>,
    lost: Lost,
}

impl Ssh {
    /// Deals instances out to hosts, and looks up where those listen, unless the client only looks:
    /// then the address of a name is one that is nobody's. Nothing is connected to.
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
        let coming: Vec<Dealt> = roles.iter().filter(|of| of.comes).cloned().collect();
        let may_get = coming.iter().flat_map(|of| &of.hosts);
        let used: BTreeSet<&String> = names.values().chain(may_get).collect();
        let mut all = BTreeMap::new();
        for (route, serves) in hosts.iter().filter(|(route, _)| used.contains(&route.name)) {
            route.check()?;
            let address = match serves {
                Some(address) => address.to_string(),
                None if client.only_looks => looked_at(route, all.len()),
                None => look_up(route, &client.real_address(route)?)?.to_string(),
            };
            let agent = watch.as_ref().map(|_| Agent::planned()).transpose()?;
            all.insert(route.name.clone(), Host { route: route.clone(), address, agent });
        }
        let spots = Mutex::new(ports(roles, &names, &all)?);
        let folders = PathBuf::from(folders.unwrap_or(FOLDERS));
        let lost = client.lost.clone();
        let roles = roles.iter().map(|of| of.role.clone()).collect();
        Ok(Self { hosts: all, spots, roles, coming, folders, watch, lost })
    }

    fn spots(&self) -> MutexGuard<'_, Spots> {
        self.spots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn folder_of(&self, bed: &str, host: &str) -> PathBuf {
        self.folders.join(format!("plimsoll-{bed}.{host}"))
    }

    fn spot(&self, role: &str, number: u32) -> Result<(&Host, u16), TestbedError> {
        let (key, mut spots) = ((role.to_owned(), number), self.spots());
        let spot = match spots.get(&key).cloned() {
            Some(spot) => spot,
            None => {
                let spot = self.next(role, number, &spots)?;
                spots.insert(key, spot.clone());
                spot
            }
        };
        let (name, port) = spot;
        let host = self.hosts.get(&name);
        host.map(|host| (host, port)).ok_or_else(|| no_host(role, number))
    }

    /// A place for one more instance of a role: on the host with the fewest that is not away, at
    /// the first port that no other instance has there.
    fn next(&self, role: &str, number: u32, spots: &Spots) -> Result<(String, u16), TestbedError> {
        let of = self.coming.iter().find(|of| of.role == role);
        let of = of.ok_or_else(|| no_host(role, number))?;
        let there = of.hosts.iter().filter(|name| !self.lost.rests(name));
        let count = |name: &str| spots.values().filter(|(host, _)| host == name).count();
        let Some(name) = there.min_by_key(|name| count(name)) else {
            let why = "the connection to each of them broke a moment ago".to_owned();
            return Err(TestbedError::Away { host: of.hosts.join(", "), why });
        };
        let address = |name: &str| self.hosts.get(name).map(|host| &host.address);
        let at = address(name);
        let taken = spots.values().filter(|(host, _)| address(host) == at);
        let taken: BTreeSet<u16> = taken.map(|(_, port)| *port).collect();
        let free = (of.port..=u16::MAX).find(|port| !taken.contains(port));
        let port = free.ok_or_else(|| {
            TestbedError::Wrong(format!("find a port for {role}-{number} on `{name}`"))
        })?;
        Ok((name.clone(), port))
    }

    /// The name of the cgroups of an instance, where it gets some to be watched by.
    fn group(&self, bed: &str, instance: &Instance) -> Option<String> {
        let is_watched = self.watch.as_ref().is_some_and(|watch| watch.cgroups);
        is_watched.then(|| group_of(bed, &instance.name))
    }

    fn on(&self, name: &str) -> OnHost {
        let agent = self.hosts.get(name).and_then(|host| host.agent.clone());
        OnHost { name: name.to_owned(), agent }
    }
}

fn no_host(role: &str, number: u32) -> TestbedError {
    TestbedError::Wrong(format!("place {role}-{number}: no host of the plan is for it"))
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
            let free = (*port..=u16::MAX).find(|port| taken.insert((&host.address, *port)));
            let port = free.ok_or_else(|| {
                TestbedError::Wrong(format!("find a port for {role}-{number} on `{name}`"))
            })?;
            spots.insert(key, (name.clone(), port));
        }
    }
    Ok(spots)
}

/// The address of a host that is only looked at: the plan's, where that is one, else one that is
/// nobody's (RFC 5737).
fn looked_at(route: &Route, number: usize) -> String {
    let address = route.address.parse::<Ipv4Addr>();
    address.map_or_else(|_| format!("192.0.2.{}", 1 + number % 254), |address| address.to_string())
}

/// The address of a name, as this host knows it.
fn look_up(route: &Route, name: &str) -> Result<Ipv4Addr, TestbedError> {
    if let Ok(address) = name.parse() {
        return Ok(address);
    }
    let found = resolve(name, 0).into_iter().flatten();
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
        if let Some(of) = &role.image {
            return Err(TestbedError::Wrong(format!(
                "start the role `{}` from the image `{}` on other hosts: images are of this one; \
                 leave `image` out",
                role.name, of.image.name
            )));
        }
        cannot_limit(role, "ssh")
    }

    fn address(&self, place: usize) -> Result<(String, Option<u16>), TestbedError> {
        Process.address(place)
    }

    fn spot(&self, role: &Role, number: u32, place: usize) -> Result<Spot, TestbedError> {
        // What no host is for stands on this one: the balancer of a pool.
        if !self.roles.contains(&role.name) {
            return Process.spot(role, number, place);
        }
        let (host, port) = Self::spot(self, &role.name, number)?;
        let on = Some(self.on(&host.route.name));
        Ok(Spot { address: host.address.clone(), port: Some(port), host: on })
    }

    fn left(&self, role: &Role, number: u32, of: &Serves) -> Spot {
        let host = of.host.as_ref().map(|name| self.on(name));
        if let Some(host) = &host {
            self.spots().insert((role.name.clone(), number), (host.name.clone(), of.port));
        }
        Spot { address: of.address.clone(), port: Some(of.port), host }
    }

    fn most(&self, role: &str, most: u32) -> Vec<Most> {
        let Some(of) = self.coming.iter().find(|of| of.role == role) else { return Vec::new() };
        let count = u32::try_from(of.hosts.len()).unwrap_or(u32::MAX).max(1);
        let spots = self.spots();
        let address = |name: &String| self.hosts.get(name).map(|host| &host.address);
        let one = |host: &String| {
            let others = spots.iter().filter(|((other, _), _)| other != role);
            let taken = others.filter(|(_, (on, _))| address(on) == address(host));
            let taken: BTreeSet<u16> = taken.map(|(_, (_, port))| *port).collect();
            let free = (of.port..=u16::MAX).filter(|port| !taken.contains(port));
            let alone: Vec<u16> = free.take(most as usize).collect();
            let ports = (alone.first().copied()?, alone.last().copied()?);
            let (usual, alone) = (most.div_ceil(count), u32::try_from(alone.len()).ok()?);
            Some(Most { host: host.clone(), usual, alone, ports })
        };
        of.hosts.iter().filter_map(one).collect()
    }

    fn frees(&self, role: &str, number: u32) {
        if self.coming.iter().any(|of| of.role == role) {
            self.spots().remove(&(role.to_owned(), number));
        }
    }

    fn hosts(&self) -> Vec<OnHost> {
        self.hosts.keys().map(|name| self.on(name)).collect()
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
        if instance.host.is_none() {
            return Process.place(bed, role, instance);
        }
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
        if instance.host.is_none() {
            return Process.start(bed, role, instance);
        }
        let (becomes, enters) = (Some(role.user().to_owned()), self.group(bed, instance));
        Ok(Order { becomes, enters, ..Order::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dealt(role: &str, count: u32, hosts: &[&str]) -> Dealt {
        let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
        Dealt { role: role.to_owned(), count, comes: false, port: 8080, hosts }
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
        let ports: BTreeSet<u16> = ssh.spots().values().map(|(_, port)| *port).collect();
        assert_eq!(ports.into_iter().collect::<Vec<_>>(), [8080, 8081, 8082, 8083]);
        assert_eq!(ssh.hosts.len(), 2);
        assert_eq!(ssh.shared("e1").len(), 2);
    }

    /// They go to the host with the fewest that is there, and leave their places to others.
    #[test]
    fn those_that_come_and_go_are_dealt_out_anew_but_to_a_host_that_is_lost() {
        let coming = Dealt { comes: true, ..dealt("web", 0, &["a", "b"]) };
        let client = Client::default();
        let hosts = [host("a"), host("b")];
        let roles = [dealt("db", 1, &["a"]), coming];
        let ssh = Ssh::deal(&hosts, &roles, None, &client, None).unwrap();
        let of = |number| {
            let (host, port) = Ssh::spot(&ssh, "web", number).unwrap();
            (host.route.name.clone(), port)
        };
        let at = |host: &str, port| (host.to_owned(), port);
        // All have the same address here, so no port is there twice.
        assert_eq!([of(1), of(2)], [at("b", 8081), at("a", 8082)]);
        assert_eq!(of(1), at("b", 8081), "it stays where it is");
        client.lost.note(&host("b").0);
        assert_eq!(of(3), at("a", 8083));
        ssh.frees("web", 1);
        assert_eq!(of(4), at("a", 8081));
        client.lost.note(&host("a").0);
        let none = Ssh::spot(&ssh, "web", 5).unwrap_err().to_string();
        assert!(none.contains("a, b") && none.contains("broke"), "{none}");
        client.lost.found("b");
        assert_eq!(of(5).0, "b");
        let most = Ssh::deal(&hosts, &roles, None, &client, None).unwrap().most("web", 5);
        let told = most.iter().map(|of| (of.host.as_str(), of.usual, of.alone, of.ports));
        let expected = [("a", 3, 5, (8081, 8085)), ("b", 3, 5, (8081, 8085))];
        assert_eq!(told.collect::<Vec<_>>(), expected);
    }
}
