//! Instances of one role that come and go while a bed stands, as those of an elastic pool do.
//!
//! Each is made by the steps that every instance is made by, and stands in the bed's ledger. Those
//! that are left at the end are undone with the bed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::bed::{Bed, Hears, before_role, flow_of, step, with_worker};
use crate::error::TestbedError;
use crate::flow::Flow;
use crate::image::{AtCloud, Image, Images, SCHEMA, Source};
use crate::making::{Making, recipe_of};
use crate::op::Op;
use crate::outline::Outline;
use crate::reach::Reach;
use crate::recipe::Stands;
use crate::rents::Rents;
use crate::role::{Instance, OnHost, Role};
use crate::time::Deadline;
use crate::work::Worker;

/// The instances of a role that come and go. It may be asked from several threads.
pub struct Crew<'a> {
    bed: &'a Bed,
    role: &'a Role,
    worker: &'a Worker<'a>,
    hears: Hears<'a>,
    stand: BTreeMap<String, Stands>,
    members: Mutex<Members<'a>>,
    /// Held by who reaches a host again.
    turn: Mutex<()>,
}

/// An image that was made, and the time until an instance is ready without it and with it.
#[derive(Debug, Clone)]
pub struct Baked {
    /// The image.
    pub image: Image,
    /// Without it.
    pub without: Duration,
    /// With it.
    pub with: Duration,
}

/// How long the end of an instance may take, beside what its recipe gives it.
const ENDS: Duration = Duration::from_secs(5);

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
        let crew = Crew { bed, role, worker, hears, stand, members, turn: Mutex::default() };
        if !bed.is_followed(role) {
            crew.bed.check_programs(&crew.example()?)?;
        }
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

    /// Whether a killed process has left the bed.
    #[must_use]
    pub fn is_adopted(&self) -> bool {
        !self.bed.left.is_empty()
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

    /// The other hosts that its instances may stand on.
    #[must_use]
    pub fn hosts(&self) -> Vec<OnHost> {
        self.bed.provider.hosts()
    }

    /// How the server of an instance ended, where it was started on this host and has.
    #[must_use]
    pub fn ended(&self, instance: &Instance) -> Option<String> {
        self.worker.gone(&instance.name)
    }

    /// Whether the process of an instance runs; not where that is not known, as on another host.
    #[must_use]
    pub fn runs(&self, instance: &Instance) -> bool {
        self.worker.process_of(&instance.name).is_some_and(|of| of.lives())
    }

    /// Why an instance cannot be asked any more: the connection to its host broke.
    #[must_use]
    pub fn is_away(&self, instance: &Instance) -> Option<TestbedError> {
        let host = instance.host.as_ref()?;
        self.bed.client.lost(|name| name == host.name)
    }

    /// Sees to it that a host can be asked on which an instance is to stand. One that was away is
    /// cleared: nobody counts on what it has any more.
    fn regain(&self, host: &OnHost) -> Result<(), TestbedError> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        if self.worker.stands_on(&host.name) {
            return Ok(());
        }
        let shared = self.bed.provider.shared(&self.bed.id);
        let own = shared.iter().filter(|of| of.host.as_ref() == Some(&host.name));
        let ops: Vec<Op> = own.flat_map(|of| of.ops.clone()).collect();
        self.worker.regain(&host.name, &ops)
    }

    /// Those that stand now.
    #[must_use]
    pub fn standing(&self) -> Vec<Instance> {
        self.members().standing.values().map(|(instance, _)| instance.clone()).collect()
    }

    /// The steps of one instance. Nothing is done.
    fn example(&self) -> Result<Outline, TestbedError> {
        let place = self.members().places.len();
        let outline = self.outline(1, place)?.1;
        if !self.is_adopted() {
            self.bed.provider.frees(&self.role.name, 1);
        }
        Ok(outline)
    }

    fn outline(&self, number: u32, place: usize) -> Result<(Instance, Outline), TestbedError> {
        self.outline_of(self.role, number, place)
    }

    fn outline_of(
        &self,
        role: &Role,
        number: u32,
        place: usize,
    ) -> Result<(Instance, Outline), TestbedError> {
        let instance = self.bed.instance(role, number, place, &self.stand)?;
        let mut outline = Outline::default();
        let of = self.bed.of(&self.bed.id);
        Making::new(of, role, &instance, &self.stand)?.steps(&[], &mut outline)?;
        outline.instances.push(instance.clone());
        Ok((instance, outline))
    }

    /// Starts one more instance. Returns when it is ready.
    ///
    /// # Errors
    /// The step that failed, after all of it is undone; no place left.
    pub fn launch(&self) -> Result<Instance, TestbedError> {
        self.launch_as(self.role)
    }

    /// Makes an image of an instance that was started without one: it is ended, and what it has in
    /// its folder is kept. Then another is started from the image, to see that it comes to stand,
    /// and ended.
    ///
    /// # Errors
    /// A role that starts from an image; the step that failed; what cannot be kept.
    pub fn bake(
        &self,
        images: &Images,
        name: &str,
        made_unix_ns: u64,
    ) -> Result<Baked, TestbedError> {
        if let Some(rents) = self.bed.provider.rents() {
            return self.bake_rented(rents, images, (name, made_unix_ns));
        }
        let role = Role { image: None, ..self.role.clone() };
        let clock = Deadline::within(Duration::MAX);
        let instance = self.launch_as(&role)?;
        let without = clock.passed();
        let (folder, stop) = (instance.folder.clone(), role.recipe.recipe.stop.clone());
        let limit = Duration::from_secs(stop.within_s) + ENDS;
        let end = Op::End { instance: instance.name.clone(), stop };
        self.worker.act(None, &end, &Deadline::within(limit))?;
        let left_out =
            Making::new(self.bed.of(&self.bed.id), &role, &instance, &self.stand)?.left_out();
        let image = images.make(&Source {
            name,
            role: &role.name,
            provider: self.bed.provider.name(),
            recipe: recipe_of(&role)?,
            made_unix_ns,
            ready_ms: u64::try_from(without.as_millis()).unwrap_or(u64::MAX),
            folder: &folder,
            left_out: &left_out,
        })?;
        self.end(instance.number)?;
        let role = Role { image: Some(Box::new(images.find(name)?)), ..role };
        let clock = Deadline::within(Duration::MAX);
        let again = self.launch_as(&role)?;
        let with = clock.passed();
        self.end(again.number)?;
        Ok(Baked { image, without, with })
    }

    /// Has the cloud make an image of an instance. What is to be made is in the list of images
    /// before the cloud is asked, and stays there where that fails and something may be there.
    fn bake_rented(
        &self,
        rents: &dyn Rents,
        images: &Images,
        (name, made_unix_ns): (&str, u64),
    ) -> Result<Baked, TestbedError> {
        images.is_free(name)?;
        let clock = Deadline::within(Duration::MAX);
        let instance = self.launch()?;
        let without = clock.passed();
        let mut cloud = AtCloud {
            at: rents.place_of(&self.role.name)?,
            name: format!("plimsoll-{}-{name}", self.bed.id),
            id: String::new(),
        };
        let image = Image {
            schema: SCHEMA,
            name: name.to_owned(),
            role: self.role.name.clone(),
            provider: self.bed.provider.name().to_owned(),
            recipe: recipe_of(self.role)?,
            made_unix_ns,
            ready_ms: u64::try_from(without.as_millis()).unwrap_or(u64::MAX),
            files: Vec::new(),
            cloud: Some(cloud.clone()),
        };
        images.note(&image)?;
        cloud.id = match rents.bakes(&instance.name, &cloud, self.hears.is_ended) {
            Ok(id) => id,
            Err(error) => {
                let may_be_there = match &error {
                    TestbedError::Cloud(error) => error.is_open(),
                    _ => false,
                };
                if !may_be_there {
                    images.forget(name)?;
                }
                return Err(error);
            }
        };
        let image = Image { cloud: Some(cloud.clone()), ..image };
        images.note(&image)?;
        rents.starts_from(&self.role.name, &cloud, self.hears.is_ended)?;
        self.end(instance.number)?;
        let clock = Deadline::within(Duration::MAX);
        let again = self.launch()?;
        let with = clock.passed();
        self.end(again.number)?;
        Ok(Baked { image, without, with })
    }

    fn launch_as(&self, role: &Role) -> Result<Instance, TestbedError> {
        // With the turn held, so that of two at once the first has the first host that is free.
        let (number, place, planned) = {
            let mut members = self.members();
            members.last += 1;
            let place = (0..).find(|place| !members.places.contains(place)).unwrap_or(0);
            members.places.insert(place);
            (members.last, place, self.outline_of(role, members.last, place))
        };
        let made = planned.and_then(|(instance, outline)| {
            instance.host.as_ref().map_or(Ok(()), |host| self.regain(host))?;
            let rented = self.bed.rent(&outline, self.worker, self.hears)?;
            let end = || rented.iter().for_each(|flow| drop(flow.down()));
            let again = rented.is_some().then(|| self.outline_of(role, number, place)).transpose();
            let again = again.inspect_err(|_| end())?;
            let (instance, outline) = again.unwrap_or((instance, outline));
            let mut flow = Flow::new(self.hears.told, self.hears.is_ended);
            for planned in outline.steps {
                flow.add(step(planned, self.worker));
            }
            flow.up().inspect_err(|_| end())?;
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
                self.bed.provider.frees(&role.name, number);
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
        // Where it could not be ended, its host is cleared before another one stands there.
        self.bed.provider.frees(&instance.role, number);
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
