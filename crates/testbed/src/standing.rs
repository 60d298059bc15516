//! Beds that were left standing: made, found again, and used by one at a time. Where one differs
//! from what a plan wants only in files and parameters, its instances take those anew: while they
//! run, where their recipe says how, else they are made anew in their places.
//!
//! What is changed stands in the ledger as being changed until it is done, so that after a kill no
//! instance passes for what it may not have become.

use std::collections::BTreeSet;
use std::path::Path;

use crate::bed::{Bed, Hears, Standing, before_role, flow_of, worker};
use crate::books::Books;
use crate::error::TestbedError;
use crate::gone::Gone;
use crate::ledger::{Held, Ledger, Made, Stood};
use crate::making::Making;
use crate::outline::{Outline, Planned};
use crate::role::{Instance, OnHost, Role};
use crate::ssh::undo::Remover;
use crate::thing::Thing;

/// Makes a bed stand, and leaves it: its ledger says what stands where, so that another process can
/// use it or take it down. `frame` is what a bed must have in common with it to become it.
///
/// # Errors
/// The step that failed, after all is undone.
pub fn leave_up(
    bed: &Bed,
    ledgers: &Path,
    hears: Hears<'_>,
    frame: &str,
) -> Result<Vec<Instance>, TestbedError> {
    let outline = bed.outline()?;
    bed.check_programs(&outline)?;
    let ledger = Ledger::create(ledgers, &bed.id)?;
    let worker = worker(bed, outline.instances.len(), &ledger, hears);
    let up = Standing::up(&outline, &worker, hears.told, hears.is_ended);
    let up = up.and_then(|standing| {
        let made = bed.made(&bed.id, standing.instances);
        let written =
            made.and_then(|made| ledger.stands(&Stood::of(frame, standing.instances, made)));
        if written.is_err() {
            // A bed that nobody could find is none.
            drop(standing.down());
        }
        written
    });
    match up {
        Ok(()) => Ok(outline.instances.clone()),
        Err(error) if worker.is_clear() => ledger.close().and(Err(error)),
        Err(error) => Err(error),
    }
}

/// How an instance that stands becomes what a plan wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It takes its files anew while it runs.
    Reloaded,
    /// It is made anew in its place, for this reason.
    Anew(&'static str),
}

/// A bed that was left standing, held while it is used.
pub struct Borrowed {
    /// Its id.
    pub id: String,
    /// Its instances.
    pub instances: Vec<Instance>,
    /// The instances that are to be changed, by their places among all.
    changes: Vec<(usize, Change)>,
    /// What all are to be made of.
    wanted: Vec<Made>,
    stood: Stood,
    ledger: Ledger,
    rows: Vec<(Thing, u64)>,
}

impl Bed {
    /// A bed of that frame that was left standing, where there is one that nobody uses. One that
    /// needs no change is preferred.
    ///
    /// # Errors
    /// Ledgers that cannot be read; texts that cannot be filled in.
    pub fn borrow(&self, ledgers: &Path, frame: &str) -> Result<Option<Borrowed>, TestbedError> {
        let mut best: Option<Borrowed> = None;
        for found in Ledger::all(ledgers)? {
            if found.stood.is_none_or(|stood| stood.frame != frame) {
                continue;
            }
            let Some(held) = Ledger::hold(ledgers, &found.bed)? else { continue };
            let Some(borrowed) = self.take(held)? else { continue };
            if borrowed.changes.is_empty() {
                return Ok(Some(borrowed));
            }
            best.get_or_insert(borrowed);
        }
        Ok(best)
    }

    /// A bed whose ledger is held; `None` where it was not left standing.
    fn take(&self, held: Held) -> Result<Option<Borrowed>, TestbedError> {
        let Held { ledger, stood: Some(stood), mut things } = held else { return Ok(None) };
        let is_of_one = |name: &String| stood.instances.iter().any(|of| of.name == *name);
        // Commands that a killed process has left.
        let mut left = Vec::new();
        things.retain(|(thing, id)| match thing.process_of() {
            Some(instance) if !is_of_one(&instance.to_owned()) => {
                left.push((thing.clone(), *id));
                false
            }
            _ => true,
        });
        let bed = ledger.bed().to_owned();
        let all = things.iter().map(|(thing, _)| thing);
        let mut remover = Remover::new(&bed, &self.client, &ledger.sockets(), all);
        for (thing, id) in &left {
            remover.remove(thing)?;
            ledger.is_gone(*id)?;
        }
        let (mut living, processes) = (BTreeSet::new(), things.iter().map(|(thing, _)| thing));
        for thing in processes {
            let Some(name) = thing.process_of() else { continue };
            if remover.lives(thing)? {
                living.insert(name.to_owned());
            }
        }
        drop(remover);
        // Without its router all is as near as if it had no links.
        let is_router = |(thing, _): &&(Thing, u64)| matches!(thing, Thing::Links { .. });
        if things.iter().find(is_router).map_or(!self.links.is_empty(), |(of, _)| !of.lives()) {
            return Ok(None);
        }
        let lives = |name: &String| living.contains(name);
        let id = ledger.bed().to_owned();
        let instances = self.instances_at(&id, &stood)?;
        let wanted = self.made(&id, &instances)?;
        let changes = instances.iter().zip(&wanted).enumerate().filter_map(|(at, (of, wanted))| {
            let stands = stood.instances.iter().find(|stands| stands.name == of.name)?;
            let change = match lives(&of.name) {
                true => self.change(&of.role, &stands.made, wanted)?,
                false => Change::Anew("it does not run"),
            };
            Some((at, change))
        });
        let changes = changes.collect();
        Ok(Some(Borrowed { id, instances, changes, wanted, stood, ledger, rows: things }))
    }

    /// What is done to its instances where they stand already: before a cell, and where their files
    /// differ. Nothing is done yet.
    ///
    /// # Errors
    /// Texts that cannot be filled in.
    pub fn later(&self, instances: &[Instance]) -> Result<Vec<Planned>, TestbedError> {
        let mut outline = Outline::default();
        for instance in instances {
            let stand = before_role(instances, &instance.role);
            let Some(role) = self.role(&instance.role) else { continue };
            let making = Making::new(self.of(&self.id), role, instance, &stand)?;
            making.chill(&[], &mut outline)?;
            if let Some(reload) = &role.recipe.recipe.reload {
                making.reload(reload, &[], &[], &mut outline)?;
            }
        }
        Ok(outline.steps)
    }

    fn role(&self, name: &str) -> Option<&Role> {
        self.roles.iter().find(|role| role.name == name)
    }

    /// How an instance of a role becomes what is wanted; `None` where it is that.
    fn change(&self, role: &str, stands: &Made, wanted: &Made) -> Option<Change> {
        let reload = &self.role(role)?.recipe.recipe.reload;
        if stands == wanted {
            None
        } else if stands.start.is_empty() {
            Some(Change::Anew("a change of it was cut short"))
        } else if stands.start != wanted.start {
            Some(Change::Anew("its command differs"))
        } else if reload.is_none() {
            Some(Change::Anew("its files differ, and its recipe has no `reload`"))
        } else {
            Some(Change::Reloaded)
        }
    }

    /// What instances of this bed are made of, where they stand in a bed of this id.
    fn made(&self, id: &str, instances: &[Instance]) -> Result<Vec<Made>, TestbedError> {
        let made = |instance: &Instance| {
            let stand = before_role(instances, &instance.role);
            let role = self.role(&instance.role);
            let making = role.map(|role| Making::new(self.of(id), role, instance, &stand));
            making.map_or_else(|| Ok(Made::default()), |making| making?.made())
        };
        instances.iter().map(made).collect()
    }

    /// The instances of this bed at the places where those of another one stand.
    fn instances_at(&self, id: &str, stood: &Stood) -> Result<Vec<Instance>, TestbedError> {
        let mut instances = Vec::new();
        for role in &self.roles {
            let stand = before_role(&instances, &role.name);
            for number in 1..=role.count {
                let name = format!("{}-{number}", role.name);
                let place = stood.instances.iter().position(|of| of.name == name);
                let Some(place) = place else {
                    let text = format!("use a test-bed that stands: it has no {name}");
                    return Err(TestbedError::Wrong(text));
                };
                let at = &stood.instances[place];
                let mut instance = Instance {
                    role: role.name.clone(),
                    number,
                    place,
                    host: at.host.clone().map(|name| OnHost { name, agent: None }),
                    address: at.address.clone(),
                    port: at.port,
                    folder: at.folder.clone(),
                    cgroups: at.cgroups.clone(),
                    collect: [].into(),
                    name,
                };
                let asks = Making::new(self.of(id), role, &instance, &stand)?.asks()?;
                instance.collect = asks;
                instances.push(instance);
            }
        }
        Ok(instances)
    }
}

impl Borrowed {
    /// What is to be changed for the plan, a sentence each.
    #[must_use]
    pub fn changes(&self) -> Vec<String> {
        let text = |(at, change): &(usize, Change)| {
            let name = &self.instances[*at].name;
            match change {
                Change::Reloaded => format!("{name} is reloaded: its files differ"),
                Change::Anew(why) => format!("{name} is made anew: {why}"),
            }
        };
        self.changes.iter().map(text).collect()
    }

    /// Changes what differs from the bed of the plan, which it was borrowed for.
    ///
    /// # Errors
    /// The step that failed. The instance stays one that is being changed, and is made anew by who
    /// borrows it next.
    pub fn renew(&mut self, bed: &Bed, hears: Hears<'_>) -> Result<(), TestbedError> {
        if self.changes.is_empty() {
            return Ok(());
        }
        let changes = std::mem::take(&mut self.changes);
        let (mut outline, mut after) = (Outline::default(), Vec::new());
        for (at, change) in &changes {
            let stale = self.will_change(*at);
            let at =
                self.with(bed, *at, |role, making| match (change, &role.recipe.recipe.reload) {
                    (Change::Reloaded, Some(reload)) => {
                        making.reload(reload, &stale, &after, &mut outline)
                    }
                    _ => making.remake(&after, &mut outline),
                })?;
            after = at.into_iter().collect();
        }
        self.ledger.stands(&self.stood)?;
        self.go(bed, &outline, hears)?;
        for (at, _) in &changes {
            let wanted = self.wanted[*at].clone();
            self.set_made(*at, &wanted);
        }
        self.ledger.stands(&self.stood)
    }

    /// Makes its instances cold that have served, each as its recipe says.
    ///
    /// # Errors
    /// The step that failed.
    pub fn chill(&mut self, bed: &Bed, hears: Hears<'_>) -> Result<(), TestbedError> {
        let (mut outline, mut after) = (Outline::default(), Vec::new());
        for at in 0..self.instances.len() {
            let chilled = self.with(bed, at, |_, making| making.chill(&after, &mut outline))?;
            after = chilled.flatten().map_or(after, |at| vec![at]);
        }
        self.go(bed, &outline, hears)
    }

    /// Makes all its instances anew in their places.
    ///
    /// # Errors
    /// The step that failed.
    pub fn restart(&mut self, bed: &Bed, hears: Hears<'_>) -> Result<(), TestbedError> {
        self.changes = (0..self.instances.len()).map(|at| (at, Change::Anew("restart"))).collect();
        self.renew(bed, hears)
    }

    /// Its servers here that do not run any more. How they ended is not known: another process has
    /// started them.
    #[must_use]
    pub fn gone(&self) -> Vec<Gone> {
        let is_over = |instance: &&Instance| {
            let name = &instance.name;
            let its =
                |of: &&Thing| matches!(of, Thing::Process { instance, .. } if instance == name);
            let process = self.rows.iter().map(|(thing, _)| thing).find(its);
            process.is_some_and(|thing| !thing.lives())
        };
        let how = || "an unknown exit code".to_owned();
        self.instances.iter().filter(is_over).map(|of| Gone::of(of, how())).collect()
    }

    /// Has steps made for an instance; `None` where the bed has no such role.
    fn with<T>(
        &self,
        bed: &Bed,
        at: usize,
        make: impl FnOnce(&Role, &Making<'_>) -> Result<T, TestbedError>,
    ) -> Result<Option<T>, TestbedError> {
        let instance = &self.instances[at];
        let stand = before_role(&self.instances, &instance.role);
        let Some(role) = bed.role(&instance.role) else { return Ok(None) };
        let making = Making::new(bed.of(&self.id), role, instance, &stand)?;
        make(role, &making).map(Some)
    }

    /// Marks an instance as one that is being changed. Returns the paths of files that it will have
    /// no more.
    fn will_change(&mut self, at: usize) -> Vec<String> {
        let name = &self.instances[at].name;
        let stands = self.stood.instances.iter().find(|of| of.name == *name);
        let had = stands.map(|of| of.made.paths.clone()).unwrap_or_default();
        let wanted = self.wanted[at].paths.clone();
        let stale: Vec<String> = had.into_iter().filter(|path| !wanted.contains(path)).collect();
        let paths = [wanted, stale.clone()].concat();
        self.set_made(at, &Made { paths, ..Made::default() });
        stale
    }

    fn set_made(&mut self, at: usize, made: &Made) {
        let name = &self.instances[at].name;
        let stands = self.stood.instances.iter_mut().find(|of| of.name == *name);
        stands.into_iter().for_each(|of| of.made.clone_from(made));
    }

    fn go(&mut self, bed: &Bed, outline: &Outline, hears: Hears<'_>) -> Result<(), TestbedError> {
        let worker = worker(bed, self.instances.len(), &self.ledger, hears);
        let worker = worker.on_standing(self.rows.clone());
        let done = flow_of(&outline.steps, &worker, hears.told, hears.is_ended).up();
        let rows = worker.rows();
        drop(worker);
        self.rows = rows;
        done
    }
}
