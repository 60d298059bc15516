//! Beds that were left standing: made, found again, and used by one at a time.

use std::collections::BTreeMap;
use std::path::Path;

use crate::bed::{Bed, Hears, Standing, worker};
use crate::error::TestbedError;
use crate::ledger::{Ledger, Stood};
use crate::recipe::Stands;
use crate::role::Instance;
use crate::thing::Thing;


/// Makes a bed stand, and leaves it: its ledger says what stands where, so that another process can
/// use it or take it down. `digest` is what a plan's bed is compared by.
///
/// # Errors
/// The step that failed, after all is undone.
pub fn leave_up(
    bed: &Bed,
    ledgers: &Path,
    hears: Hears<'_>,
    digest: &str,
) -> Result<Vec<Instance>, TestbedError> {
    let outline = bed.outline()?;
    bed.check_programs(&outline)?;
    let ledger = Ledger::create(ledgers, &bed.id)?;
    let worker = worker(bed, &outline, &ledger, hears);
    let up = Standing::up(&outline, &worker, hears.told, hears.is_ended);
    let up = up.and_then(|standing| {
        let written = ledger.stands(&Stood::of(digest, standing.instances));
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

/// A bed that was left standing, held while it is used.
pub struct Borrowed {
    /// Its id.
    pub id: String,
    /// Its instances.
    pub instances: Vec<Instance>,
    _ledger: Ledger,
}

impl Bed {
    /// The bed of that digest that was left standing, where there is one that nobody uses and whose
    /// servers live.
    ///
    /// # Errors
    /// Ledgers that cannot be read; texts that cannot be filled in.
    pub fn borrow(&self, ledgers: &Path, digest: &str) -> Result<Option<Borrowed>, TestbedError> {
        for found in Ledger::all(ledgers)? {
            let Some(stood) = found.stood.as_ref().filter(|stood| stood.digest == digest) else {
                continue;
            };
            let Some(ledger) = Ledger::hold(ledgers, &found.bed)? else { continue };
            if !found.things.iter().all(Thing::lives) {
                continue;
            }
            let instances = self.instances_at(stood)?;
            return Ok(Some(Borrowed { id: found.bed, instances, _ledger: ledger }));
        }
        Ok(None)
    }

    /// The instances of this bed at the places where those of another one stand.
    fn instances_at(&self, stood: &Stood) -> Result<Vec<Instance>, TestbedError> {
        let mut stand: BTreeMap<String, Stands> = BTreeMap::new();
        let mut instances = Vec::new();
        for role in &self.roles {
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
                    address: at.address.clone(),
                    port: at.port,
                    folder: at.folder.clone(),
                    cgroups: at.cgroups.clone(),
                    collect: BTreeMap::new(),
                    name,
                };
                self.ask(role, &mut instance, &stand)?;
                if number == 1 {
                    let stands = Stands { address: at.address.clone(), port: at.port };
                    stand.insert(role.name.clone(), stands);
                }
                instances.push(instance);
            }
        }
        Ok(instances)
    }
}
