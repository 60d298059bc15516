//! The host: what its `/proc` and `/sys` tell, without a process being started.
//!
//! Each part of it is read from files of its own, and is left out where they are not there: hosts
//! differ. A part that cannot be read does not keep the others from being read.
//!
//! # Sources
//!
//! proc(5) and its pages; the kernel's `Documentation/admin-guide/iostats.rst` and
//! `Documentation/accounting/psi.rst`. Names and units are those of node_exporter.

pub(crate) mod descriptors;
pub(crate) mod diag;
pub(crate) mod disk;
pub(crate) mod load;
pub(crate) mod memory;
pub(crate) mod network;
pub(crate) mod pressure;
pub(crate) mod processes;
pub(crate) mod sockets;
pub(crate) mod stat;
pub(crate) mod states;

use std::path::{Path, PathBuf};

use crate::collector::{CollectError, Collector, Kind, Source};
use crate::namespace::Namespace;
use crate::sample::Samples;

/// The collector `host`.
pub(crate) const KIND: Kind = Kind {
    name: "host",
    about: "the host: processors, memory, disks, network, processes, pressure, TCP",
    needs: &[],
    groups: &[
        &stat::GROUP,
        &load::GROUP,
        &memory::MEMINFO,
        &memory::VMSTAT,
        &disk::GROUP,
        &processes::GROUP,
        &descriptors::GROUP,
        &pressure::GROUP,
        &network::GROUP,
        &states::GROUP,
        &sockets::SNMP,
        &sockets::NETSTAT,
        &sockets::SOCKSTAT,
    ],
    make: |source| {
        let home = source.root.join("proc");
        Ok(Box::new(Host::new(source, home, &[HOST, NET])))
    },
};

/// The collector `network`.
pub(crate) const NETWORK: Kind = Kind {
    name: "network",
    about: "the network of a namespace: interfaces and TCP",
    needs: &[],
    groups: &[
        &network::GROUP,
        &network::SPEED,
        &states::GROUP,
        &sockets::SNMP,
        &sockets::NETSTAT,
        &sockets::SOCKSTAT,
    ],
    make: |source| Ok(Box::new(Host::new(source, net_of(source), &[NET]))),
};

/// Reads one part of the host.
type Read = fn(&Host, &mut Samples) -> Result<(), CollectError>;

const HOST: &[Read] = &[
    stat::read,
    load::read,
    memory::read,
    disk::read,
    processes::read,
    descriptors::read,
    pressure::read,
];

const NET: &[Read] = &[network::read, network::read_speed, sockets::read, states::read];

struct Host {
    /// The folder without which there is nothing to read.
    home: PathBuf,
    root: PathBuf,
    net: PathBuf,
    net_bits_per_s: Option<u64>,
    /// The network namespace whose sockets the kernel can be asked for, where it is known.
    namespace: Option<Namespace>,
    processes: Vec<String>,
    parts: Vec<Read>,
}

fn net_of(source: &Source) -> PathBuf {
    source.net.clone().unwrap_or_else(|| source.root.join("proc/net"))
}

impl Host {
    fn new(source: &Source, home: PathBuf, parts: &[&[Read]]) -> Self {
        let processes = source.processes.clone();
        let (root, net) = (source.root.clone(), net_of(source));
        let namespace = match &source.net {
            None if root == Path::new("/") => Some(Namespace::Own),
            None => None,
            Some(net) => Namespace::of_figures(net),
        };
        let net_bits_per_s = source.net_bits_per_s;
        Self { home, root, net, net_bits_per_s, namespace, processes, parts: parts.concat() }
    }

    /// The text of a file below the root.
    fn text(&self, path: &str) -> Result<Option<String>, CollectError> {
        crate::read::text(&self.root.join(path))
    }

    /// Reads a file by a parser. One that gives nothing is not what it should be, and is counted.
    fn parse(
        path: &Path,
        out: &mut Samples,
        parser: impl FnOnce(&str, &mut Samples),
    ) -> Result<(), CollectError> {
        let Some(text) = crate::read::text(path)? else { return Ok(()) };
        let before = (out.len(), out.left_out());
        parser(&text, out);
        if before == (out.len(), out.left_out()) && !text.trim().is_empty() {
            out.leave_out(1, path.display().to_string());
        }
        Ok(())
    }
}

impl Collector for Host {
    fn collect(&mut self, out: &mut Samples) -> Result<(), CollectError> {
        let mut first = None;
        for read in &self.parts {
            if let Err(error) = read(self, out) {
                out.leave_out(1, plimsoll_units::failure::chain(&error));
                first.get_or_insert(error);
            }
        }
        match (first, out.first_left_out()) {
            _ if !out.is_empty() => Ok(()),
            (Some(error), _) => Err(error),
            (None, Some(file)) => Err(CollectError::garbage("the files of a host", file)),
            (None, None) => Err(CollectError::Missing(self.home.clone())),
        }
    }
}
