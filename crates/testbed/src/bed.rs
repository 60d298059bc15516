//! A bed: what a plan wants to stand, and what stands.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::command::is_there;
use crate::error::TestbedError;
use crate::flow::{Class, Flow, Step, Told};
use crate::launch::Launcher;
use crate::ledger::Ledger;
use crate::provider::Provider;
use crate::recipe::{Facts, Scalar, Stands, fill};
use crate::role::{Instance, Role};
use crate::work::{Op, Worker};

/// How long a step may take that only makes things.
const LIMIT: Duration = Duration::from_secs(30);

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

/// A step of a bed, as data.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// What is done, as a verb and its object.
    pub name: String,
    /// The instance; empty for what all share.
    pub instance: String,
    /// The kind of step.
    pub class: Class,
    /// The steps before it.
    pub after: Vec<usize>,
    /// How long it may take.
    pub limit: Duration,
    /// What is done, in order.
    pub ops: Vec<Op>,
}

/// What is done for a bed, and where its instances will stand.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outline {
    /// The instances, in the order of the roles.
    pub instances: Vec<Instance>,
    /// The steps.
    pub steps: Vec<Planned>,
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

    /// The programs that recipes need and this host does not have, with their packages.
    ///
    /// # Errors
    /// The first of them.
    pub fn check_programs(&self, outline: &Outline) -> Result<(), TestbedError> {
        for planned in &outline.steps {
            for op in &planned.ops {
                let Op::Start { order, instance, .. } = op else { continue };
                let role = self.roles.iter().find(|role| instance.starts_with(&role.name));
                let Some(role) = role else { continue };
                let own = &role.recipe.recipe.start[0];
                let program = order.words.iter().find(|word| *word == own).unwrap_or(own);
                if !program.contains("{{") && !is_there(program) {
                    return Err(TestbedError::Program {
                        program: program.clone(),
                        what: format!("the role `{}`", role.name),
                        packages: role.recipe.recipe.packages.join(" "),
                    });
                }
            }
        }
        Ok(())
    }

    fn instance(
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
        let vars = vars(role)?;
        for (collector, asks) in &role.recipe.recipe.collect {
            let what = format!("`collect.{collector}` of the role `{}`", role.name);
            let asks = self.fill(&what, asks, (role, &instance), &vars, stand)?;
            instance.collect.insert(collector.clone(), asks);
        }
        Ok(instance)
    }

    fn fill(
        &self,
        what: &str,
        text: &str,
        (role, instance): (&Role, &Instance),
        vars: &BTreeMap<String, Scalar>,
        stand: &BTreeMap<String, Stands>,
    ) -> Result<String, TestbedError> {
        let facts = Facts {
            address: &instance.address,
            port: instance.port,
            folder: &instance.folder.display().to_string(),
            name: &instance.name,
            number: instance.number,
            count: role.count,
            plimsoll: &self.launcher.program.display().to_string(),
            vars,
            role: stand,
        };
        fill(what, text, facts)
    }

    /// The steps of an instance. Returns the place of the one after which it is ready.
    fn steps_of(
        &self,
        role: &Role,
        instance: &Instance,
        before: &[usize],
        stand: &BTreeMap<String, Stands>,
        outline: &mut Outline,
    ) -> Result<usize, TestbedError> {
        let vars = vars(role)?;
        let recipe = &role.recipe.recipe;
        let of = (role, instance);
        let fill = |what: &str, text: &str| self.fill(what, text, of, &vars, stand);
        let mut place = self.provider.place(&self.id, role, instance);
        for file in &recipe.write {
            let what = format!("{} of the role `{}`", file.path, role.name);
            place.push(Op::Write {
                folder: instance.folder.clone(),
                path: file.path.clone(),
                text: fill(&what, &file.text)?,
            });
        }
        let made =
            outline.add("make its place", &instance.name, Class::Infrastructure, before, place);
        let mut order = self.provider.start(&self.id, role, instance)?;
        let what = format!("`start` of the role `{}`", role.name);
        let own = recipe.start.iter().map(|word| fill(&what, word));
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
        Ok(at)
    }
}

impl Outline {
    fn add(
        &mut self,
        name: &str,
        instance: &str,
        class: Class,
        after: &[usize],
        ops: Vec<Op>,
    ) -> usize {
        self.steps.push(Planned {
            name: name.to_owned(),
            instance: instance.to_owned(),
            class,
            after: after.to_vec(),
            limit: LIMIT,
            ops,
        });
        self.steps.len() - 1
    }
}

/// The parameters of a role: the recipe's, and the plan's over them.
fn vars(role: &Role) -> Result<BTreeMap<String, Scalar>, TestbedError> {
    let mut vars = role.recipe.recipe.vars.clone();
    for (name, value) in &role.vars {
        match vars.get_mut(name) {
            Some(of) => *of = value.clone(),
            None => {
                let known: Vec<&str> = vars.keys().map(String::as_str).collect();
                return Err(TestbedError::Wrong(format!(
                    "set role.{}.vars.{name}: its recipe has {}",
                    role.name,
                    known.join(", ")
                )));
            }
        }
    }
    Ok(vars)
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
            flow.add(Step {
                name: planned.name.clone(),
                instance: planned.instance.clone(),
                class: planned.class,
                after: planned.after.clone(),
                limit: planned.limit,
                retries: 0,
                act: Box::new(move |deadline| {
                    let said = planned.ops.iter().map(|op| worker.act(op, deadline));
                    said.collect::<Result<String, _>>()
                }),
                undo: Some(Box::new(move |deadline| {
                    let mut failed = None;
                    for op in planned.ops.iter().rev() {
                        failed = failed.or(worker.undo(op, deadline).err());
                    }
                    failed.map_or(Ok(String::new()), Err)
                })),
            });
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

/// Makes a bed stand, does something with it, and undoes it, whatever comes of that.
///
/// # Errors
/// The step that failed; what `with` comes to; what could not be undone.
pub fn with_bed<T, E: From<TestbedError>>(
    bed: &Bed,
    ledgers: &Path,
    (told, is_ended): (Told<'_>, &(dyn Fn() -> bool + Sync)),
    with: impl FnOnce(&[Instance]) -> Result<T, E>,
) -> Result<T, E> {
    let outline = bed.outline()?;
    bed.check_programs(&outline)?;
    let ledger = Ledger::create(ledgers, &bed.id)?;
    let (result, is_clear) = {
        let worker = Worker::new(&ledger, &bed.launcher);
        let result = match Standing::up(&outline, &worker, told, is_ended) {
            Err(error) => Err(error.into()),
            Ok(standing) => {
                let result = with(standing.instances);
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
