//! A bed: what a plan wants to stand, and what stands.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::command::is_there;
use crate::error::TestbedError;
use crate::flow::{ActionListener, Class, Deed, Flow, Outputs, Step};
use crate::gone::{Gone, watched};
use crate::launch::Launcher;
use crate::ledger::{Held, Ledger, Owner, Serves};
use crate::links::{self, Link};
use crate::making::{BedContext, Making};
use crate::op::Op;
use crate::outline::{Outline, Planned};
use crate::provider::{Provider, Shared, Spot};
use crate::recipe::Stands;
use crate::role::{Instance, Role};
use crate::ssh::Client;
use crate::thing::Thing;
use crate::work::Worker;
use plimsoll_units::hash::fnv_1a;

/// The folder beside the ledgers with the lists of what experiments have rented.
const LISTS: &str = ".rented";

/// What a plan wants to stand.
pub struct Bed {
    /// A short id that stands in all names: lower-case letters and digits.
    pub id: String,
    /// The cell that it is of, where it is of one: who goes on with that finds what a killed
    /// process has left.
    pub of: Option<Owner>,
    /// The instances that stand already, left by a process that was killed.
    pub left: Vec<Serves>,
    /// What gives instances their places.
    pub provider: Box<dyn Provider>,
    /// The roles, in the order in which they are started: each may name those before it.
    pub roles: Vec<Role>,
    /// How far instances are from each other.
    pub links: Vec<Link>,
    /// The role whose instances somebody else starts and ends, where there is one.
    pub followed: Option<String>,
    /// Where the folders of instances are made.
    pub folders: PathBuf,
    /// How processes are started.
    pub launcher: Launcher,
    /// How other hosts are reached.
    pub client: Client,
}

impl Bed {
    /// What is done for it. Nothing is done yet.
    ///
    /// # Errors
    /// What the provider cannot do; parameters that a recipe does not have, and texts that cannot
    /// be filled in.
    pub fn outline(&self) -> Result<Outline, TestbedError> {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        if self.id.is_empty() || self.id.len() > 8 || !self.id.chars().all(is_plain) {
            let text = format!("name a bed `{}`: expected 1 to 8 letters and digits", self.id);
            return Err(TestbedError::Wrong(text));
        }
        let mut outline = Outline { instances: Vec::new(), steps: Vec::new() };
        let mut before = Vec::new();
        for Shared { name, host, limit, ops } in self.provider.shared(&self.id) {
            let at = outline.add(&name, "", Class::Infrastructure, &[], ops);
            let step = &mut outline.steps[at];
            (step.host, step.limit) = (host, limit.unwrap_or(step.limit));
            before.push(at);
        }
        for role in &self.roles {
            // Nobody rents what is followed.
            if !self.is_followed(role) || self.provider.rents().is_none() {
                self.provider.check(role)?;
            }
            self.check_start(role)?;
            let (mut ready, stand) = (Vec::new(), before_role(&outline.instances, &role.name));
            for number in 1..=role.count {
                let instance = self.instance(role, number, outline.instances.len(), &stand)?;
                let making = Making::new(self.of(&self.id), role, &instance, &stand)?;
                ready.push(making.steps(&before, &mut outline)?);
                outline.instances.push(instance);
            }
            // A role may need those before it.
            before.extend(ready);
        }
        links::add((&self.links, &self.folders), self.of(&self.id), &before, &mut outline)?;
        Ok(outline)
    }

    /// Whether somebody else starts and ends the instances of a role.
    pub(crate) fn is_followed(&self, role: &Role) -> bool {
        self.followed.as_ref() == Some(&role.name)
    }

    /// Refuses a role that nobody can start.
    fn check_start(&self, role: &Role) -> Result<(), TestbedError> {
        let is_ours = self.provider.is_reached(&role.name) && !self.is_followed(role);
        if role.recipe.recipe.start.is_empty() && is_ours {
            let text = format!(
                "start the role `{}`: its recipe has no `start`; only instances of the provider \
                 `ec2`, and those of a pool that follows, go without",
                role.name
            );
            return Err(TestbedError::Wrong(text));
        }
        Ok(())
    }

    /// The programs that recipes need and this host does not have, each with its role and packages.
    #[must_use]
    pub fn missing(&self, outline: &Outline) -> Vec<TestbedError> {
        let mut missing: Vec<TestbedError> = Vec::new();
        let mut seen = Vec::new();
        for op in outline.steps.iter().flat_map(|planned| &planned.ops) {
            let Op::Start { order, instance, .. } = op else { continue };
            // What is on another host is looked for there.
            let of = outline.instances.iter().find(|of| of.name == *instance && of.host.is_none());
            let role = self.roles.iter().find(|role| of.is_some_and(|of| of.role == role.name));
            let Some(role) = role.filter(|role| !seen.contains(&&role.name)) else { continue };
            seen.push(&role.name);
            let own = &role.recipe.recipe.start[0];
            let program = order.words.iter().find(|word| *word == own).unwrap_or(own);
            let needs = role.recipe.recipe.needs.iter().chain([program]);
            let is_absent = |program: &&String| !program.contains("{{") && !is_there(program);
            if let Some(program) = needs.into_iter().find(is_absent) {
                missing.push(TestbedError::Program {
                    program: program.clone(),
                    what: format!("the role `{}`", role.name),
                    packages: role.recipe.recipe.packages.join(" "),
                });
            }
        }
        missing
    }

    /// Checks that all programs are there that recipes need.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check_programs(&self, outline: &Outline) -> Result<(), TestbedError> {
        self.missing(outline).into_iter().next().map_or(Ok(()), Err)
    }

    /// Its ledger, with the rows of what stands already: a new one, or that of the process that has
    /// left it.
    fn ledger(&self, ledgers: &Path) -> Result<(Ledger, Vec<(Thing, u64)>), TestbedError> {
        if self.left.is_empty() {
            let ledger = Ledger::create(ledgers, &self.id)?;
            self.of.iter().try_for_each(|of| ledger.is_of(of))?;
            return Ok((ledger, Vec::new()));
        }
        match Ledger::hold(ledgers, &self.id)? {
            Some(Held { ledger, things, .. }) => Ok((ledger, things)),
            None => Err(TestbedError::Wrong(format!("adopt {}: another process has it", self.id))),
        }
    }

    /// Where the list of what the bed's experiment has rented lies.
    fn list(&self, ledgers: &Path) -> PathBuf {
        let of = self.of.as_ref().map_or_else(
            || self.id.clone(),
            |of| format!("{:016x}", fnv_1a(of.experiment.as_os_str().as_bytes())),
        );
        ledgers.join(LISTS).join(format!("{of}.jsonl"))
    }

    /// Rents the instances of an outline that are rented; they are undone by the flow that comes
    /// back. `None` where there are none.
    ///
    /// # Errors
    /// The first that could not be rented, after all are ended.
    pub(crate) fn rent<'a>(
        &self,
        outline: &Outline,
        worker: &'a Worker<'a>,
        hears: Hears<'a>,
    ) -> Result<Option<Flow<'a>>, TestbedError> {
        let is_rented = |step: &&Planned| step.ops.iter().any(|op| matches!(op, Op::Rent { .. }));
        let steps: Vec<Planned> = outline
            .steps
            .iter()
            .filter(is_rented)
            .map(|step| Planned { after: Vec::new(), ..step.clone() })
            .collect();
        if steps.is_empty() {
            return Ok(None);
        }
        let flow = flow_of(&steps, worker, hears.told, hears.is_ended);
        flow.up()?;
        Ok(Some(flow))
    }

    /// What an instance of a bed of this id is made with.
    pub(crate) fn of<'a>(&'a self, id: &'a str) -> BedContext<'a> {
        BedContext { id, provider: &*self.provider, launcher: &self.launcher }
    }

    pub(crate) fn instance(
        &self,
        role: &Role,
        number: u32,
        place: usize,
        stand: &BTreeMap<String, Stands>,
    ) -> Result<Instance, TestbedError> {
        let name = format!("{}-{number}", role.name);
        let left = self.left.iter().find(|of| of.name == name);
        let Spot { address, port, host } = match left {
            Some(of) => self.provider.left(role, number, of),
            None => self.provider.spot(role, number, place)?,
        };
        let place = left.map_or(place, |of| of.place);
        let folders = host.as_ref().and_then(|_| self.provider.folders());
        let folders = folders.unwrap_or(&self.folders);
        let folder = folders.join(format!("plimsoll-{}-{name}", self.id));
        let mut instance = Instance {
            role: role.name.clone(),
            number,
            place,
            host,
            address,
            port: port.unwrap_or(role.recipe.recipe.port),
            folder,
            cgroups: Vec::new(),
            collect: BTreeMap::new(),
            name,
        };
        let entered = self.provider.start(&self.id, role, &instance)?.cgroups;
        let folder = |file: &PathBuf| file.parent().map(Path::to_owned);
        instance.cgroups = entered.iter().filter_map(folder).collect();
        let asks = Making::new(self.of(&self.id), role, &instance, stand)?.asks()?;
        instance.collect = asks;
        Ok(instance)
    }
}

/// A bed that stands.
pub struct Standing<'a> {
    flow: Flow<'a>,
    /// Its instances.
    pub instances: &'a [Instance],
}

impl<'a> Standing<'a> {
    /// A bed that stands.
    fn of(outline: &'a Outline, worker: &'a Worker<'a>, hears: Hears<'a>) -> Self {
        let flow = flow_of(&outline.steps, worker, hears.told, hears.is_ended);
        Self { flow, instances: &outline.instances }
    }

    /// Makes a bed stand. `is_ended` tells whether the user has ended it.
    ///
    /// # Errors
    /// The step that failed, after all is undone.
    pub(crate) fn up(
        outline: &'a Outline,
        worker: &'a Worker<'a>,
        told: ActionListener<'a>,
        is_ended: &'a (dyn Fn() -> bool + Sync),
    ) -> Result<Self, TestbedError> {
        let flow = flow_of(&outline.steps, worker, told, is_ended);
        flow.up()?;
        Ok(Self { flow, instances: &outline.instances })
    }

    /// Undoes it. The errors are of what could not be undone.
    #[must_use]
    pub fn down(self) -> Vec<TestbedError> {
        self.flow.down()
    }
}

/// A step that a worker takes, and undoes.
pub(crate) fn step<'a>(planned: Planned, worker: &'a Worker<'a>) -> Step<'a> {
    let Planned { name, instance, host, class, after, limit, ops } = planned;
    let (undone, there) = (ops.clone(), host.clone());
    // What was only waited for leaves nothing behind.
    let only_waits = ops.iter().all(|op| matches!(op, Op::Ready { .. } | Op::Steady { .. }));
    let undo: Deed<'a> = Box::new(move |deadline| {
        let mut failed = None;
        for op in undone.iter().rev() {
            failed = failed.or(worker.undo(there.as_deref(), op, deadline).err());
        }
        failed.map_or(Ok(String::new()), Err)
    });
    Step {
        name,
        instance,
        class,
        after,
        limit,
        retries: 0,
        act: Box::new(move |deadline| {
            ops.iter().map(|op| worker.act(host.as_deref(), op, deadline)).collect()
        }),
        undo: (!only_waits).then_some(undo),
    }
}

/// The flow of steps that a worker does.
pub(crate) fn flow_of<'a>(
    steps: &[Planned],
    worker: &'a Worker<'a>,
    told: ActionListener<'a>,
    is_ended: &'a (dyn Fn() -> bool + Sync),
) -> Flow<'a> {
    let mut flow = Flow::new(told, is_ended);
    for planned in steps {
        flow.add(step(planned.clone(), worker));
    }
    flow
}

/// Who is told of what is done for a bed.
#[derive(Clone, Copy)]
pub struct Hears<'a> {
    /// Is told of every action.
    pub told: ActionListener<'a>,
    /// Takes what each instance said, when it has ended: up to 1 MiB of it, without secrets.
    pub outputs: Outputs<'a>,
    /// Is told of each server that ends by itself while the bed is used.
    pub gone: &'a (dyn Fn(&Gone) + Sync),
    /// Tells whether the user has ended it.
    pub is_ended: &'a (dyn Fn() -> bool + Sync),
}

impl Hears<'_> {
    /// Nobody hears.
    pub const NOTHING: Self =
        Self { told: &|_| (), outputs: &|_, _| (), gone: &|_| (), is_ended: &|| false };
}

/// How much is kept of what one instance says, bytes.
const MOST_OUTPUT: u64 = 1 << 20;
/// How much is kept of what all instances of a bed say, bytes.
const MOST_OUTPUTS: u64 = 64 << 20;

/// Makes a bed stand, does something with it, and undoes it, whatever comes of that.
///
/// # Errors
/// The step that failed; what `with` comes to; what could not be undone.
pub fn with_bed<T, E: From<TestbedError>>(
    bed: &Bed,
    ledgers: &Path,
    hears: Hears<'_>,
    with: impl FnOnce(&[Instance]) -> Result<T, E>,
) -> Result<T, E> {
    with_steps(bed, &bed.outline()?, ledgers, hears, with)
}

/// As [`with_bed`], by steps that are given.
///
/// # Errors
/// As for [`with_bed`].
pub fn with_steps<T, E: From<TestbedError>>(
    bed: &Bed,
    outline: &Outline,
    ledgers: &Path,
    hears: Hears<'_>,
    with: impl FnOnce(&[Instance]) -> Result<T, E>,
) -> Result<T, E> {
    with_worker(bed, outline, ledgers, hears, |instances, worker| {
        watched(instances, worker, hears.gone, || with(instances))
    })
}

/// As [`with_steps`], for what makes more stand meanwhile, and undoes it.
pub(crate) fn with_worker<T, E: From<TestbedError>>(
    bed: &Bed,
    outline: &Outline,
    ledgers: &Path,
    hears: Hears<'_>,
    with: impl FnOnce(&[Instance], &Worker<'_>) -> Result<T, E>,
) -> Result<T, E> {
    bed.check_programs(outline)?;
    let (ledger, rows) = bed.ledger(ledgers)?;
    if let Some(rents) = bed.provider.rents() {
        let things: Vec<Thing> = rows.iter().map(|(thing, _)| thing.clone()).collect();
        if let Err(error) = rents.begin(&bed.id, (&bed.list(ledgers), ledgers), &things) {
            // Of a new bed there is nothing that would be undone.
            if rows.is_empty() {
                ledger.close()?;
            }
            return Err(error.into());
        }
    }
    let (result, is_clear) = {
        let worker = worker(bed, outline.instances.len(), &ledger, hears);
        let is_left = !bed.left.is_empty();
        let worker = if is_left { worker.on_standing(rows) } else { worker };
        let result = stand(bed, outline, (&worker, &ledger), hears, with);
        (result, worker.is_clear())
    };
    // What could not be undone stands in the ledger, which stays for who takes it down.
    if is_clear {
        ledger.close()?;
    }
    result
}

/// Makes a bed stand by a worker, does something with it, and undoes it.
fn stand<'w, T, E: From<TestbedError>>(
    bed: &'w Bed,
    outline: &Outline,
    (worker, ledger): (&'w Worker<'w>, &Ledger),
    hears: Hears<'w>,
    with: impl FnOnce(&[Instance], &Worker<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let is_left = !bed.left.is_empty();
    worker.end_others(&bed.left)?;
    if is_left {
        for Shared { host, ops, .. } in bed.provider.shared(&bed.id) {
            host.map_or(Ok(()), |host| worker.renew(&host, &ops))?;
        }
    }
    // What is rented has an address from then on, by which the other steps go.
    let rented = bed.rent(outline, worker, hears)?;
    let end = || rented.iter().for_each(|flow| drop(flow.down()));
    let again = rented.is_some().then(|| bed.outline()).transpose();
    let again = again.inspect_err(|_| end())?;
    let outline = again.as_ref().unwrap_or(outline);
    let standing = match is_left {
        true => Ok(Standing::of(outline, worker, hears)),
        false => Standing::up(outline, worker, hears.told, hears.is_ended),
    };
    let standing = standing.inspect_err(|_| end())?;
    let written = |of: &Instance| ledger.serves(of);
    let told = standing.instances.iter().try_for_each(written);
    let result = told.map_err(E::from).and_then(|()| with(standing.instances, worker));
    let rest = standing.down().into_iter().chain(worker.remove_rest(is_left));
    match rest.into_iter().next() {
        Some(error) => Err(error.into()),
        None => result,
    }
}

/// Who does the steps of a bed of so many instances.
pub(crate) fn worker<'a>(
    bed: &'a Bed,
    instances: usize,
    ledger: &'a Ledger,
    hears: Hears<'a>,
) -> Worker<'a> {
    let each = MOST_OUTPUTS / (instances as u64).max(1);
    let outputs = (hears.outputs, each.min(MOST_OUTPUT));
    Worker::new(ledger, &bed.launcher, outputs)
        .reaching(&bed.client)
        .renting((bed.provider.rents(), hears.is_ended))
}

/// Where the roles before a role stand, among instances in the order of their roles.
pub(crate) fn before_role(instances: &[Instance], role: &str) -> BTreeMap<String, Stands> {
    let mut before: BTreeMap<String, Stands> = BTreeMap::new();
    for Instance { role, address, port, .. } in instances.iter().take_while(|of| of.role != role) {
        let at = format!("{address}:{port}");
        match before.get_mut(role) {
            Some(stands) => stands.all = format!("{} {at}", stands.all),
            None => {
                let stands = Stands { address: address.clone(), port: *port, all: at };
                before.insert(role.clone(), stands);
            }
        }
    }
    before
}
