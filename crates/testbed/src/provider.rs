//! Providers: what gives an instance its place. Each tells, as data, what is done for what all
//! share and for one instance; the worker of this crate does it, and `check` prints it.

use std::fs::File;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

use plimsoll_units::own::OwnFolder;
use rustix::fs::{FlockOperation, OFlags, flock};

use crate::cgroup::{Cgroups, LEAST_QUOTA_US, group_of, quota};
use crate::command::{Words, is_there};
use crate::error::TestbedError;
use crate::launch::Order;
use crate::ledger::Serves;
use crate::op::Op;
use crate::rents::Rents;
use crate::role::{Instance, Limits, OnHost, Role};
use crate::thing::Thing;
use crate::users::{User, is_root};
use plimsoll_units::{show_duration, show_share};

/// The folder beside the ledgers in which networks are locked.
const NETWORKS: &str = ".networks";

/// What gives instances their places.
pub trait Provider: Sync {
    /// Its name in plans.
    fn name(&self) -> &'static str;

    /// What a role asks for that it cannot do, and which provider can.
    ///
    /// # Errors
    /// The first of it.
    fn check(&self, role: &Role) -> Result<(), TestbedError>;

    /// Where the instance of a place in the bed, from 0, listens: its address, and its port where
    /// that is not the recipe's own.
    ///
    /// # Errors
    /// Where there is no place left.
    fn address(&self, place: usize) -> Result<(String, Option<u16>), TestbedError>;

    /// Where an instance stands, by its number in its role and its place in the bed.
    ///
    /// # Errors
    /// Where there is no place left.
    fn spot(&self, _role: &Role, _number: u32, place: usize) -> Result<Spot, TestbedError> {
        let (address, port) = self.address(place)?;
        Ok(Spot { address, port, host: None })
    }

    /// Where an instance stands that a killed process has left.
    fn left(&self, _role: &Role, _number: u32, of: &Serves) -> Spot {
        Spot { address: of.address.clone(), port: Some(of.port), host: None }
    }

    /// An instance is gone: others may have its place.
    fn frees(&self, _role: &str, _number: u32) {}

    /// The other hosts that instances may stand on.
    fn hosts(&self) -> Vec<OnHost> {
        Vec::new()
    }

    /// Where up to so many instances of a role that come and go may stand on other hosts.
    fn most(&self, _role: &str, _most: u32) -> Vec<Most> {
        Vec::new()
    }

    /// Where the folders of instances are made, where it is on other hosts.
    fn folders(&self) -> Option<&Path> {
        None
    }

    /// What all instances of a bed share, which goes by its id, a step each.
    fn shared(&self, bed: &str) -> Vec<Shared>;

    /// The place of one instance.
    fn place(&self, bed: &str, role: &Role, instance: &Instance) -> Vec<Op>;

    /// The commands that move an address of the bed to an instance, from another that had it;
    /// `None` where that cannot be done.
    fn moves(&self, bed: &str, address: &str, from: Option<&str>, to: &str) -> Option<Vec<Words>>;

    /// The command that says something if, and only if, an instance has an address of the bed that
    /// moves; `None` where none can.
    fn shows(&self, _bed: &str, _address: &str, _of: &str) -> Option<Words> {
        None
    }

    /// The network namespace of an instance, as `ip` knows it; `None` where it has none of its own.
    fn namespace(&self, _bed: &str, _instance: &str) -> Option<String> {
        None
    }

    /// The address that this host has in the network of the bed; `None` where there is none.
    fn gateway(&self) -> Option<String> {
        None
    }

    /// How an instance's process begins: the groups that it enters, the user that it becomes, and
    /// the words before those of its command.
    ///
    /// # Errors
    /// A user that there is not.
    fn start(&self, bed: &str, role: &Role, instance: &Instance) -> Result<Order, TestbedError>;

    /// Itself, where it rents instances from a cloud: these have an address when they were rented.
    fn rents(&self) -> Option<&dyn Rents> {
        None
    }

    /// Whether commands can be run on the instances of a role, and files written there.
    fn is_reached(&self, _: &str) -> bool {
        true
    }
}

/// The most instances that a role whose instances come and go may have on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Most {
    /// The host.
    pub host: String,
    /// How many there are at most where all hosts are there.
    pub usual: u32,
    /// How many where all others are away.
    pub alone: u32,
    /// The first and the last port that they may have then.
    pub ports: (u16, u16),
}

/// Where an instance stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// Its address.
    pub address: String,
    /// Its port; the recipe's own where there is none.
    pub port: Option<u16>,
    /// The host; none where that is this one.
    pub host: Option<OnHost>,
}

/// What instances of a bed share, made in one step.
#[derive(Debug, Clone, PartialEq)]
pub struct Shared {
    /// What is done, as a verb and its object.
    pub name: String,
    /// The host that it is done on; none where that is this one.
    pub host: Option<String>,
    /// How long it may take, where that is not as for other steps.
    pub limit: Option<Duration>,
    /// What is done.
    pub ops: Vec<Op>,
}

/// Refuses the limits of a role by a provider that can enforce none.
///
/// # Errors
/// The first of them.
pub(crate) fn cannot_limit(role: &Role, provider: &str) -> Result<(), TestbedError> {
    let Limits { cpu, cpuset, memory, processes, rate, .. } = &role.limits;
    let asked = [
        ("cpu", cpu.is_some()),
        ("cpuset", cpuset.is_some()),
        ("memory", memory.is_some()),
        ("processes", processes.is_some()),
        ("rate", rate.is_some()),
        ("sysctl", !role.sysctl.is_empty()),
    ];
    match asked.iter().find(|(_, is_asked)| *is_asked) {
        None => Ok(()),
        Some((key, _)) => Err(TestbedError::Wrong(format!(
            "limit role.{}.{key} by the provider `{provider}`, which cannot; say provider = \
             \"namespace\" in [testbed]",
            role.name
        ))),
    }
}

/// `process`: children of this program on ports of this host. Nothing but the program is needed.
#[derive(Debug, Clone, Copy)]
pub struct Process;

impl Provider for Process {
    fn name(&self) -> &'static str {
        "process"
    }

    fn check(&self, role: &Role) -> Result<(), TestbedError> {
        cannot_limit(role, "process")
    }

    fn address(&self, _: usize) -> Result<(String, Option<u16>), TestbedError> {
        let free = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .and_then(|listener| listener.local_addr());
        let free = free.map_err(TestbedError::file("find a free port of", "127.0.0.1"))?;
        Ok((Ipv4Addr::LOCALHOST.to_string(), Some(free.port())))
    }

    fn shared(&self, _: &str) -> Vec<Shared> {
        Vec::new()
    }

    fn place(&self, _: &str, role: &Role, instance: &Instance) -> Vec<Op> {
        let user = is_root().then(|| role.user().to_owned());
        vec![Op::Folder { path: instance.folder.clone(), user }]
    }

    fn moves(&self, _: &str, _: &str, _: Option<&str>, _: &str) -> Option<Vec<Words>> {
        None
    }

    fn start(&self, _: &str, role: &Role, _: &Instance) -> Result<Order, TestbedError> {
        let user = is_root().then(|| User::find(role.user())).transpose()?;
        Ok(Order { user: user.map(|user| (user.id, user.group)), ..Order::default() })
    }
}

/// `namespace`: each instance in a network namespace of its own, on a bridge of the bed, in cgroups
/// with its limits, as a user without rights. Needs root.
#[derive(Debug)]
pub struct Namespace {
    /// The first two parts of the bed's network behind `10.`, which has 253 places.
    network: (u8, u8),
    /// Keeps other beds away from the network until its bridge is there.
    _lock: File,
    cgroups: Cgroups,
}

impl Namespace {
    /// Takes a network that this host has no way to, and looks for the host's kind of cgroups.
    /// `ledgers` is the folder of all ledgers, where networks that beds begin with are locked.
    ///
    /// # Errors
    /// Not root; no network left; no cgroups.
    pub fn probe(root: &Path, ledgers: &Path) -> Result<Self, TestbedError> {
        if !is_root() {
            return Err(TestbedError::Wrong(
                "make namespaces as a user without rights; run it as root, or say provider = \
                 \"process\" in [testbed]"
                    .to_owned(),
            ));
        }
        let routes = std::fs::read_to_string(root.join("proc/net/route")).unwrap_or_default();
        Self::one_of(free_networks(&routes), root, ledgers)
    }

    /// The network that an address of a bed is in which stands already.
    ///
    /// # Errors
    /// An address of another kind of network; one that another bed begins with; no cgroups.
    pub fn around(address: &str, root: &Path, ledgers: &Path) -> Result<Self, TestbedError> {
        let network = match address.parse::<Ipv4Addr>().map(|of| of.octets()) {
            Ok([10, a, b, _]) => Some((a, b)),
            _ => None,
        };
        Self::one_of(network.into_iter(), root, ledgers)
    }

    /// The first of some networks that no other bed begins with.
    fn one_of(
        networks: impl Iterator<Item = (u8, u8)>,
        root: &Path,
        ledgers: &Path,
    ) -> Result<Self, TestbedError> {
        let locks = ledgers.join(NETWORKS);
        let locks = OwnFolder::make(&locks)?;
        for (a, b) in networks {
            let name = format!("10.{a}.{b}");
            let lock = locks.file(name.as_ref(), OFlags::WRONLY | OFlags::CREATE)?;
            if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
                return Ok(Self { network: (a, b), _lock: lock, cgroups: Cgroups::probe(root)? });
            }
        }
        let text = "find a network below 10.64.0.0/10 that is not in use";
        Err(TestbedError::Wrong(text.to_owned()))
    }

    fn address_of(&self, place: u8) -> String {
        Ipv4Addr::new(10, self.network.0, self.network.1, place).to_string()
    }
}

/// What a provider can do on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ability {
    /// Its name.
    pub provider: &'static str,
    /// What it lacks, and what would change it, a sentence each; nothing where it can be used.
    pub lacks: Vec<String>,
}

/// What each provider can do on the host below this root. Nothing is made.
#[must_use]
pub fn abilities(root: &Path) -> Vec<Ability> {
    let mut lacks = Vec::new();
    if !is_root() {
        lacks.push("it needs root: run it by sudo".to_owned());
    }
    for (program, package) in PROGRAMS {
        if !is_there(program) {
            lacks.push(format!("it needs `{program}`: apt-get install {package}"));
        }
    }
    if !root.join("proc/self/ns/net").exists() {
        lacks.push("the kernel has no network namespaces (CONFIG_NET_NS)".to_owned());
    }
    lacks.extend(Cgroups::probe(root).err().map(|error| error.to_string()));
    let of_ssh = (!is_there("ssh")).then_some("it needs `ssh`: apt-get install openssh-client");
    vec![
        Ability { provider: Process.name(), lacks: Vec::new() },
        Ability { provider: "namespace", lacks },
        Ability { provider: "ssh", lacks: of_ssh.map(str::to_owned).into_iter().collect() },
    ]
}

/// The programs that namespaces are made with, and the packages that have them.
const PROGRAMS: [(&str, &str); 6] = [
    ("ip", "iproute2"),
    ("tc", "iproute2"),
    ("nsenter", "util-linux"),
    ("unshare", "util-linux"),
    ("setpriv", "util-linux"),
    ("sysctl", "procps"),
];

/// The networks `10.a.b.0/24` from 10.64 on that no route of `/proc/net/route` leads to.
fn free_networks(routes: &str) -> impl Iterator<Item = (u8, u8)> + use<> {
    // Destinations stand in hexadecimal, in the order of a little-endian machine's memory.
    let taken: Vec<[u8; 4]> = routes
        .lines()
        .filter_map(|line| u32::from_str_radix(line.split_whitespace().nth(1)?, 16).ok())
        .map(u32::to_le_bytes)
        .collect();
    let networks = (64..128).flat_map(|a| (0..=255).map(move |b| (a, b)));
    networks.filter(move |(a, b)| !taken.iter().any(|to| to[..3] == [10, *a, *b]))
}

/// The bridge of a bed.
fn bridge(bed: &str) -> String {
    format!("pl{bed}")
}

/// The network namespace of an instance.
#[must_use]
pub fn namespace_of(bed: &str, instance: &str) -> String {
    format!("pl-{bed}-{instance}")
}

/// A bucket of tokens that lets so many bits through in a second: what comes at once is as much as
/// passes in 10 ms, or some packets; what would wait for longer than 100 ms is dropped.
fn bucket(rate: u64) -> Vec<String> {
    let burst = (rate / 8 / 100).max(16 << 10);
    let words = format!("tbf rate {rate}bit burst {burst}b latency 100ms");
    words.split(' ').map(str::to_owned).collect()
}

/// The hardware address of whoever has an address: always the same, so that others reach who comes
/// to have it next at once. They keep the hardware address of an address for up to a minute; and a
/// bridge without one of its own has that of one of its ports, another one whenever these change.
fn hardware(address: &str) -> String {
    let [a, b, c, d] = address.parse::<Ipv4Addr>().map_or([0; 4], |of| of.octets());
    format!("02:50:{a:02x}:{b:02x}:{c:02x}:{d:02x}")
}

fn ip(words: &[&str]) -> Words {
    Words::of(&[&["ip"], words].concat())
}

impl Provider for Namespace {
    fn name(&self) -> &'static str {
        "namespace"
    }

    fn check(&self, role: &Role) -> Result<(), TestbedError> {
        let Limits { cpu, cpu_period_us, .. } = role.limits;
        if let Some(cpu) = cpu.filter(|cpu| quota(*cpu, cpu_period_us) < LEAST_QUOTA_US) {
            return Err(TestbedError::Wrong(format!(
                "limit role.{}.cpu to {}: in periods of {} that is less than the 1 ms that the \
                 kernel takes; say a longer cpu_period, such as 100ms",
                role.name,
                show_share(cpu),
                show_duration(cpu_period_us * 1000)
            )));
        }
        let of_host = role.sysctl.keys().find(|key| !key.starts_with("net."));
        match of_host {
            None => Ok(()),
            Some(key) => Err(TestbedError::Wrong(format!(
                "set role.{}.sysctl.{key}: it is the whole host's; only net.… is a namespace's own",
                role.name
            ))),
        }
    }

    fn address(&self, place: usize) -> Result<(String, Option<u16>), TestbedError> {
        let number = u8::try_from(place + 2).ok().filter(|number| *number < 255);
        let number = number.ok_or_else(|| {
            TestbedError::Wrong("place more than 253 instances in one network".to_owned())
        })?;
        Ok((self.address_of(number), None))
    }

    fn shared(&self, bed: &str) -> Vec<Shared> {
        let (name, own) = (bridge(bed), self.address_of(1));
        let (gateway, hardware) = (format!("{own}/24"), hardware(&own));
        let alias = format!("plimsoll {bed}");
        let by = vec![
            ip(&["link", "add", &name, "address", &hardware, "type", "bridge"]),
            ip(&["link", "set", &name, "alias", &alias]),
            ip(&["address", "add", &gateway, "dev", &name]),
            ip(&["link", "set", &name, "up"]),
        ];
        let ops = vec![Op::Make { thing: Thing::Link { name, alias }, by }];
        vec![Shared { name: "make the network".to_owned(), host: None, limit: None, ops }]
    }

    fn place(&self, bed: &str, role: &Role, instance: &Instance) -> Vec<Op> {
        let name = namespace_of(bed, &instance.name);
        let (outer, master) = (format!("{}-{}", bridge(bed), instance.place), bridge(bed));
        let address = format!("{}/24", instance.address);
        let hardware = hardware(&instance.address);
        let alias = format!("plimsoll {bed}");
        let made =
            vec![ip(&["netns", "add", &name]), ip(&["-n", &name, "link", "set", "lo", "up"])];
        // A link of its own: that of a namespace that is gone lingers for a moment.
        let mut linked = vec![
            ip(&[
                &["link", "add", &outer, "type", "veth", "peer", "name", "eth0"][..],
                &["address", &hardware, "netns", &name],
            ]
            .concat()),
            ip(&["link", "set", &outer, "alias", &alias]),
            ip(&["link", "set", &outer, "master", &master, "up"]),
            ip(&["-n", &name, "address", "add", &address, "dev", "eth0"]),
            ip(&["-n", &name, "link", "set", "eth0", "up"]),
        ];
        linked.extend(role.sysctl.iter().map(|(key, value)| {
            let set = format!("{key}={value}");
            Words(self.inside(&name)).and(&["sysctl".to_owned(), "-qw".to_owned(), set])
        }));
        // What the instance sends leaves by its own end; what it receives, by the bridge's.
        linked.extend(role.limits.rate.iter().flat_map(|rate| {
            let own = Words::of(&["tc", "-n", &name, "qdisc", "add", "dev", "eth0", "root"]);
            let bridges = Words::of(&["tc", "qdisc", "add", "dev", &outer, "root"]);
            [own.and(&bucket(*rate)), bridges.and(&bucket(*rate))]
        }));
        let mut ops = vec![
            Op::Make { thing: Thing::Namespace { name }, by: made },
            Op::Make { thing: Thing::Link { name: outer, alias }, by: linked },
        ];
        ops.extend(self.cgroups.of(&group_of(bed, &instance.name), &role.limits));
        let user = Some(role.user().to_owned());
        ops.push(Op::Folder { path: instance.folder.clone(), user });
        ops
    }

    fn moves(&self, bed: &str, address: &str, from: Option<&str>, to: &str) -> Option<Vec<Words>> {
        let of = |verb: &str, instance: &str| {
            let (name, address) = (namespace_of(bed, instance), format!("{address}/32"));
            ip(&["-n", &name, "address", verb, &address, "dev", "eth0"])
        };
        let taken = from.map(|from| of("delete", from));
        // Whoever has asked for the address before asks again.
        let forgotten = ip(&["neighbour", "flush", "to", address, "dev", &bridge(bed)]);
        Some(taken.into_iter().chain([of("add", to), forgotten]).collect())
    }

    fn namespace(&self, bed: &str, instance: &str) -> Option<String> {
        Some(namespace_of(bed, instance))
    }

    fn gateway(&self) -> Option<String> {
        Some(self.address_of(1))
    }

    fn shows(&self, bed: &str, address: &str, of: &str) -> Option<Words> {
        let (name, address) = (namespace_of(bed, of), format!("{address}/32"));
        Some(ip(&["-n", &name, "-o", "address", "show", "dev", "eth0", "to", &address]))
    }

    fn start(&self, bed: &str, role: &Role, instance: &Instance) -> Result<Order, TestbedError> {
        let mut words = self.inside(&namespace_of(bed, &instance.name));
        let User { id, group } = User::find(role.user())?;
        let (id, group) = (id.to_string(), group.to_string());
        let more = ["unshare", "--mount", "--", "setpriv", "--reuid", &id, "--regid", &group];
        words.extend(more.map(str::to_owned));
        words.extend(["--clear-groups", "--no-new-privs", "--"].map(str::to_owned));
        let cgroups = self.cgroups.entries(&group_of(bed, &instance.name));
        Ok(Order { cgroups, words, ..Order::default() })
    }
}

impl Namespace {
    /// The words that enter a network namespace and keep the process's number.
    fn inside(&self, name: &str) -> Vec<String> {
        ["nsenter".to_owned(), format!("--net=/run/netns/{name}"), "--".to_owned()].to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_that_is_used_is_not_taken() {
        let head = "Iface Destination Gateway Flags\n";
        assert_eq!(free_networks(head).next(), Some((64, 0)));
        let used = format!("{head}br 0000400A 00000000 0001\nbr 0001400A 00000000 0001\n");
        assert_eq!(free_networks(&used).next(), Some((64, 2)));
    }
}
