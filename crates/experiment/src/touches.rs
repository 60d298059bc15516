//! What executing a plan executes, reads, takes from the environment and reaches, beside what is
//! done for its servers: for who looks before.
//!
//! It is read off the texts of the plan and of its scenario, the plan itself, its recipes and the
//! configuration of `ssh` that it names. Nothing is executed for it, and nobody is asked.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use plimsoll_plan::{Auth, Fleet, Given, Host, Plan, PlanKind, Provider, RequestSource, kind_of};
use plimsoll_testbed::command::Words;
use plimsoll_testbed::recipe::{find, is_shipped, own_of};
use plimsoll_testbed::ssh::Guest;
use serde::Serialize;
use toml_edit::{DocumentMut, Item, Value};

use crate::broker::PASSWORD;
use crate::error::ExperimentError;
use crate::hosts::route;
use crate::prepare::scenario::files_of;
use crate::ready::Ask;
use crate::servers;

/// The longest configuration of `ssh`, scenario or recipe that is looked into, bytes.
const MOST_BYTES: u64 = 1 << 20;
/// The words of a configuration of `ssh` that execute something.
const COMMANDS: [&str; 4] = ["proxycommand", "localcommand", "knownhostscommand", "remotecommand"];
/// The variables by which credentials of a cloud are found.
const OF_CLOUD: [&str; 3] = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"];

/// What a plan touches when it is executed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Touches {
    /// Commands beside those of the servers' steps.
    pub executes: Vec<String>,
    /// What variables of their environment servers are started with: `role.NAME: KEY = VALUE`; of a
    /// secret its source.
    pub starts_with: Vec<String>,
    /// Recipes that lie beside the plan: `role.NAME: FILE`, and whether the program has one of that
    /// name, in whose place it stands.
    pub recipes: Vec<String>,
    /// Files that are read.
    pub reads: Vec<Read>,
    /// Variables of the environment of this program whose values are taken.
    pub variables: Vec<String>,
    /// Whom it sends anything to: servers of URLs, agents, clouds, hosts that are logged in to.
    pub reaches: Vec<String>,
}

/// A file that is read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Read {
    /// The file.
    pub path: PathBuf,
    /// Whether it lies outside of the plan's folder.
    pub is_outside: bool,
}

impl Touches {
    /// What a plan touches that is asked for.
    ///
    /// # Errors
    /// What is wrong with the plan.
    pub fn of(ask: &Ask<'_>) -> Result<Self, ExperimentError> {
        let text = ask.written().merged(ask.place.here, &["folder"])?;
        let mut touches = match kind_of(ask.text) {
            PlanKind::Caches => {
                Self { variables: seen_in(&[text]).0.into_iter().collect(), ..Self::default() }
            }
            _ => Self::of_plan(&ask.plan()?, text, ask.is_simulated, ask.place.here),
        };
        let here = ask.place.here;
        ask.workers()?.iter().for_each(|of| touches.look_at_workers(of, here));
        Ok(touches)
    }

    /// What a plan of a text touches.
    #[must_use]
    pub fn of_plan(plan: &Plan, text: String, is_simulated: bool, here: &Path) -> Self {
        let (mut touches, mut texts) = (Self::default(), vec![text]);
        if let RequestSource::Scenario(file) = &plan.target.asked {
            texts.extend(read(file));
        }
        texts.extend(touches.look_at_recipes(plan));
        touches.look_at_files(plan, here);
        let (mut variables, servers) = seen_in(&texts);
        let login = match &plan.target.auth {
            Some(Auth::BasicEnv(name) | Auth::BearerEnv(name)) => Some(name.clone()),
            _ => None,
        };
        variables.extend(login.into_iter().chain(plan.target.through_env.clone()));
        if !is_simulated {
            touches.look_at_commands(plan, here);
            touches.look_at_places(plan);
            touches.reaches.extend(servers);
            let rents = plan.testbed.as_ref().is_some_and(|of| of.provider == Provider::Ec2);
            variables.extend(OF_CLOUD.map(str::to_owned).into_iter().filter(|_| rents));
        }
        touches.variables.extend(variables);
        touches
    }

    /// Recipes that lie beside the plan, and what servers are started with. Returns the texts of
    /// the recipes.
    fn look_at_recipes(&mut self, plan: &Plan) -> Vec<String> {
        let mut texts = Vec::new();
        for (name, role) in &plan.roles {
            let values = role.environment.iter().map(|(key, given)| match given {
                Given::Text(text) => format!("role.{name}: {key} = {text}"),
                Given::Secret(source) => format!("role.{name}: {key} = {source}"),
            });
            self.starts_with.extend(values);
            let Ok(found) = find(&role.recipe, &plan.folder) else { continue };
            if found.is_own {
                let own = own_of(&role.recipe, &plan.folder);
                let instead = if is_shipped(&role.recipe) {
                    ", in the place of the program's own"
                } else {
                    ""
                };
                self.recipes.push(format!("role.{name}: {}{instead}", own.display()));
            }
            texts.push(found.text);
        }
        texts
    }

    /// The files that are read.
    fn look_at_files(&mut self, plan: &Plan, here: &Path) {
        let copied = plan.roles.iter().flat_map(|(_, role)| role.files.values());
        let of_recipes = servers::depends(plan).map(|(_, files)| files).unwrap_or_default();
        let ssh = configurations(plan).cloned();
        let all = files_of(plan).into_iter().chain(of_recipes).chain(ssh);
        let all = all.chain(copied.map(|of| of.from.clone()));
        let folder = here.join(&plan.folder);
        let of = |path: PathBuf| {
            let whole = std::path::absolute(here.join(&path)).unwrap_or_else(|_| path.clone());
            Read { is_outside: !is_within(&whole, &folder), path }
        };
        let found: BTreeSet<Read> = all.map(of).collect();
        self.reads.extend(found);
    }

    /// The commands that are executed.
    fn look_at_commands(&mut self, plan: &Plan, here: &Path) {
        let restart = plan.target.restart.iter();
        self.executes.extend(restart.map(|of| format!("sh -c `{of}`, to restart the server")));
        plan.fleet.iter().for_each(|of| self.look_at_workers(of, here));
        for file in configurations(plan) {
            let text = read(file).unwrap_or_default();
            let commands = text.lines().map(str::trim).filter(|line| executes(line));
            let commands = commands.map(|line| format!("ssh, by {}: {line}", file.display()));
            self.executes.extend(commands);
        }
    }

    /// How workers are started, and where.
    fn look_at_workers(&mut self, fleet: &Fleet, here: &Path) {
        if let Some(bus) = &fleet.bus {
            let count = fleet.count();
            self.reaches.push(format!("{bus}, the broker at which workers are called: {count}"));
            self.variables.push(PASSWORD.to_owned());
            let files = [&fleet.key, &fleet.known, &fleet.bus_ca].into_iter().flatten();
            self.reads.extend(files.map(|path| Read {
                path: path.clone(),
                is_outside: !is_within(&std::path::absolute(path).unwrap_or_default(), here),
            }));
            return;
        }
        self.executes.extend(workers(fleet));
        let hosts = fleet.hosts.iter();
        self.reaches.extend(hosts.map(|(name, of)| format!("{}, the host {name}", of.address)));
    }

    /// Agents, sources, hosts and clouds.
    fn look_at_places(&mut self, plan: &Plan) {
        let agents = plan.collect.agents.iter();
        self.reaches.extend(agents.map(|(name, at)| format!("{at}, the agent of {name}")));
        let sources = plan.collect.at.iter().filter(|(_, at)| !at.contains("://"));
        self.reaches.extend(sources.map(|(name, at)| format!("{at}, for {name}")));
        let Some(testbed) = &plan.testbed else { return };
        let hosts = testbed.hosts.iter();
        self.reaches.extend(hosts.map(|(name, of)| format!("{}, the host {name}", of.address)));
        if testbed.provider == Provider::Ec2 && testbed.endpoint.is_none() {
            self.reaches.push("Amazon's EC2 of the region".to_owned());
        }
    }
}

/// The configurations of `ssh` that a plan names.
fn configurations(plan: &Plan) -> impl Iterator<Item = &PathBuf> {
    let of_testbed = plan.testbed.iter().filter_map(|of| of.ssh_config.as_ref());
    of_testbed.chain(plan.fleet.iter().filter_map(|of| of.ssh_config.as_ref()))
}

/// How workers are started.
fn workers(fleet: &Fleet) -> Vec<String> {
    if fleet.hosts.is_empty() {
        let words = fleet.start.iter().map(String::as_str);
        let words: Vec<&str> = words.chain(["plimsoll", "worker", "--stdio"]).collect();
        let words = Words::of(&words);
        return (1..=fleet.workers).map(|number| format!("worker {number}: {words}")).collect();
    }
    let host = |(name, host): (&String, &Host)| {
        let ssh = Guest::shown(&route(name, host, fleet.ssh_config.as_deref()));
        format!(
            "{name}: {ssh} plimsoll worker --stdio, of a copy of this program that comes with it"
        )
    };
    fleet.hosts.iter().map(host).collect()
}

/// Whether a path lies in a folder, as both are written.
fn is_within(path: &Path, folder: &Path) -> bool {
    let climbs = path.components().any(|part| part == std::path::Component::ParentDir);
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    !climbs && path.starts_with(folder)
}

/// Whether a line of a configuration of `ssh` executes something.
fn executes(line: &str) -> bool {
    let mut words = line.split(|c: char| c.is_whitespace() || c == '=').filter(|of| !of.is_empty());
    let first = words.next().unwrap_or_default().to_ascii_lowercase();
    let is_match = first == "match"
        && words.any(|word| word.trim_start_matches('!').eq_ignore_ascii_case("exec"));
    // What stands in another file is not looked into: it is named.
    COMMANDS.contains(&first.as_str()) || is_match || first == "include"
}

/// A text file, as far as it is looked into.
fn read(file: &Path) -> Option<String> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(file).ok().filter(|_| file.is_file())?;
    opened.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The variables that texts in TOML name, and the servers of their URLs.
fn seen_in(texts: &[String]) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut variables, mut servers) = (BTreeSet::new(), BTreeSet::new());
    texts.iter().for_each(|text| look_at_text(text, &mut variables, &mut servers));
    (variables, servers)
}

/// The variables that a text in TOML names, and the servers of its URLs.
fn look_at_text(text: &str, variables: &mut BTreeSet<String>, servers: &mut BTreeSet<String>) {
    let Ok(document) = text.parse::<DocumentMut>() else { return };
    let mut see = |key: &str, text: &str| {
        // What hides a secret in a text that is shown is no name.
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if (key == "env" || key.ends_with("_env")) && text.chars().all(is_name) {
            variables.insert(text.to_owned());
        }
        let named = text.split("{{env.").skip(1).filter_map(|rest| rest.split("}}").next());
        variables.extend(named.map(str::to_owned));
        servers.extend(server_of(text));
    };
    document.iter().for_each(|(key, item)| walk_item(key, item, &mut see));
}

/// `scheme://host:port` of a URL; `None` of another text.
fn server_of(text: &str) -> Option<String> {
    let (scheme, rest) = text.trim().split_once("://")?;
    let is_scheme = !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphabetic());
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().filter(|host| !host.is_empty())?;
    // Servers of the plan are in its steps.
    let is_role = host.contains("{{");
    (is_scheme && !is_role).then(|| format!("{scheme}://{host}"))
}

fn walk_item(key: &str, item: &Item, see: &mut impl FnMut(&str, &str)) {
    match item {
        Item::None => {}
        Item::Value(value) => walk_value(key, value, see),
        Item::Table(table) => table.iter().for_each(|(key, item)| walk_item(key, item, see)),
        Item::ArrayOfTables(tables) => {
            for table in tables {
                table.iter().for_each(|(key, item)| walk_item(key, item, see));
            }
        }
    }
}

fn walk_value(key: &str, value: &Value, see: &mut impl FnMut(&str, &str)) {
    match value {
        Value::String(text) => see(key, text.value()),
        Value::Array(values) => values.iter().for_each(|value| walk_value(key, value, see)),
        Value::InlineTable(table) => {
            table.iter().for_each(|(key, value)| walk_value(key, value, see));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_tell_variables_and_servers() {
        let text = "[target]\nurl = \"http://u:p@h:80/a?b={{env.Q}}\"\nbasic_env = \"LOGIN\"\n\
                    headers = { A = \"x {{env.ONE}} {{env.TWO}}\", B = \"plain\" }\n\
                    [role.w.vars]\npassword = { env = \"DB\" }\n\
                    [[step]]\nget = [\"https://other/x\", \"/y\"]\n";
        let (mut variables, mut servers) = (BTreeSet::new(), BTreeSet::new());
        look_at_text(text, &mut variables, &mut servers);
        assert_eq!(variables, ["DB", "LOGIN", "ONE", "Q", "TWO"].map(str::to_owned).into());
        assert_eq!(servers, ["http://h:80", "https://other"].map(str::to_owned).into());
    }

    #[test]
    fn lines_of_ssh_that_execute_are_told() {
        for (line, wanted) in [
            ("ProxyCommand nc %h %p", true),
            ("proxycommand=nc %h %p", true),
            ("Match host a exec \"touch x\"", true),
            ("Match host a", false),
            ("Include /etc/more", true),
            ("HostName exec", false),
            ("# ProxyCommand x", false),
            ("", false),
        ] {
            assert_eq!(executes(line), wanted, "{line}");
        }
    }

    #[test]
    fn a_path_that_climbs_is_outside() {
        let folder = Path::new("/home/p");
        for (path, wanted) in
            [("/home/p/a", true), ("/home/p/../q", false), ("/home/pq", false), ("/etc/x", false)]
        {
            assert_eq!(is_within(Path::new(path), folder), wanted, "{path}");
        }
    }
}
