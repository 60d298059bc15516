//! Instances of one role that come and go while a bed stands, as those of an elastic pool do.
//!
//! Each is made by the steps that every instance is made by, and stands in the bed's ledger. Those
//! that are left at the end are undone with the bed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::bed::{Bed, Hears, before_role, flow_of, step, with_worker};
use crate::error::TestbedError;
use crate::flow::Flow;
use crate::making::Making;
use crate::outline::Outline;
use crate::reach::Reach;
use crate::recipe::Stands;
use crate::role::{Instance, Role};
use crate::work::Worker;

/// The instances of a role that come and go. It may be asked from several threads.
pub struct Crew<'a> {
    bed: &'a Bed,
    role: &'a Role,
    worker: &'a Worker<'a>,
    hears: Hears<'a>,
    stand: BTreeMap<String, Stands>,
    members: Mutex<Members<'a>>,
}

#[derive(Default)]
struct Members<'a> {
    /// How many came so far: the number of the last.
    last: u32,
    /// The places in the bed that are taken.
    places: BTreeSet<usize>,
    /// Those that stand, by their numbers, with what undoes them.
    standing: BTreeMap<u32, (Instance, Flow<'a>)>,
}

/// Makes a bed stand without instances of one of its roles, whose `count` is 0, does something with
/// it and with a crew of that role, and undoes all, whatever comes of that.
///
/// # Errors
/// A role that there is not; the step that failed; what `with` comes to; what could not be undone.
pub fn with_crew<T, E: From<TestbedError>>(
    bed: &Bed,
    role: &str,
    ledgers: &Path,
    hears: Hears<'_>,
    with: impl FnOnce(&[Instance], &Crew<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let Some(role) = bed.roles.iter().find(|of| of.name == role) else {
        return Err(TestbedError::Wrong(format!("scale the role `{role}`: there is none")).into());
    };
    let outline = bed.outline()?;
    let stand = before_role(&outline.instances, &role.name);
    with_worker(bed, &outline, ledgers, hears, |instances, worker| {
        let places = instances.iter().map(|of| of.place).collect();
        let members = Mutex::new(Members { places, ..Members::default() });
        let crew = Crew { bed, role, worker, hears, stand, members };
        crew.bed.check_programs(&crew.example()?)?;
        crew.adopt()?;
        let result = with(instances, &crew);
        match crew.end_all().into_iter().next() {
            Some(error) => Err(error.into()),
            None => result,
        }
    })
}

impl<'a> Crew<'a> {
    fn members(&self) -> MutexGuard<'_, Members<'a>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What can be done with an instance of the bed that stands.
    ///
    /// # Errors
    /// An instance of a role that there is not.
    pub fn reach(&self, instance: &Instance) -> Result<Reach<'a>, TestbedError> {
        let role = self.bed.roles.iter().find(|of| of.name == instance.role).ok_or_else(|| {
            TestbedError::Wrong(format!("reach {}: its role is not of the bed", instance.name))
        })?;
        let of = self.bed.of(&self.bed.id);
        Ok(Reach { of, role, instance: instance.clone(), worker: self.worker })
    }

    /// Takes those in that a killed process has left.
    fn adopt(&self) -> Result<(), TestbedError> {
        let numbers = self.bed.left.iter().filter_map(|of| {
            let (role, number) = of.name.rsplit_once('-')?;
            Some((number.parse::<u32>().ok()?, of.place)).filter(|_| role == self.role.name)
        });
        let mut members = self.members();
        for (number, place) in numbers {
            let (instance, outline) = self.outline(number, place)?;
            let told = (self.hears.told, self.hears.is_ended);
            let flow = flow_of(&outline.steps, self.worker, told.0, told.1);
            members.places.insert(place);
            members.last = members.last.max(number);
            members.standing.insert(number, (instance, flow));
        }
        Ok(())
    }

    /// Those that stand now.
    #[must_use]
    pub fn standing(&self) -> Vec<Instance> {
        self.members().standing.values().map(|(instance, _)| instance.clone()).collect()
    }

    /// The steps of one instance. Nothing is done.
    fn example(&self) -> Result<Outline, TestbedError> {
        let place = self.members().places.len();
        Ok(self.outline(1, place)?.1)
    }

    fn outline(&self, number: u32, place: usize) -> Result<(Instance, Outline), TestbedError> {
        let instance = self.bed.instance(self.role, number, place, &self.stand)?;
        let mut outline = Outline::default();
        let of = self.bed.of(&self.bed.id);
        Making::new(of, self.role, &instance, &self.stand)?.steps(&[], &mut outline)?;
        outline.instances.push(instance.clone());
        Ok((instance, outline))
    }

    /// Starts one more instance. Returns when it is ready.
    ///
    /// # Errors
    /// The step that failed, after all of it is undone; no place left.
    pub fn launch(&self) -> Result<Instance, TestbedError> {
        let (number, place) = {
            let mut members = self.members();
            members.last += 1;
            let place = (0..).find(|place| !members.places.contains(place)).unwrap_or(0);
            members.places.insert(place);
            (members.last, place)
        };
        let made = self.outline(number, place).and_then(|(instance, outline)| {
            let mut flow = Flow::new(self.hears.told, self.hears.is_ended);
            for planned in outline.steps {
                flow.add(step(planned, self.worker));
            }
            flow.up()?;
            self.worker.serves(&instance)?;
            Ok((instance, flow))
        });
        let mut members = self.members();
        match made {
            Ok((instance, flow)) => {
                members.standing.insert(number, (instance.clone(), flow));
                Ok(instance)
            }
            Err(error) => {
                members.places.remove(&place);
                Err(error)
            }
        }
    }

    /// Makes an instance of another role anew in its place, as one that has failed. Returns when it
    /// is ready. It is undone with the bed.
    ///
    /// # Errors
    /// The step that failed; an instance of a role that there is not.
    pub fn again(&self, instance: &Instance) -> Result<(), TestbedError> {
        let role = self.bed.roles.iter().find(|of| of.name == instance.role);
        let role = role.ok_or_else(|| {
            TestbedError::Wrong(format!("make {} anew: its role is gone", instance.name))
        })?;
        let mut outline = Outline::default();
        let of = self.bed.of(&self.bed.id);
        Making::new(of, role, instance, &self.stand)?.remake(&[], &mut outline)?;
        flow_of(&outline.steps, self.worker, self.hears.told, self.hears.is_ended).up()
    }

    /// Ends an instance, by its number. One that is not there is ended already.
    ///
    /// # Errors
    /// The first of it that could not be undone; it stands in the ledger.
    pub fn end(&self, number: u32) -> Result<(), TestbedError> {
        let found = self.members().standing.remove(&number);
        let Some((instance, flow)) = found else { return Ok(()) };
        let errors = flow.down();
        if errors.is_empty() {
            self.members().places.remove(&instance.place);
        }
        errors.into_iter().next().map_or(Ok(()), Err)
    }

    /// Ends all that stand. The errors are of what could not be undone.
    fn end_all(&self) -> Vec<TestbedError> {
        let numbers: Vec<u32> = self.members().standing.keys().copied().collect();
        std::thread::scope(|scope| {
            let end = |number| scope.spawn(move || self.end(number).err());
            let all: Vec<_> = numbers.into_iter().map(end).collect();
            let ended = all.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            ended.flatten().collect()
        })
    }
}
