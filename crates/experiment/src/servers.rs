//! The servers that a plan starts: its roles as the test-bed takes them, with their secrets.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use plimsoll_plan::{Given, Place as Stands, Places, Plan, Provider as Kind, with_variables};
use plimsoll_testbed::down::Means;
use plimsoll_testbed::launch::Launcher;
use plimsoll_testbed::ledger::{FoundLedger as Left, Owner, Serves};
use plimsoll_testbed::links::{Link, Terms};
use plimsoll_testbed::outline::Outline;
use plimsoll_testbed::provider::{Namespace, Process, Provider};
use plimsoll_testbed::recipe::{Content, LocatedRecipe, Scalar, find, own_of};
use plimsoll_testbed::role::{CopiedFile, Limits, Secrets};
use plimsoll_testbed::ssh::{Client, VARIABLES};
use plimsoll_testbed::{Bed, Instance as Server, Ledger, Role, TestbedError};
use plimsoll_units::failure::{Failure, chain};
use plimsoll_units::hash::fnv_1a;
use plimsoll_units::secret::{SecretError, Source, variable};

use crate::control::{Control, News};
use crate::error::ExperimentError;
use crate::hosts;
use crate::image_folder::images;
use crate::money;
use crate::prepare::Place;

/// The letters of a bed's id.
const LETTERS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
/// Where the folders of instances are made where `TMPDIR` names no other place. They cannot lie in
/// the run's folder, which others may not enter, as servers run as users without rights; and not in
/// `/tmp`, which is memory on many hosts, as stores write there.
// tidy: allow(shared-folder, the worker makes what is below it)
const FOLDERS: &str = "/var/tmp";

/// The id of a bed that is only described. Nothing is executed for it, and nobody is asked.
pub const EXAMPLE: &str = "example";

/// The servers of a plan, under an id of their own; `None` where it starts none.
///
/// # Errors
/// A recipe that there is not; a secret that cannot be had; a provider that this host does not
/// allow.
pub fn bed(plan: &Plan, id: String, place: &Place<'_>) -> Result<Option<Bed>, ExperimentError> {
    bed_with(plan, id, Vec::new(), place)
}

/// As [`bed`], with instances that stand already.
pub(crate) fn bed_with(
    plan: &Plan,
    id: String,
    left: Vec<Serves>,
    place: &Place<'_>,
) -> Result<Option<Bed>, ExperimentError> {
    let Some(testbed) = &plan.testbed else { return Ok(None) };
    // The image of what is rented is the cloud's.
    let is_here = testbed.provider != Kind::Ec2;
    let of = |name: &str, role: &plimsoll_plan::Role| plimsoll_plan::Role {
        image: role.image.clone().filter(|_| is_here),
        // Somebody else starts those of a pool that follows.
        count: if plan.is_followed(name) { 0 } else { role.count },
        ..role.clone()
    };
    let roles = plan.roles.iter();
    let roles = roles.map(|(name, role)| role_of(name, &of(name, role), &plan.folder, place));
    let roles: Vec<Role> = roles.collect::<Result<_, _>>()?;
    let client = Client { only_looks: id == EXAMPLE, ..client(place) };
    let provider: Box<dyn Provider> = match (testbed.provider, left.first()) {
        (Kind::Ssh, _) => Box::new(hosts::provider(plan, testbed, &roles, &client)?),
        (Kind::Process, _) => Box::new(Process),
        (Kind::Ec2, _) => Box::new(money::provider(plan, testbed, place)?),
        (Kind::Namespace, None) => Box::new(Namespace::probe(place.system, place.runtime)?),
        (Kind::Namespace, Some(of)) => {
            Box::new(Namespace::around(&of.address, place.system, place.runtime)?)
        }
    };
    let arguments = ["testbed", "wait"].map(str::to_owned).to_vec();
    // tidy: allow(shared-folder, the worker makes what is below it)
    let folders = (place.environment)("TMPDIR").filter(|folder| !folder.is_empty());
    Ok(Some(Bed {
        id,
        of: None,
        left,
        provider,
        roles,
        links: plan.links.iter().map(link_of).collect(),
        followed: plan.followed().map(str::to_owned),
        folders: PathBuf::from(folders.unwrap_or_else(|| FOLDERS.to_owned())),
        launcher: Launcher { program: place.program.to_owned(), arguments },
        client,
    }))
}

/// What it takes to undo what plans have made elsewhere.
#[must_use]
pub fn means(place: &Place<'_>) -> Means {
    Means { client: client(place), surroundings: Some(money::surroundings(place)) }
}

/// How other hosts are reached from here.
#[must_use]
pub fn client(place: &Place<'_>) -> Client {
    let variable = |name: &&str| Some(((*name).to_owned(), (place.environment)(name)?));
    let environment = VARIABLES.iter().filter_map(variable).collect();
    Client { program: place.program.to_owned(), environment, ..Client::default() }
}

/// A link of a plan, as the test-bed takes it.
fn link_of((name, link): &(String, plimsoll_plan::Link)) -> Link {
    let plimsoll_plan::Link { role, to, rtt, jitter, loss, rate } = link.clone();
    let (jitter, loss) = (jitter.unwrap_or_default(), loss.unwrap_or_default());
    Link { name: name.clone(), role, to, terms: Terms { rtt, jitter, loss, rate } }
}

/// A role of a plan, as the test-bed takes it.
fn role_of(
    name: &str,
    role: &plimsoll_plan::Role,
    folder: &Path,
    place: &Place<'_>,
) -> Result<Role, ExperimentError> {
    let recipe = find(&role.recipe, folder)?;
    let values = Values { name, folder, place };
    let (mut vars, mut secrets) = (BTreeMap::new(), values.of_recipe(&recipe, &role.vars)?);
    for (of, given) in &role.vars {
        match values.value(&format!("vars.{of}"), given)? {
            (value, true) => drop(secrets.vars.insert(of.clone(), value)),
            (value, false) => drop(vars.insert(of.clone(), scalar(&value))),
        }
    }
    let environment = role
        .environment
        .iter()
        .map(|(of, given)| Ok((of.clone(), values.value(&format!("environment.{of}"), given)?.0)));
    let copied = |(path, of): (&String, &plimsoll_plan::Copied)| CopiedFile {
        path: path.clone(),
        from: of.from.clone(),
        is_secret: of.is_secret,
    };
    let files = role.files.iter().map(copied);
    let files = files.chain(named(&recipe, &vars, folder)).collect();
    Ok(Role {
        name: name.to_owned(),
        recipe,
        count: role.count,
        limits: Limits {
            cpu: role.cpu,
            cpu_period_us: u64::try_from(role.cpu_period.as_micros()).unwrap_or(u64::MAX),
            cpuset: role.cpuset.clone(),
            memory: role.memory,
            processes: role.processes.map(u64::from),
            rate: role.rate,
        },
        sysctl: role.sysctl.clone(),
        vars,
        environment: environment.collect::<Result<_, ExperimentError>>()?,
        secrets,
        files,
        user: role.user.clone(),
        image: match &role.image {
            Some(image) => Some(Box::new(images(place).find(image).map_err(|error| {
                let hint = error.hint().map_or(String::new(), |hint| format!("; {hint}"));
                let text = format!("start role.{name}: {}{hint}", chain(&error));
                ExperimentError::Conflict(text)
            })?)),
            None => None,
        },
    })
}

/// What the figures of cells depend on of the servers of their plan, beside the plan: the text of
/// the recipes, and the files that are recipes of one's own and that recipes copy.
///
/// # Errors
/// A recipe that there is not.
pub(crate) fn depends(plan: &Plan) -> Result<(String, Vec<PathBuf>), ExperimentError> {
    let (mut text, mut files) = (String::new(), Vec::new());
    for (_, role) in &plan.roles {
        let found = find(&role.recipe, &plan.folder)?;
        text.push_str(&found.text);
        if found.is_own {
            files.push(own_of(&role.recipe, &plan.folder));
        }
        let given = role.vars.iter().filter_map(|(of, given)| match given {
            Given::Text(text) => Some((of.clone(), scalar(text))),
            Given::Secret(_) => None,
        });
        // One that is not there is told by whoever copies it.
        let copied = named(&found, &given.collect(), &plan.folder).into_iter().map(|of| of.from);
        files.extend(copied.filter(|file| file.is_file()));
    }
    Ok((text, files))
}

/// The files that parameters of a recipe name, beside the plan.
fn named(
    recipe: &LocatedRecipe,
    vars: &BTreeMap<String, Scalar>,
    folder: &Path,
) -> Vec<CopiedFile> {
    let file = |(path, of): (&String, &String)| {
        let value = vars.get(of).or_else(|| recipe.recipe.vars.get(of))?;
        let Scalar::Text(name) = value else { return None };
        let from = folder.join(name);
        (!name.is_empty()).then(|| CopiedFile { path: path.clone(), from, is_secret: false })
    };
    recipe.recipe.copy.iter().filter_map(file).collect()
}

/// Reads the values of a role, with what is secret of them.
struct Values<'a> {
    name: &'a str,
    folder: &'a Path,
    place: &'a Place<'a>,
}

impl Values<'_> {
    fn reveal(&self, what: &str, source: &Source) -> Result<String, ExperimentError> {
        let revealed = source.reveal(self.place.environment, self.folder);
        revealed.map_err(|error| self.wrong(what, &error))
    }

    fn wrong(&self, what: &str, error: &SecretError) -> ExperimentError {
        let text = format!("read the secret role.{}.{what}: {}", self.name, chain(error));
        ExperimentError::Conflict(text)
    }

    /// A value of the plan, and whether it is secret.
    fn value(&self, what: &str, given: &Given) -> Result<(String, bool), ExperimentError> {
        let text = match given {
            Given::Secret(source) => return Ok((self.reveal(what, source)?, true)),
            Given::Text(text) => text,
        };
        let value = |name: &str| {
            variable(name, self.place.environment).map_err(|error| self.wrong(what, &error))
        };
        with_variables(text, value)
    }

    /// What is secret of the recipe itself, where the plan does not say otherwise.
    fn of_recipe(
        &self,
        recipe: &LocatedRecipe,
        given: &BTreeMap<String, Given>,
    ) -> Result<Secrets, ExperimentError> {
        let mut secrets = Secrets::default();
        for (name, value) in &recipe.recipe.vars {
            if let (Scalar::Secret(from), false) = (value, given.contains_key(name)) {
                let value = self.reveal(&format!("vars.{name}"), &from.source())?;
                secrets.vars.insert(name.clone(), value);
            }
        }
        for file in &recipe.recipe.write {
            if let Content::Secret(from) = &file.text {
                let value = self.reveal(&format!("write {}", file.path), &from.source())?;
                secrets.texts.insert(file.path.clone(), value);
            }
        }
        Ok(secrets)
    }
}

/// A parameter of a recipe, as its template has it.
fn scalar(text: &str) -> Scalar {
    match (text.parse::<i64>(), text) {
        (Ok(number), _) if number.to_string() == text => Scalar::Number(number),
        (_, "true") => Scalar::Switch(true),
        (_, "false") => Scalar::Switch(false),
        _ => Scalar::Text(text.to_owned()),
    }
}

/// An id for the bed of an attempt at a cell: seven letters and digits.
#[must_use]
pub fn bed_id(experiment: &Path, cell: u32, now_ns: u64) -> String {
    let text = format!("{} {cell} {now_ns} {}", experiment.display(), std::process::id());
    let mut left = fnv_1a(text.as_bytes());
    let letter = |_| {
        let letter = LETTERS[usize::try_from(left % 36).unwrap_or(0)];
        left /= 36;
        char::from(letter)
    };
    (0..7).map(letter).collect()
}

/// Where the first instances of roles stand, for the texts of a plan.
pub(crate) fn places(servers: &[Server]) -> Places {
    let first = servers.iter().filter(|server| server.number == 1);
    let place =
        |of: &Server| (of.role.clone(), Stands { address: of.address.clone(), port: of.port });
    first.map(place).collect::<BTreeMap<_, _>>()
}

/// The steps of a bed, as `check` prints them.
///
/// # Errors
/// As for [`Bed::outline`], and programs that are not there.
pub fn outline(bed: &Bed) -> Result<Outline, ExperimentError> {
    let outline = bed.outline()?;
    bed.check_programs(&outline)?;
    Ok(outline)
}

/// A cell as the ledgers of its beds have it.
pub(crate) fn owner(path: &Path, cell: u32, place: &Place<'_>) -> Owner {
    Owner { experiment: place.here.join(path), cell }
}

/// The beds that a process has left that was killed while it executed an experiment, which this one
/// goes on with. With `waits`, before it holds any itself, the locks that a killed process has let
/// go only a moment ago are waited for.
///
/// # Errors
/// Ledgers that cannot be read.
pub(crate) fn left_of(
    path: &Path,
    place: &Place<'_>,
    waits: bool,
) -> Result<Vec<Left>, ExperimentError> {
    let experiment = place.here.join(path);
    let is_its = |of: &Owner| of.experiment == experiment;
    let mut all = Vec::new();
    for ledgers in money::all_ledgers(place) {
        let its = Ledger::all(&ledgers)?.into_iter().filter(|of| {
            let is_its = of.stood.is_none() && of.of.as_ref().is_some_and(is_its);
            is_its && (!of.is_held || (waits && Ledger::becomes_free(&ledgers, &of.bed)))
        });
        all.extend(its);
    }
    Ok(all)
}

/// Undoes a bed that a killed process has left.
///
/// # Errors
/// What cannot be undone.
pub(crate) fn undo_left(
    found: &Left,
    place: &Place<'_>,
    control: &dyn Control,
) -> Result<(), ExperimentError> {
    let text = format!("undoes what a killed process has left of it: {}", found.bed);
    control.tell(News::Says(&text));
    for ledgers in money::all_ledgers(place) {
        if ledgers.join(&found.bed).exists() {
            Ledger::take_down(&ledgers, &found.bed, false, &means(place))?;
        }
    }
    Ok(())
}

/// Installs the packages of the programs that a bed needs and this host does not have. Returns
/// their names.
///
/// # Errors
/// An installation that fails.
pub fn install(bed: &Bed, place: &Place<'_>) -> Result<Vec<String>, ExperimentError> {
    let missing = bed.missing(&bed.outline()?);
    let packages = missing.iter().filter_map(|error| match error {
        TestbedError::Program { packages, .. } => Some(packages.split_whitespace()),
        _ => None,
    });
    let packages: Vec<String> = packages.flatten().map(str::to_owned).collect();
    if packages.is_empty() {
        return Ok(packages);
    }
    let ledger = Ledger::create(place.runtime, &bed.id)?;
    let installed = plimsoll_testbed::install::install(&packages, place.system, &ledger);
    ledger.close()?;
    installed?;
    Ok(packages)
}

/// Roles of several instances of which a plan uses the first alone: no other role names all.
pub(crate) fn unused(plan: &Plan) -> Vec<String> {
    let names_all = |role: &str| {
        let all = format!("role.{role}.all");
        let names = |of: &Given| matches!(of, Given::Text(text) if text.contains(&all));
        plan.roles.iter().any(|(_, of)| of.vars.values().any(names))
    };
    let several = plan.roles.iter().filter(|(name, role)| role.count > 1 && !names_all(name));
    let text = |(name, role): &(String, plimsoll_plan::Role)| {
        format!(
            "role.{name} has {} instances, and {{{{role.{name}.address}}}} is the first of them: \
             the others get no load",
            role.count
        )
    };
    several.map(text).collect()
}
