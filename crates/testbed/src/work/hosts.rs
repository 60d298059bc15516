//! What a worker does on other hosts: it goes to this program's copy there, and what that makes is
//! written into the ledger here first.

use std::path::{Path, PathBuf};
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

/// How long it may take to reach a host again: this program may have to be copied.
const REACHES: Duration = Duration::from_secs(120);
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

/// What was done on a host, of which it is no error that it is away.
pub(super) fn unless_away(done: Result<(), TestbedError>) -> Result<(), TestbedError> {
    match done {
        Err(TestbedError::Away { .. }) => Ok(()),
        done => done,
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
        let (route, folder) = self.way_to(name)?;
        self.reach(&route, &folder, &|| Ok(()), deadline)
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

    /// The way to a host, as the ledger has it, and the folder there.
    fn way_to(&self, name: &str) -> Result<(Route, PathBuf), TestbedError> {
        let found = self.rows().into_iter().find_map(|(thing, _)| match thing {
            Thing::Host { route, folder } if route.name == name => Some((route, folder)),
            _ => None,
        });
        found.ok_or_else(|| TestbedError::Away {
            host: name.to_owned(),
            why: "no connection to it was made".to_owned(),
        })
    }

    /// Of a bed that was left: makes anew what the process before had on a host for itself, as an
    /// agent that it asked. A host that is away is noted as such.
    pub(crate) fn renew(&self, name: &str, ops: &[Op]) -> Result<(), TestbedError> {
        let (route, _) = self.way_to(name)?;
        let limit = || Deadline::within(SHORT);
        let own = || ops.iter().filter(|op| !matches!(op, Op::Host { .. }));
        let renewed = self.host(name, &Deadline::within(REACHES)).and_then(|_| {
            own().rev().try_for_each(|op| self.undo_on(name, op, &limit()).map(drop))?;
            own().try_for_each(|op| self.act_on(name, op, &limit()).map(drop))
        });
        if let Err(TestbedError::Away { .. }) = renewed {
            self.hosts()?.client.lost.note(&route);
        }
        unless_away(renewed)
    }

    /// Whether a host can be asked.
    pub(crate) fn stands_on(&self, name: &str) -> bool {
        let hosts = self.hosts();
        hosts.is_ok_and(|of| of.reached().get(name).is_some_and(|host| host.session.stands()))
    }

    /// Reaches a host again whose connection broke. All that was left there is removed, and what
    /// all its instances share is made anew.
    ///
    /// # Errors
    /// Where it is still away.
    pub(crate) fn regain(&self, name: &str, ops: &[Op]) -> Result<(), TestbedError> {
        let (route, folder) = self.way_to(name)?;
        let (deadline, hosts) = (Deadline::within(REACHES), self.hosts()?);
        let before = hosts.reached().remove(name);
        drop(before);
        let regained = self.reach(&route, &folder, &|| Ok(()), &deadline).and_then(|reached| {
            let hears = Written { worker: self, host: name };
            for (thing, row) in self.rows_of(name).into_iter().rev() {
                reached.remove(&thing, &hears)?;
                self.is_gone(row)?;
            }
            let own = ops.iter().filter(|op| !matches!(op, Op::Host { .. }));
            own.into_iter().try_for_each(|op| self.act_on(name, op, &deadline).map(drop))
        });
        match regained {
            Ok(()) => hosts.client.lost.found(name),
            Err(_) => hosts.client.lost.note(&route),
        }
        regained
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
            // One that was refused, or whose folder could not be made, has nothing.
            None if self.rows_of(name).is_empty() => {
                let hosts = self.hosts()?;
                if Reached::is_absent(&hosts.client, &hosts.sockets, of)? {
                    return Ok(());
                }
                self.reach(route, folder, &|| Ok(()), &deadline)?
            }
            None => self.reach(route, folder, &|| Ok(()), &deadline)?,
        };
        let hears = Written { worker: self, host: name };
        let mut failed = Vec::new();
        for (thing, row) in self.rows_of(name).into_iter().rev() {
            let removed = reached.remove(&thing, &hears).and_then(|_| self.is_gone(row));
            failed.extend(removed.err());
        }
        if let Some(error) = TestbedError::all(failed) {
            return Err(error);
        }
        reached.clear(of)?;
        self.hosts()?.reached().remove(name);
        Ok(())
    }
}
