//! A bed: what a plan wants to stand, and what stands.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::command::is_there;
use crate::error::TestbedError;
use crate::flow::{Class, Flow, Outputs, Step, Told};
use crate::folder::is_within;
use crate::launch::Launcher;
use crate::ledger::Ledger;
use crate::outline::{Outline, Planned};
use crate::provider::Provider;
use crate::recipe::Stands;
use crate::role::{CopiedFile, Instance, Role};
use crate::texts::{Filled, Texts};
use crate::users::is_root;
use crate::work::{Op, Worker};

/// The name of this program's copy in the folder of an instance.
const OWN_PROGRAM: &str = "plimsoll";

/// What a plan wants to stand.
pub struct Bed {
    /// A short id that stands in all names: lower-case letters and digits.
    pub id: String,
    /// What gives instances their places.
    pub provider: Box<dyn Provider>,
    /// The roles, in the order in which they are started: each may name those before it.
    pub roles: Vec<Role>,
    /// Where the folders of instances are made.
    pub folders: PathBuf,
    /// How processes are started.
    pub launcher: Launcher,
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
        let shared = self.provider.shared(&self.id);
        let mut before = Vec::new();
        if !shared.is_empty() {
            before.push(outline.add("make the network", "", Class::Infrastructure, &[], shared));
        }
        let mut stand: BTreeMap<String, Stands> = BTreeMap::new();
        for role in &self.roles {
            self.provider.check(role)?;
            let mut ready = Vec::new();
            for number in 1..=role.count {
                let instance = self.instance(role, number, outline.instances.len(), &stand)?;
                ready.push(self.steps_of(role, &instance, &before, &stand, &mut outline)?);
                outline.instances.push(instance);
            }
            if let Some(first) = outline.instances.iter().find(|of| of.role == role.name) {
                let stands = Stands { address: first.address.clone(), port: first.port };
                stand.insert(role.name.clone(), stands);
            }
            // A role may need those before it.
            before.extend(ready);
        }
        Ok(outline)
    }

    /// The roles' first instances, for texts of a plan.
    #[must_use]
    pub fn stands(outline: &Outline) -> BTreeMap<String, Stands> {
        let of = |instance: &Instance| {
            let stands = Stands { address: instance.address.clone(), port: instance.port };
            (instance.role.clone(), stands)
        };
        outline.instances.iter().filter(|instance| instance.number == 1).map(of).collect()
    }

    /// The programs that recipes need and this host does not have, each with its role and packages.
    #[must_use]
    pub fn missing(&self, outline: &Outline) -> Vec<TestbedError> {
        let mut missing: Vec<TestbedError> = Vec::new();
        let mut seen = Vec::new();
        for op in outline.steps.iter().flat_map(|planned| &planned.ops) {
            let Op::Start { order, instance, .. } = op else { continue };
            let of = outline.instances.iter().find(|of| of.name == *instance);
            let role = self.roles.iter().find(|role| of.is_some_and(|of| of.role == role.name));
            let Some(role) = role.filter(|role| !seen.contains(&&role.name)) else { continue };
            seen.push(&role.name);
            let own = &role.recipe.recipe.start[0];
            let program = order.words.iter().find(|word| *word == own).unwrap_or(own);
            if !program.contains("{{") && !is_there(program) {
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

    pub(crate) fn instance(
        &self,
        role: &Role,
        number: u32,
        place: usize,
        stand: &BTreeMap<String, Stands>,
    ) -> Result<Instance, TestbedError> {
        let (address, port) = self.provider.address(place)?;
        let name = format!("{}-{number}", role.name);
        let folder = self.folders.join(format!("plimsoll-{}-{name}", self.id));
        let mut instance = Instance {
            role: role.name.clone(),
            number,
            place,
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
        self.ask(role, &mut instance, stand)?;
        Ok(instance)
    }

    /// Fills in what collectors ask an instance.
    pub(crate) fn ask(
        &self,
        role: &Role,
        instance: &mut Instance,
        stand: &BTreeMap<String, Stands>,
    ) -> Result<(), TestbedError> {
        let texts = Texts::of(role, instance, &self.program(instance), stand)?;
        let asks = role.recipe.recipe.collect.iter().map(|(collector, asks)| {
            let what = format!("`collect.{collector}` of the role `{}`", role.name);
            Ok((collector.clone(), texts.fill(&what, asks)?.text))
        });
        let asks = asks.collect::<Result<_, TestbedError>>()?;
        instance.collect = asks;
        Ok(())
    }

    /// Where an instance finds this program: a copy in its folder, where the instance runs as a
    /// user who may not go to the program itself.
    fn program(&self, instance: &Instance) -> PathBuf {
        if is_root() && !self.launcher.is_open_to_all() {
            return instance.folder.join(OWN_PROGRAM);
        }
        self.launcher.program.clone()
    }

    /// The copy of this program for an instance that may need one.
    fn own_program(&self, role: &Role, instance: &Instance) -> Option<Op> {
        let from = self.launcher.program.clone();
        let is_needed = self.program(instance) != from && role.names_own_program();
        is_needed.then(|| Op::Copy {
            folder: instance.folder.clone(),
            path: OWN_PROGRAM.to_owned(),
            from,
            is_secret: false,
            user: None,
        })
    }

    /// The steps of an instance. Returns the place of the one after which it is ready.
    pub(crate) fn steps_of(
        &self,
        role: &Role,
        instance: &Instance,
        before: &[usize],
        stand: &BTreeMap<String, Stands>,
        outline: &mut Outline,
    ) -> Result<usize, TestbedError> {
        let recipe = &role.recipe.recipe;
        let texts = Texts::of(role, instance, &self.program(instance), stand)?;
        let mut place = self.provider.place(&self.id, role, instance);
        let user = is_root().then(|| role.user().to_owned());
        for file in &recipe.write {
            let what = format!("{} of the role `{}`", file.path, role.name);
            let Filled { text, is_secret } = texts.content(&what, &file.path, &file.text)?;
            let (folder, path) = (instance.folder.clone(), file.path.clone());
            place.push(Op::Write { folder, path, text, is_secret, user: user.clone() });
        }
        place.extend(self.own_program(role, instance));
        for CopiedFile { path, from, is_secret } in &role.files {
            if !is_within(path) {
                let text = format!(
                    "copy {} for the role `{}`: `{path}` leads out of the instance's folder",
                    from.display(),
                    role.name
                );
                return Err(TestbedError::Wrong(text));
            }
            let (folder, path, from) = (instance.folder.clone(), path.clone(), from.clone());
            place.push(Op::Copy { folder, path, from, is_secret: *is_secret, user: user.clone() });
        }
        let made =
            outline.add("make its place", &instance.name, Class::Infrastructure, before, place);
        let mut order = self.provider.start(&self.id, role, instance)?;
        let what = format!("`start` of the role `{}`", role.name);
        let own = recipe.start.iter().map(|word| texts.word(&what, word));
        order.words.extend(own.collect::<Result<Vec<_>, _>>()?);
        order.environment = role.environment.clone().into_iter().collect();
        let start = Op::Start {
            instance: instance.name.clone(),
            folder: instance.folder.clone(),
            order,
            stop: recipe.stop.clone(),
        };
        let started = outline.add("start it", &instance.name, Class::Service, &[made], vec![start]);
        let text = format!("{}:{}", instance.address, instance.port);
        let address: SocketAddr = text.parse().map_err(|_| {
            TestbedError::Wrong(format!("place {} at {text}, which is no address", instance.name))
        })?;
        let ready = Op::Ready {
            instance: instance.name.clone(),
            folder: instance.folder.clone(),
            address,
            check: recipe.check.clone(),
        };
        let at =
            outline.add("wait for it", &instance.name, Class::Service, &[started], vec![ready]);
        outline.steps[at].limit = Duration::from_secs(recipe.check.within_s);
        if recipe.warm.run.is_empty() {
            return Ok(at);
        }
        let warm = self.warm(role, instance, &texts)?;
        let at = outline.add("warm it", &instance.name, Class::Service, &[at], warm);
        outline.steps[at].limit = Duration::from_secs(recipe.warm.within_s);
        Ok(at)
    }

    /// The commands that make an instance ready for a load.
    fn warm(
        &self,
        role: &Role,
        instance: &Instance,
        texts: &Texts<'_>,
    ) -> Result<Vec<Op>, TestbedError> {
        let what = format!("`warm` of the role `{}`", role.name);
        let commands = role.recipe.recipe.warm.run.iter().enumerate();
        let command = |(at, words): (usize, &Vec<String>)| {
            let mut order = self.provider.start(&self.id, role, instance)?;
            let own = words.iter().map(|word| texts.word(&what, word));
            order.words.extend(own.collect::<Result<Vec<_>, _>>()?);
            order.environment = role.environment.clone().into_iter().collect();
            Ok(Op::Run {
                name: format!("{} warm-{}", instance.name, at + 1),
                folder: instance.folder.clone(),
                log: format!("warm-{}.log", at + 1),
                order,
            })
        };
        commands.map(command).collect()
    }
}

/// A step that a worker takes, and undoes.
pub(crate) fn step<'a>(planned: Planned, worker: &'a Worker<'a>) -> Step<'a> {
    let Planned { name, instance, class, after, limit, ops } = planned;
    let undone = ops.clone();
    Step {
        name,
        instance,
        class,
        after,
        limit,
        retries: 0,
        act: Box::new(move |deadline| ops.iter().map(|op| worker.act(op, deadline)).collect()),
        undo: Some(Box::new(move |deadline| {
            let mut failed = None;
            for op in undone.iter().rev() {
                failed = failed.or(worker.undo(op, deadline).err());
            }
            failed.map_or(Ok(String::new()), Err)
        })),
    }
}

/// A bed that stands.
pub struct Standing<'a> {
    flow: Flow<'a>,
    /// Its instances.
    pub instances: &'a [Instance],
}

impl<'a> Standing<'a> {
    /// Makes a bed stand. `is_ended` tells whether the user has ended it.
    ///
    /// # Errors
    /// The step that failed, after all is undone.
    pub(crate) fn up(
        outline: &'a Outline,
        worker: &'a Worker<'a>,
        told: Told<'a>,
        is_ended: &'a (dyn Fn() -> bool + Sync),
    ) -> Result<Self, TestbedError> {
        let mut flow = Flow::new(told, is_ended);
        for planned in &outline.steps {
            flow.add(step(planned.clone(), worker));
        }
        flow.up()?;
        Ok(Self { flow, instances: &outline.instances })
    }

    /// Undoes it. The errors are of what could not be undone.
    #[must_use]
    pub fn down(self) -> Vec<TestbedError> {
        self.flow.down()
    }
}

/// Who is told of what is done for a bed.
#[derive(Clone, Copy)]
pub struct Hears<'a> {
    /// Is told of every action.
    pub told: Told<'a>,
    /// Takes what each instance said, when it has ended: up to 1 MiB of it, without secrets.
    pub outputs: Outputs<'a>,
    /// Tells whether the user has ended it.
    pub is_ended: &'a (dyn Fn() -> bool + Sync),
}

impl Hears<'_> {
    /// Nobody hears.
    pub const NOTHING: Self = Self { told: &|_| (), outputs: &|_, _| (), is_ended: &|| false };
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
    with_worker(bed, outline, ledgers, hears, |instances, _| with(instances))
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
    let ledger = Ledger::create(ledgers, &bed.id)?;
    let (result, is_clear) = {
        let worker = worker(bed, outline, &ledger, hears);
        let result = match Standing::up(outline, &worker, hears.told, hears.is_ended) {
            Err(error) => Err(error.into()),
            Ok(standing) => {
                let result = with(standing.instances, &worker);
                match standing.down().into_iter().next() {
                    Some(error) => Err(error.into()),
                    None => result,
                }
            }
        };
        (result, worker.is_clear())
    };
    // What could not be undone stands in the ledger, which stays for who takes it down.
    if is_clear {
        ledger.close()?;
    }
    result
}

pub(crate) fn worker<'a>(bed: &'a Bed, outline: &Outline, ledger: &'a Ledger, hears: Hears<'a>) -> Worker<'a> {
    let each = MOST_OUTPUTS / (outline.instances.len() as u64).max(1);
    Worker::new(ledger, &bed.launcher, (hears.outputs, each.min(MOST_OUTPUT)))
}
