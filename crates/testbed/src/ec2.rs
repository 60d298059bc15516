//! `ec2`: the instances of a bed that are rented from a cloud with the EC2 Query API: ordered,
//! waited for, looked at, ended.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use crate::balancers::ROLE;
use crate::cloud::{Cloud, CloudError, Filter, Order, Rented, Surroundings, Where, user_data};
use crate::command::Words;
use crate::error::TestbedError;
use crate::image::AtCloud;
use crate::launch;
use crate::op::Op;
use crate::provider::{Process, Provider, Shared, Spot};
use crate::rented::{self, BED_TAG, NAME_TAG, Purse, Terms};
use crate::rents::{RENT, Rents, unreached};
use crate::role::{Instance, Role};
use crate::thing::Thing;
use crate::time::{Deadline, Time};

/// Where an instance listens that was not rented yet: an address that is nobody's (RFC 5737).
const NOWHERE: &str = "192.0.2.1";
/// How often an instance is looked at that is waited for.
const LOOK: Duration = Duration::from_secs(2);
/// How long an instance may live beyond the planned end, minutes.
const BEYOND: u64 = 30;

/// What the instances of a role are.
#[derive(Debug, Clone, PartialEq)]
pub struct Wants {
    /// The region.
    pub region: String,
    /// The image.
    pub image: String,
    /// The instance type.
    pub kind: String,
    /// What is beside these in an order.
    pub key_pair: Option<String>,
    /// The security group.
    pub security_group: Option<String>,
    /// The zone.
    pub zone: Option<String>,
    /// What the plan has an instance execute.
    pub user_data: Option<String>,
    /// The tags of the plan.
    pub tags: Vec<(String, String)>,
    /// The price of an hour.
    pub price: f64,
}

/// `ec2`: instances rented from a cloud. What is not rented, as the balancer, stands on this host.
pub struct Ec2 {
    wants: BTreeMap<String, Wants>,
    clouds: BTreeMap<String, Cloud>,
    terms: Terms,
    surroundings: Surroundings,
    /// What its pauses and limits are counted by.
    time: Time,
    /// How long it is planned to last, seconds.
    planned_s: AtomicU64,
    /// The bed's id and its purse.
    of: OnceLock<(String, Purse)>,
    books: Mutex<BTreeMap<String, Kept>>,
    /// The images that roles start from which were made meanwhile.
    baked: Mutex<BTreeMap<String, String>>,
}

/// What is known of an instance.
struct Kept {
    /// What its cloud told last.
    rented: Rented,
    region: String,
    /// When it was looked at last.
    looked: Deadline,
    /// Whether it was told to be gone.
    is_gone: bool,
}

impl Ec2 {
    /// A provider of these roles; `at` is a cloud without its region.
    ///
    /// # Errors
    /// An endpoint that cannot be used; what no instance would execute.
    pub fn new(
        at: &Where,
        wants: BTreeMap<String, Wants>,
        terms: Terms,
        surroundings: Surroundings,
    ) -> Result<Self, TestbedError> {
        let mut clouds = BTreeMap::new();
        for (role, of) in &wants {
            let at = Where { region: of.region.clone(), ..at.clone() };
            clouds.insert(of.region.clone(), Cloud::new(at, surroundings)?);
            user_data(of.user_data.as_deref(), 1).map_err(|why| {
                CloudError::Wrong(format!("take `user_data` of the role `{role}`: {why}"))
            })?;
        }
        Ok(Self {
            wants,
            clouds,
            terms,
            surroundings,
            time: Time::HOST,
            planned_s: AtomicU64::new(3600),
            of: OnceLock::new(),
            books: Mutex::default(),
            baked: Mutex::default(),
        })
    }

    /// The same provider, whose pauses and limits are counted by another clock.
    #[must_use]
    pub fn timed(self, time: Time) -> Self {
        let clouds = self.clouds.into_iter().map(|(region, of)| (region, of.timed(time)));
        Self { clouds: clouds.collect(), time, ..self }
    }

    fn books(&self) -> MutexGuard<'_, BTreeMap<String, Kept>> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn want(&self, role: &str) -> Result<&Wants, CloudError> {
        let unknown = || CloudError::Wrong(format!("rent for the role `{role}`: it is not rented"));
        self.wants.get(role).ok_or_else(unknown)
    }

    fn cloud(&self, region: &str) -> Result<&Cloud, CloudError> {
        let unknown = || CloudError::Wrong(format!("ask the region {region}: no role is in it"));
        self.clouds.get(region).ok_or_else(unknown)
    }

    fn begun(&self) -> Result<&(String, Purse), CloudError> {
        let unknown = || CloudError::Wrong("rent for a bed that is not begun".to_owned());
        self.of.get().ok_or_else(unknown)
    }

    fn order(
        &self,
        wants: &Wants,
        bed: &str,
        (instance, token): (&str, &str),
    ) -> Result<Order, CloudError> {
        let minutes = self.planned_s.load(Ordering::Relaxed).div_ceil(60) + BEYOND;
        let own = wants.user_data.as_deref();
        let user_data = user_data(own, minutes).map_err(CloudError::Wrong)?;
        let ours = [(BED_TAG, bed), (NAME_TAG, instance), ("Name", instance)];
        let ours = ours.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let others = wants.tags.iter().filter(|(key, _)| ours.iter().all(|(own, _)| own != key));
        let tags = ours.iter().chain(others).cloned().collect();
        Ok(Order {
            image: wants.image.clone(),
            kind: wants.kind.clone(),
            key_pair: wants.key_pair.clone(),
            security_group: wants.security_group.clone(),
            zone: wants.zone.clone(),
            user_data,
            tags,
            token: token.to_owned(),
        })
    }

    /// Waits until an instance runs. `sees` is told when the cloud has shown it.
    fn runs(
        cloud: &Cloud,
        id: &str,
        (deadline, is_ended): (&Deadline, &dyn Fn() -> bool),
        sees: &dyn Fn() -> Result<(), TestbedError>,
    ) -> Result<Rented, TestbedError> {
        let (mut pause, mut is_seen) = (Duration::from_millis(250), false);
        loop {
            // What was asked before this host stood still says nothing of now.
            let is_last = deadline.is_over();
            // A cloud may take a moment until it knows what it has just started.
            let found = cloud.describe(&[Filter::new("instance-id", &[id])])?.pop();
            if found.is_some() && !is_seen {
                is_seen = true;
                sees()?;
            }
            match found {
                Some(of) if of.state == "running" && of.address().is_some() => return Ok(of),
                Some(of) if !of.costs() || of.state.starts_with("stop") => {
                    let (instance, state, reason) = (of.id, of.state, of.reason);
                    return Err(CloudError::Gone { instance, state, reason }.into());
                }
                _ => {}
            }
            if is_ended() {
                return Err(CloudError::Interrupted.into());
            }
            if is_last {
                let (what, limit) = (format!("wait for {id}"), RENT);
                return Err(CloudError::TooLong { what, limit }.into());
            }
            cloud.wait(pause);
            pause = (pause * 2).min(LOOK * 2);
        }
    }

    fn is_rented(&self, role: &str) -> bool {
        self.wants.contains_key(role)
    }
}

impl Rents for Ec2 {
    fn lasts(&self, planned: Duration) {
        self.planned_s.store(planned.as_secs().max(1), Ordering::Relaxed);
    }

    fn terms(&self) -> &Terms {
        &self.terms
    }

    fn begin(
        &self,
        bed: &str,
        (list, ledgers): (&Path, &Path),
        things: &[Thing],
    ) -> Result<(), TestbedError> {
        self.clouds.values().try_for_each(Cloud::check_credentials)?;
        let purse = Purse::open((list, ledgers), self.terms.clone(), self.surroundings.now_ns)?;
        let list = purse.list()?;
        let mut books = self.books();
        for thing in things {
            let Thing::Rented { instance, token, cloud, .. } = thing else { continue };
            let id = list.get(token).map(|of| of.id.clone()).unwrap_or_default();
            let rented = Rented { id, token: token.clone(), ..Rented::default() };
            let (region, looked) = (cloud.region.clone(), self.time.within(LOOK));
            let kept = Kept { rented, region, looked, is_gone: false };
            books.insert(instance.clone(), kept);
        }
        drop((books, list));
        // It is begun once.
        let _ = self.of.set((bed.to_owned(), purse));
        Ok(())
    }

    fn has(&self, instance: &str) -> bool {
        self.books().contains_key(instance)
    }

    fn intends(&self, role: &str, instance: &str) -> Result<Thing, TestbedError> {
        let (wants, (bed, purse)) = (self.want(role)?, self.begun()?);
        let cloud = self.cloud(&wants.region)?;
        cloud.check_credentials()?;
        let (account, _) = cloud.account()?;
        let token = purse.begins(bed, instance, wants.price)?;
        Ok(Thing::Rented {
            account: Some(Box::new(account)),
            instance: instance.to_owned(),
            token,
            cloud: cloud.at().clone(),
            list: purse.path().to_owned(),
        })
    }

    fn rent(
        &self,
        role: &str,
        thing: &Thing,
        is_ended: &dyn Fn() -> bool,
    ) -> Result<String, TestbedError> {
        let Thing::Rented { instance, token, .. } = thing else { return Ok(String::new()) };
        let (wants, (bed, purse)) = (self.want(role)?, self.begun()?);
        let cloud = self.cloud(&wants.region)?;
        let mut order = self.order(wants, bed, (instance, token))?;
        let baked = self.baked.lock().unwrap_or_else(PoisonError::into_inner).get(role).cloned();
        order.image = baked.unwrap_or(order.image);
        let deadline = self.time.within(RENT);
        let found = match cloud.run(&order, is_ended) {
            Ok(found) => found,
            Err(error) => {
                if !error.is_open() {
                    purse.list()?.ends(token, None)?;
                }
                return Err(error.into());
            }
        };
        let id = found.id.clone();
        purse.list()?.has_id(token, &id)?;
        let (region, looked) = (wants.region.clone(), self.time.within(LOOK));
        let kept = Kept { rented: found, region, looked, is_gone: false };
        self.books().insert(instance.clone(), kept);
        let sees = || purse.list()?.is_seen(token, &id);
        let runs = Self::runs(cloud, &id, (&deadline, is_ended), &sees)?;
        let address = runs.address().unwrap_or_default().to_owned();
        let private = runs.private.clone().unwrap_or_default();
        if let Some(kept) = self.books().get_mut(instance) {
            kept.rented = runs;
        }
        let whose = match cloud.account()? {
            (_, Some(why)) => format!("; whose account it is was not told: {why}"),
            _ => String::new(),
        };
        Ok(format!("{id}, at {address}, {private} within its cloud{whose}"))
    }

    fn end(&self, bed: &str, thing: &Thing) -> Result<bool, TestbedError> {
        let Thing::Rented { instance, cloud, .. } = thing else { return Ok(false) };
        self.books().remove(instance);
        rented::end(bed, thing, self.cloud(&cloud.region)?, self.surroundings.now_ns)
    }

    fn gone(&self) -> Result<Vec<(String, String)>, TestbedError> {
        let mut ids: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for kept in self.books().values().filter(|of| !of.is_gone && !of.rented.id.is_empty()) {
            ids.entry(kept.region.clone()).or_default().push(kept.rented.id.clone());
        }
        let mut told = Vec::new();
        for (region, ids) in ids {
            let filter = Filter { name: "instance-id".to_owned(), values: ids };
            let found = self.cloud(&region)?.describe(&[filter])?;
            let mut books = self.books();
            for of in found.into_iter().filter(|of| !of.costs() || of.state == "stopped") {
                let kept = books.iter_mut().find(|(_, kept)| kept.rented.id == of.id);
                let Some((name, kept)) = kept else { continue };
                kept.is_gone = true;
                let because =
                    if of.reason.is_empty() { String::new() } else { format!(": {}", of.reason) };
                told.push((name.clone(), format!("{} is {}{because}", of.id, of.state)));
                kept.rented = of;
            }
        }
        Ok(told)
    }

    fn ended(&self, instance: &str) -> Option<String> {
        let mut books = self.books();
        let kept = books.get_mut(instance)?;
        let is_due = kept.looked.is_over();
        if is_due {
            kept.looked = self.time.within(LOOK);
        }
        drop(books);
        if is_due {
            // Where the cloud cannot be asked, the health check says what is to be said.
            drop(self.gone());
        }
        let books = self.books();
        let kept = books.get(instance).filter(|of| of.is_gone)?;
        Some(format!("the state {} at its cloud", kept.rented.state))
    }

    fn place_of(&self, role: &str) -> Result<Where, TestbedError> {
        Ok(self.cloud(&self.want(role)?.region)?.at().clone())
    }

    fn bakes(
        &self,
        instance: &str,
        image: &AtCloud,
        is_ended: &dyn Fn() -> bool,
    ) -> Result<String, TestbedError> {
        let id = self.books().get(instance).map(|of| of.rented.id.clone());
        let Some(id) = id.filter(|id| !id.is_empty()) else {
            return Err(CloudError::Wrong(format!("bake {instance}: it is not rented")).into());
        };
        let (bed, _) = self.begun()?;
        let tags = [(BED_TAG, bed.as_str()), (NAME_TAG, instance), ("Name", &image.name)];
        let tags = tags.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let cloud = self.cloud(&image.at.region)?;
        Ok(cloud.create_image(&id, &image.name, &tags, is_ended)?)
    }

    fn starts_from(
        &self,
        role: &str,
        image: &AtCloud,
        is_ended: &dyn Fn() -> bool,
    ) -> Result<(), TestbedError> {
        self.cloud(&image.at.region)?.image_is_made(&image.id, is_ended)?;
        let mut baked = self.baked.lock().unwrap_or_else(PoisonError::into_inner);
        baked.insert(role.to_owned(), image.id.clone());
        Ok(())
    }

    fn is_spent(&self) -> Result<Option<String>, TestbedError> {
        self.of.get().map_or(Ok(None), |(_, purse)| purse.is_reached())
    }
}

/// What of a role needs commands on its instances.
fn needs_commands(role: &Role) -> Option<&'static str> {
    let recipe = &role.recipe.recipe;
    let all = [
        ("start the server by `start`", !recipe.start.is_empty()),
        ("write the files", !recipe.write.is_empty()),
        ("copy the files", !recipe.copy.is_empty() || !role.files.is_empty()),
        ("set the `environment`", !role.environment.is_empty()),
        ("run the commands of `warm`", !recipe.warm.run.is_empty()),
        ("run the commands of `cold`", !recipe.cold.run.is_empty()),
        ("reload the files", recipe.reload.is_some()),
    ];
    all.into_iter().find_map(|(what, is_asked)| is_asked.then_some(what))
}

impl Provider for Ec2 {
    fn name(&self) -> &'static str {
        "ec2"
    }

    fn check(&self, role: &Role) -> Result<(), TestbedError> {
        if role.name != ROLE {
            self.want(&role.name)?;
            if let Some(what) = needs_commands(role) {
                return Err(unreached(&role.name, what));
            }
        }
        Process.check(role)
    }

    fn address(&self, place: usize) -> Result<(String, Option<u16>), TestbedError> {
        Process.address(place)
    }

    fn spot(&self, role: &Role, number: u32, place: usize) -> Result<Spot, TestbedError> {
        if !self.is_rented(&role.name) {
            return Process.spot(role, number, place);
        }
        let books = self.books();
        let name = format!("{}-{number}", role.name);
        let address = books.get(&name).and_then(|of| of.rented.address());
        Ok(Spot { address: address.unwrap_or(NOWHERE).to_owned(), port: None, host: None })
    }

    fn shared(&self, _: &str) -> Vec<Shared> {
        Vec::new()
    }

    fn place(&self, bed: &str, role: &Role, instance: &Instance) -> Vec<Op> {
        let Some(wants) = self.wants.get(&role.name) else {
            return Process.place(bed, role, instance);
        };
        let shown = format!(
            "rent {}: {}, {}, in {}, {} an hour",
            instance.name,
            wants.kind,
            wants.image,
            wants.region,
            format_args!("{} {}", wants.price, self.terms.currency)
        );
        vec![Op::Rent { instance: instance.name.clone(), role: role.name.clone(), shown }]
    }

    fn moves(&self, _: &str, _: &str, _: Option<&str>, _: &str) -> Option<Vec<Words>> {
        None
    }

    fn start(
        &self,
        bed: &str,
        role: &Role,
        instance: &Instance,
    ) -> Result<launch::Order, TestbedError> {
        match self.is_rented(&role.name) {
            true => Ok(launch::Order::default()),
            false => Process.start(bed, role, instance),
        }
    }

    fn rents(&self) -> Option<&dyn Rents> {
        Some(self)
    }

    fn is_reached(&self, role: &str) -> bool {
        !self.is_rented(role)
    }
}

#[cfg(test)]
mod tests;
