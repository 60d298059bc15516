//! What a worker does on other hosts: it goes to this program's copy there, and what that makes is
//! written into the ledger here first.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::Worker;
use crate::error::TestbedError;
use crate::folder;
use crate::op::Op;
use crate::route::Route;
use crate::ssh::hosts::{Hosts, OfBed, Reached};
use crate::ssh::session::Hears;
use crate::ssh::wire::{Ask, Deed};
use crate::thing::Thing;
use crate::time::Deadline;

/// How long it may take to undo one thing on a host.
const SHORT: Duration = Duration::from_secs(20);

/// What the copy on a host has written into the ledger here.
struct Written<'w, 'a> {
    worker: &'w Worker<'a>,
    host: &'w str,
}

impl Hears for Written<'_, '_> {
    fn will_make(&self, thing: &Thing) -> Result<u64, TestbedError> {
        let thing = Box::new(thing.clone());
        self.worker.will_make(&Thing::On { host: self.host.to_owned(), thing })
    }

    fn is_gone(&self, row: u64) -> Result<(), TestbedError> {
        self.worker.is_gone(row)
    }

    fn output(&self, instance: &str, text: &str) {
        self.worker.output(instance, text);
    }
}

impl Worker<'_> {
    fn hosts(&self) -> Result<&Hosts, TestbedError> {
        let text = "reach a host from a host";
        self.hosts.as_ref().ok_or_else(|| TestbedError::Wrong(text.to_owned()))
    }

    /// The rows of the ledger that are of a host, as that knows them.
    fn rows_of(&self, name: &str) -> Vec<(Thing, u64)> {
        let of_it = |(thing, row): (Thing, u64)| match thing {
            Thing::On { host, thing } if host == name => Some((*thing, row)),
            _ => None,
        };
        self.rows().into_iter().filter_map(of_it).collect()
    }

    /// A host that is reached; one of a bed that stands is reached anew.
    fn host(&self, name: &str, deadline: &Deadline) -> Result<Arc<Reached>, TestbedError> {
        if let Some(found) = self.hosts()?.reached().get(name) {
            return Ok(Arc::clone(found));
        }
        let is_it =
            |thing: &Thing| matches!(thing, Thing::Host { route, .. } if route.name == name);
        match self.rows().into_iter().map(|(thing, _)| thing).find(is_it) {
            Some(Thing::Host { route, folder }) => {
                self.reach(&route, &folder, &|| Ok(()), deadline)
            }
            _ => Err(TestbedError::Away {
                host: name.to_owned(),
                why: "no connection to it was made".to_owned(),
            }),
        }
    }

    fn reach(
        &self,
        route: &Route,
        folder: &Path,
        will_make: &dyn Fn() -> Result<(), TestbedError>,
        deadline: &Deadline,
    ) -> Result<Arc<Reached>, TestbedError> {
        let hosts = self.hosts()?;
        let of = OfBed { bed: self.ledger.bed(), route, folder };
        let (bed, rows) = (of.bed.to_owned(), self.rows_of(&route.name));
        let (most_output, replaces) = (self.most_output, self.replaces);
        let begin = Ask::Begin { bed, rows, most_output, replaces };
        let begin = (&begin, will_make);
        let reached = Reached::begin(&hosts.client, &hosts.sockets, of, begin, deadline)?;
        let reached = Arc::new(reached);
        hosts.reached().insert(route.name.clone(), Arc::clone(&reached));
        Ok(reached)
    }

    /// Does one thing on a host. Returns what was said.
    pub(crate) fn act_on(
        &self,
        name: &str,
        op: &Op,
        deadline: &Deadline,
    ) -> Result<String, TestbedError> {
        if let Op::Host { route, folder } = op {
            let thing = Thing::Host { route: route.clone(), folder: folder.clone() };
            // A host that is away has nothing, and does not enter the ledger.
            let will_make = || self.will_make(&thing).map(drop);
            return self.reach(route, folder, &will_make, deadline).map(|_| String::new());
        }
        let host = self.host(name, deadline)?;
        let hears = Written { worker: self, host: name };
        if let Op::Copy { from, is_secret, .. } = op {
            let mut source = folder::source(from, *is_secret)?;
            let bytes = source.bytes();
            let (length, mode) = (bytes.length, bytes.mode);
            let deed = Deed::Put { op: op.clone(), length, mode };
            return host.session.ask(deed, Some(bytes), &hears, deadline);
        }
        let deed = Deed::Act { op: op.clone() };
        let said = host.session.ask(deed, None, &hears, deadline)?;
        if let Op::Forward { here, .. } = op {
            let port = |text: &str| text.rsplit(':').next().and_then(|port| port.parse().ok());
            let (Some(here), Some(there)) = (port(here), port(&said)) else {
                return Err(TestbedError::Wrong(format!("reach the agent of {name} at `{said}`")));
            };
            host.connection.forward(here, there)?;
        }
        Ok(said)
    }

    /// Undoes one thing on a host, whole or half done.
    pub(crate) fn undo_on(
        &self,
        name: &str,
        op: &Op,
        deadline: &Deadline,
    ) -> Result<String, TestbedError> {
        if let Op::Host { route, folder } = op {
            return self.remove(&Thing::Host { route: route.clone(), folder: folder.clone() });
        }
        // Nothing was made on a host that was never reached.
        let was_reached = self.hosts()?.reached().contains_key(name);
        if !was_reached && self.rows_of(name).is_empty() {
            return Ok(String::new());
        }
        let host = self.host(name, deadline)?;
        let hears = Written { worker: self, host: name };
        host.session.ask(Deed::Undo { op: op.clone() }, None, &hears, deadline)
    }

    /// Removes what the ledger has of a host.
    pub(crate) fn remove_on(&self, name: &str, thing: &Thing) -> Result<(), TestbedError> {
        let host = self.host(name, &Deadline::within(SHORT))?;
        host.remove(thing, &Written { worker: self, host: name }).map(drop)
    }

    /// Removes all that is left on a host, and this program's copy. Where the connection is broken
    /// another one is tried, once.
    pub(crate) fn remove_host(&self, route: &Route, folder: &Path) -> Result<(), TestbedError> {
        let deadline = Deadline::within(SHORT);
        let name = &route.name;
        let of = OfBed { bed: self.ledger.bed(), route, folder };
        let reached = self.hosts()?.reached().remove(name);
        let reached = match reached.filter(|host| host.session.stands()) {
            Some(host) => host,
            None => self.reach(route, folder, &|| Ok(()), &deadline)?,
        };
        let hears = Written { worker: self, host: name };
        for (thing, row) in self.rows_of(name).into_iter().rev() {
            reached.remove(&thing, &hears)?;
            self.is_gone(row)?;
        }
        reached.clear(of)?;
        self.hosts()?.reached().remove(name);
        Ok(())
    }
}
