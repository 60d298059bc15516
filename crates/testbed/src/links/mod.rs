//! Links: how far instances are from each other. What goes between two of them, or between one and
//! this host, takes half of a round trip longer each way, a little more or less where that is asked
//! for; some of it is lost, and no more than so much is carried: by a router of our own.

mod matrix;
mod measure;
mod router;
mod tun;
mod way;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::TestbedError;
use crate::flow::Class;
use crate::launch::Order;
use crate::making::BedContext;
use crate::op::Op;
use crate::outline::Outline;
use crate::role::Instance;
use crate::users::is_root;

pub(crate) use router::READY;
pub use router::carry;
use tun::SOURCE;
pub use way::Terms;

/// The file of what the router is to do, in its folder.
const FILE: &str = "links.json";
/// What this host is called among roles, and as an end of a link.
const LOAD: &str = "load";
const HOST: &str = "the load";

/// A link of a bed.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// The role at its one end.
    pub role: String,
    /// The roles at its other end, and `load` for this host; none where that is all of them.
    pub to: Option<Vec<String>>,
    /// What it does to what goes over it.
    pub terms: Terms,
}

/// A place in the network of a bed: an instance, or this host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    /// For people.
    pub(crate) name: String,
    /// Its address in the network of the bed.
    pub(crate) address: Ipv4Addr,
    /// Its network namespace, as `ip` knows it; none where that is this host's own.
    pub(crate) namespace: Option<String>,
}

/// An end of links.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct End {
    /// Its number among the places.
    pub(crate) place: usize,
    /// The TUN device that leads to the other ends.
    pub(crate) device: String,
}

/// Two ends with a link between them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pair {
    /// The numbers of both.
    pub(crate) ends: (usize, usize),
    /// What it does to what goes over it.
    pub(crate) terms: Terms,
}

/// All links of a bed, as the router has them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Wiring {
    /// All instances, in their order, and this host.
    pub(crate) places: Vec<Place>,
    /// Those of them that have links.
    pub(crate) ends: Vec<End>,
    pub(crate) pairs: Vec<Pair>,
}

/// Why this host has no links; nothing where it can make them.
#[must_use]
pub fn lacks(root: &Path) -> Vec<String> {
    let of_root = (!is_root()).then(|| "it needs root: run it by sudo".to_owned());
    let has_devices = root.join(SOURCE.trim_start_matches('/')).exists();
    let of_devices = (!has_devices).then(|| format!("there is no {SOURCE}: modprobe tun"));
    of_root.into_iter().chain(of_devices).collect()
}

/// Adds the step that makes the links of a bed whose instances stand. There is none where it has no
/// links.
///
/// # Errors
/// A provider whose instances have no network of their own; two links between the same ends.
pub(crate) fn add(
    (links, folders): (&[Link], &Path),
    of: BedContext<'_>,
    before: &[usize],
    outline: &mut Outline,
) -> Result<(), TestbedError> {
    let wiring = wiring(links, of, &outline.instances)?;
    if wiring.pairs.is_empty() {
        return Ok(());
    }
    let folder = folders.join(format!("plimsoll-{}-links", of.id));
    let text = serde_json::to_string(&wiring).unwrap_or_default();
    let file = folder.join(FILE).display().to_string();
    let program = of.launcher.program.display().to_string();
    let words = [program.as_str(), "testbed", "links", file.as_str()];
    let order = Order { words: words.map(str::to_owned).to_vec(), ..Order::default() };
    let measured: Duration = wiring.pairs.iter().map(|pair| measure::longest(&pair.terms)).sum();
    let measured = measured + matrix::longest(&wiring);
    let write = Op::Write {
        folder: folder.clone(),
        path: FILE.to_owned(),
        text,
        is_secret: false,
        user: None,
    };
    let ops = vec![
        Op::Folder { path: folder.clone(), user: None },
        write,
        Op::Links { folder, order, shown: shown(&wiring) },
    ];
    let at = outline.add("make the links", "", Class::Infrastructure, before, ops);
    outline.steps[at].limit += measured;
    Ok(())
}

/// A line for each pair.
fn shown(wiring: &Wiring) -> String {
    let line = |pair: &Pair| {
        let (one, other) = wiring.names(pair);
        format!("delay what goes between {one} and {other}: {}", pair.terms)
    };
    wiring.pairs.iter().map(line).collect::<Vec<_>>().join("\n")
}

impl Wiring {
    /// The names of both ends.
    pub(crate) fn names(&self, pair: &Pair) -> (&str, &str) {
        (&self.end(pair.ends.0).name, &self.end(pair.ends.1).name)
    }

    /// The place of an end.
    pub(crate) fn end(&self, number: usize) -> &Place {
        &self.places[self.ends[number].place]
    }
}

/// All pairs that have a link, each once.
fn wiring(
    links: &[Link],
    of: BedContext<'_>,
    instances: &[Instance],
) -> Result<Wiring, TestbedError> {
    let mut pairs: BTreeMap<(usize, usize), &Link> = BTreeMap::new();
    let host = instances.len();
    for link in links {
        let leads_to =
            |role: &str| link.to.as_ref().is_none_or(|to| to.iter().any(|of| of == role));
        for (at, _) in instances.iter().enumerate().filter(|(_, of)| of.role == link.role) {
            let others = instances.iter().enumerate().filter(|(_, of)| leads_to(&of.role));
            let others = others.map(|(other, _)| other).filter(|other| *other != at);
            for other in others.chain(leads_to(LOAD).then_some(host)) {
                let before = pairs.insert((at.min(other), at.max(other)), link);
                if let Some(before) = before.filter(|before| before.name != link.name) {
                    return Err(TestbedError::Wrong(format!(
                        "make link.{}: link.{} is between some of its ends too; name the roles of \
                         each by `to`",
                        link.name, before.name
                    )));
                }
            }
        }
    }
    let mut wiring = Wiring::default();
    let Some((_, first)) = pairs.first_key_value() else { return Ok(wiring) };
    let all = instances.iter().map(Some).chain([None]);
    wiring.places = all.map(|of_it| place(of, first, of_it)).collect::<Result<_, _>>()?;
    let mut ends = BTreeMap::new();
    for (of_both, link) in pairs {
        let mut end = |at: usize| -> usize {
            *ends.entry(at).or_insert_with(|| {
                let tail = instances.get(at).map_or("h".to_owned(), |one| one.place.to_string());
                let device = format!("wan{}{tail}", of.id);
                wiring.ends.push(End { place: at, device });
                wiring.ends.len() - 1
            })
        };
        let ends = (end(of_both.0), end(of_both.1));
        wiring.pairs.push(Pair { ends, terms: link.terms });
    }
    Ok(wiring)
}

/// An instance in the network of a bed, or this host.
fn place(
    bed: BedContext<'_>,
    link: &Link,
    instance: Option<&Instance>,
) -> Result<Place, TestbedError> {
    let cannot = || {
        TestbedError::Wrong(format!(
            "make link.{} by the provider `{}`, which cannot; say provider = \"namespace\" in \
             [testbed]",
            link.name,
            bed.provider.name()
        ))
    };
    let (name, address, namespace) = match instance {
        Some(of) => {
            let namespace = bed.provider.namespace(bed.id, &of.name).ok_or_else(cannot)?;
            (of.name.clone(), of.address.clone(), Some(namespace))
        }
        None => {
            let address = bed.provider.gateway().ok_or_else(cannot)?;
            (HOST.to_owned(), address, None)
        }
    };
    let address = address.parse::<Ipv4Addr>().map_err(|_| cannot())?;
    Ok(Place { name, address, namespace })
}
