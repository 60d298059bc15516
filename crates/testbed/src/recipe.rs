//! Recipes: how the instances of a role are made, started, checked and stopped. A TOML file whose
//! texts are templates of minijinja; a name that is not known is an error, and no file is read.
//!
//! | in a template | is |
//! | --- | --- |
//! | `address`, `port` | where the instance is to listen |
//! | `folder` | its own folder, where it may write |
//! | `name`, `number`, `count` | `web-1`, 1, and how many the role has |
//! | `vars.NAME` | a parameter of the recipe, as the plan has it or by default; a secret one only in what is written into files and asked by collectors |
//! | `role.NAME.address`, `role.NAME.port` | the first instance of another role that stands |
//! | `role.NAME.all` | all of them, `HOST:PORT` with blanks between |

mod takes;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use plimsoll_units::secret::Source;
use serde::{Deserialize, Serialize};

use crate::error::TestbedError;
use crate::folder::is_within;
pub(crate) use takes::takes;

/// The most characters of a text that is filled in.
const MOST_TEXT: usize = 1 << 20;

/// What a template may do, in minijinja's units: some tens of milliseconds, and 64 MB.
const FUEL: u64 = 1_000_000;

/// The recipes inside the program, by name.
pub const SHIPPED: [(&str, &str); 6] = [
    ("mariadb", include_str!("../../../recipes/mariadb.toml")),
    ("mediawiki", include_str!("../../../recipes/mediawiki.toml")),
    ("memcached", include_str!("../../../recipes/memcached.toml")),
    ("nginx", include_str!("../../../recipes/nginx.toml")),
    ("redis", include_str!("../../../recipes/redis.toml")),
    ("target", include_str!("../../../recipes/target.toml")),
];

/// How the instances of a role are made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// What it is, in a sentence.
    pub about: String,
    /// The packages that have its programs, for who has to install them.
    #[serde(default)]
    pub packages: Vec<String>,
    /// What else must be there beside the program that `start` names: programs, and files by their
    /// whole paths, whose last part may end in `*`.
    #[serde(default)]
    pub needs: Vec<String>,
    /// The port where nothing else is said, in a namespace of its own.
    pub port: u16,
    /// The user that it runs as.
    #[serde(default = "nobody")]
    pub user: String,
    /// Its parameters, with their defaults.
    #[serde(default)]
    pub vars: BTreeMap<String, Scalar>,
    /// What a value of a parameter has to look like: a regular expression for the whole of it. A
    /// whole number and a switch take such only, as their defaults are; so no value has more to say
    /// in a script or a configuration than the recipe means.
    #[serde(default)]
    pub takes: BTreeMap<String, String>,
    /// Files beside the plan that are copied into the folder: the path there, and the parameter
    /// that names the file. One without a name is not copied.
    #[serde(default)]
    pub copy: BTreeMap<String, String>,
    /// The files that are written into the folder before it starts.
    #[serde(default)]
    pub write: Vec<Written>,
    /// The command that is the server, in the foreground. Only instances that are rented go
    /// without: their image or `user_data` starts it.
    #[serde(default, deserialize_with = "some_words")]
    pub start: Vec<String>,
    /// When it is ready.
    pub check: Check,
    /// What is done when it answers, before it counts as standing.
    #[serde(default)]
    pub warm: Warm,
    /// What empties an instance that has served, so that it is as one that was just started.
    #[serde(default)]
    pub cold: Commands,
    /// What has an instance take its files anew while it runs. Without it the instance is started
    /// anew where its files differ.
    #[serde(default)]
    pub reload: Option<Reload>,
    /// How it is ended.
    #[serde(default)]
    pub stop: Stop,
    /// Which collectors watch it, and what they ask.
    #[serde(default)]
    pub collect: BTreeMap<String, String>,
}

fn nobody() -> String {
    "nobody".to_owned()
}

/// A command, which has a word where it is given.
fn some_words<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let words = Vec::<String>::deserialize(from)?;
    match words.is_empty() {
        true => Err(serde::de::Error::custom("`start` has no word")),
        false => Ok(words),
    }
}

/// Where a secret comes from, as a recipe has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Reference {
    /// An environment variable.
    Env(String),
    /// A file that nobody else may read, told from the folder of the plan.
    File(PathBuf),
}

impl Reference {
    /// As all of the program knows it.
    #[must_use]
    pub fn source(&self) -> Source {
        match self {
            Self::Env(name) => Source::Env(name.clone()),
            Self::File(path) => Source::File(path.clone()),
        }
    }
}

/// The value of a parameter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Scalar {
    /// A secret, which no argument of a command may hold.
    Secret(Reference),
    /// A switch.
    Switch(bool),
    /// A whole number.
    Number(i64),
    /// A text.
    Text(String),
}

/// A file that is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// Its path in the folder.
    pub path: String,
    /// What it holds.
    pub text: Content,
}

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    /// A template.
    Template(String),
    /// A secret, as it is.
    Secret(Reference),
}

/// When an instance is ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// It answers a request for this path by a status below 400; without it, it takes connections.
    #[serde(default)]
    pub http: Option<String>,
    /// How long that may take, seconds.
    #[serde(default = "ready_s")]
    pub within_s: u64,
}

fn ready_s() -> u64 {
    20
}

/// Commands for an instance that runs, as those that empty it. They run as the instance does: as
/// its user, in its place, in its folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Commands {
    /// The commands, one after the other, each a list of words.
    #[serde(default)]
    pub run: Vec<Vec<String>>,
    /// How long all of them may take, seconds.
    #[serde(default = "commands_s")]
    pub within_s: u64,
}

fn commands_s() -> u64 {
    60
}

impl Default for Commands {
    fn default() -> Self {
        Self { run: Vec::new(), within_s: commands_s() }
    }
}

/// What is done for an instance that answers, before it counts as standing: first the commands,
/// then its pages are asked for until it is as fast as it will be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Warm {
    /// The commands, one after the other, each a list of words.
    #[serde(default)]
    pub run: Vec<Vec<String>>,
    /// When its answers are steady.
    #[serde(default)]
    pub steady: Option<Steady>,
    /// How long all of it may take, seconds.
    #[serde(default = "commands_s")]
    pub within_s: u64,
}

impl Default for Warm {
    fn default() -> Self {
        Self { run: Vec::new(), steady: None, within_s: commands_s() }
    }
}

/// When the answers of an instance are steady: so many in a row took at most so many times their
/// median.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Steady {
    /// The paths that are asked for, one request after the other, in turn.
    pub http: Vec<String>,
    /// How many answers in a row.
    #[serde(default = "answers")]
    pub answers: usize,
    /// How many times their median the slowest of them may take.
    #[serde(default = "times")]
    pub times: u32,
}

fn answers() -> usize {
    10
}

fn times() -> u32 {
    2
}

/// How an instance takes its files anew while it runs: first the commands, which may check the
/// files, then the signal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reload {
    /// The commands, one after the other, each a list of words.
    #[serde(default)]
    pub run: Vec<Vec<String>>,
    /// The signal that its process gets: `HUP`, `USR1`, `USR2`.
    #[serde(default)]
    pub signal: Option<String>,
    /// Whether its process replaces the processes that it has started, as nginx does its workers.
    /// It has taken its files when those of before have ended; a server that refuses the files
    /// keeps them, which would not be noticed otherwise.
    #[serde(default)]
    pub replaces_workers: bool,
    /// How long all of it may take, seconds.
    #[serde(default = "reload_s")]
    pub within_s: u64,
}

fn reload_s() -> u64 {
    20
}

/// How an instance is ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// The signal: `TERM`, `QUIT`, `INT`.
    pub signal: String,
    /// How long it may take before it is killed, seconds.
    pub within_s: u64,
}

impl Default for Stop {
    fn default() -> Self {
        Self { signal: "TERM".to_owned(), within_s: 5 }
    }
}

/// A recipe, and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocatedRecipe {
    /// The recipe.
    pub recipe: Recipe,
    /// Its text.
    pub text: String,
    /// Whether it is a file beside the plan, and not one of the program's.
    pub is_own: bool,
}

/// The file of a recipe of the user's own: `recipes/NAME.toml` in the folder of the plan.
#[must_use]
pub fn own_of(name: &str, folder: &Path) -> PathBuf {
    folder.join("recipes").join(format!("{name}.toml"))
}

/// Whether the program has a recipe of that name.
#[must_use]
pub fn is_shipped(name: &str) -> bool {
    SHIPPED.iter().any(|(known, _)| *known == name)
}

/// Finds a recipe: `recipes/NAME.toml` in the folder of the plan, or one inside the program.
///
/// # Errors
/// A name without a recipe; a text that is none.
pub fn find(name: &str, folder: &Path) -> Result<LocatedRecipe, TestbedError> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || !name.chars().all(is_name) {
        let text = format!("find the recipe `{name}`: expected letters, digits, - and _");
        return Err(TestbedError::Wrong(text));
    }
    let own = own_of(name, folder);
    let (text, is_own) = match std::fs::read_to_string(&own) {
        Ok(text) => (text, true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let shipped = SHIPPED.iter().find(|(known, _)| *known == name);
            let Some((_, text)) = shipped else {
                let known = SHIPPED.map(|(known, _)| known).join(", ");
                return Err(TestbedError::Wrong(format!(
                    "find the recipe `{name}`: there is no {}, and the program has {known}",
                    own.display()
                )));
            };
            ((*text).to_owned(), false)
        }
        Err(error) => return Err(TestbedError::file("read", own)(error)),
    };
    let recipe = parse(name, &text)?;
    Ok(LocatedRecipe { recipe, text, is_own })
}

/// Reads the text of a recipe.
///
/// # Errors
/// What is wrong with it, with its line.
pub fn parse(name: &str, text: &str) -> Result<Recipe, TestbedError> {
    let wrong =
        |why: &str| TestbedError::Wrong(format!("read the recipe `{name}`: {}", why.trim()));
    let recipe: Recipe =
        toml_edit::de::from_str(text).map_err(|error| wrong(&error.to_string()))?;
    let reload = recipe.reload.iter().map(|reload| ("reload", &reload.run));
    let commands = [("warm", &recipe.warm.run), ("cold", &recipe.cold.run)].into_iter();
    for (key, commands) in commands.chain(reload) {
        if commands.iter().any(Vec::is_empty) {
            return Err(wrong(&format!("a command of `{key}` has no word")));
        }
    }
    if let Some(steady) = &recipe.warm.steady {
        check_steady(steady).map_err(|why| wrong(&why))?;
    }
    if let Some(reload) = &recipe.reload {
        check_reload(reload).map_err(|why| wrong(&why))?;
    }
    if signal_of(&recipe.stop.signal).is_none() {
        return Err(wrong(&format!("`{}` is no signal that ends it", recipe.stop.signal)));
    }
    if let Some(of) = recipe.copy.values().find(|of| !recipe.vars.contains_key(*of)) {
        return Err(wrong(&format!("`copy` names the parameter `{of}`, which is not in [vars]")));
    }
    for of in recipe.takes.keys() {
        let default = recipe.vars.get(of);
        let default = default.ok_or_else(|| {
            wrong(&format!("`takes` names the parameter `{of}`, which is not in [vars]"))
        })?;
        takes(&recipe, of, default)
            .map_err(|why| wrong(&format!("the default of `{of}`: {why}")))?;
    }
    for file in &recipe.write {
        if !is_within(&file.path) {
            let text = format!("`{}` leads out of the instance's folder", file.path);
            return Err(wrong(&text));
        }
    }
    Ok(recipe)
}

/// The most answers in a row that are waited for.
const MOST_ANSWERS: usize = 1000;

fn check_steady(steady: &Steady) -> Result<(), String> {
    if steady.http.is_empty() {
        return Err("`http` of `warm.steady` names no path".to_owned());
    }
    if !(2..=MOST_ANSWERS).contains(&steady.answers) {
        return Err(format!("`answers` of `warm.steady` goes from 2 to {MOST_ANSWERS}"));
    }
    match steady.times {
        0 => Err("`times` of `warm.steady` is above 0".to_owned()),
        _ => Ok(()),
    }
}

fn check_reload(reload: &Reload) -> Result<(), String> {
    match &reload.signal {
        Some(name) if reload_signal_of(name).is_none() => {
            Err(format!("`{name}` is no signal that `reload` knows: HUP, USR1 and USR2 are"))
        }
        None if reload.run.is_empty() => Err("`reload` has neither `run` nor `signal`".to_owned()),
        None if reload.replaces_workers => {
            Err("`replaces_workers` of `reload` goes with a `signal`".to_owned())
        }
        _ => Ok(()),
    }
}

impl LocatedRecipe {
    /// What two recipes must have in common for an instance of one to become one of the other by
    /// its files alone: all but what is written, and but parameters that are no secrets.
    #[must_use]
    pub fn frame(&self) -> String {
        let mut recipe = Recipe { write: Vec::new(), ..self.recipe.clone() };
        recipe.vars.retain(|_, value| matches!(value, Scalar::Secret(_)));
        format!("{recipe:?}")
    }
}

/// The signal of a name, of those that `reload` knows.
pub(crate) fn reload_signal_of(name: &str) -> Option<rustix::process::Signal> {
    use rustix::process::Signal;
    match name {
        "HUP" => Some(Signal::HUP),
        "USR1" => Some(Signal::USR1),
        "USR2" => Some(Signal::USR2),
        _ => None,
    }
}

/// The signal of a name, of those that `stop` knows.
pub(crate) fn signal_of(name: &str) -> Option<rustix::process::Signal> {
    use rustix::process::Signal;
    match name {
        "TERM" => Some(Signal::TERM),
        "QUIT" => Some(Signal::QUIT),
        "INT" => Some(Signal::INT),
        _ => None,
    }
}

/// Where another role stands, for templates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stands {
    /// The address of its first instance.
    pub address: String,
    /// Its port.
    pub port: u16,
    /// All its instances, `HOST:PORT` with blanks between.
    pub all: String,
}

/// What templates of an instance are filled in with.
#[derive(Debug, Clone, Serialize)]
pub struct Facts<'a> {
    /// Where it listens.
    pub address: &'a str,
    /// Its port.
    pub port: u16,
    /// Its folder.
    pub folder: &'a str,
    /// Its name: `web-1`.
    pub name: &'a str,
    /// Its number in its role, from 1.
    pub number: u32,
    /// How many the role has.
    pub count: u32,
    /// This program.
    pub plimsoll: &'a str,
    /// Its parameters.
    pub vars: &'a BTreeMap<String, Scalar>,
    /// The roles that stand.
    pub role: &'a BTreeMap<String, Stands>,
}

/// Fills in a template.
///
/// # Errors
/// A text that is none; a name that is not known.
pub fn fill(what: &str, text: &str, facts: impl Serialize) -> Result<String, TestbedError> {
    let failed = |source| TestbedError::Template { what: what.to_owned(), source };
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_fuel(Some(FUEL));
    let syntax = SyntaxConfig::builder().keep_trailing_newline(true).build().map_err(failed)?;
    environment.set_syntax(syntax);
    let filled = environment.render_named_str(what, text, Value::from(Serde(facts)));
    let filled = filled.map_err(failed)?;
    match filled.len() <= MOST_TEXT {
        true => Ok(filled),
        false => Err(TestbedError::Wrong(format!("fill in {what}: it became more than 1 MiB"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts<'a>(
        vars: &'a BTreeMap<String, Scalar>,
        role: &'a BTreeMap<String, Stands>,
    ) -> Facts<'a> {
        Facts {
            address: "10.0.0.2",
            port: 80,
            folder: "/f",
            name: "web-1",
            number: 1,
            count: 2,
            plimsoll: "/usr/bin/plimsoll",
            vars,
            role,
        }
    }

    #[test]
    fn the_shipped_recipes_can_be_filled_in() {
        let role = BTreeMap::new();
        for (name, text) in SHIPPED {
            let recipe = parse(name, text).unwrap();
            let facts = facts(&recipe.vars, &role);
            let template = |file: &'_ Written| match &file.text {
                Content::Template(text) => text.clone(),
                Content::Secret(from) => panic!("{name} has a secret of its own: {from:?}"),
            };
            let texts: Vec<String> = recipe.write.iter().map(template).collect();
            let reload = recipe.reload.iter().flat_map(|reload| &reload.run);
            let commands = recipe.warm.run.iter().chain(&recipe.cold.run).chain(reload);
            let pages = recipe.warm.steady.iter().flat_map(|steady| &steady.http);
            let texts = texts.iter().chain(&recipe.start).chain(commands.flatten()).chain(pages);
            for text in texts.chain(recipe.collect.values()) {
                fill(name, text, &facts).unwrap_or_else(|error| panic!("{name}: {error:?}"));
            }
        }
    }

    #[test]
    fn templates_are_strict_and_read_nothing() {
        let (vars, role) = (BTreeMap::new(), BTreeMap::new());
        let filled = |text: &str| fill("a text", text, facts(&vars, &role));
        assert_eq!(filled("{{address}}:{{port}} & {{name}}\n").unwrap(), "10.0.0.2:80 & web-1\n");
        for wrong in
            ["{{adress}}", "{{vars.x}}", "{% include '/etc/passwd' %}", "{{ role.db.port }}", "{{"]
        {
            let error = filled(wrong).unwrap_err();
            assert!(matches!(error, TestbedError::Template { .. }), "{wrong}: {error}");
        }
    }

    #[test]
    fn what_is_no_recipe_is_told_with_its_line() {
        let told = |text: &str| parse("x", text).unwrap_err().to_string();
        let whole = "about = 'a'\nport = 80\nstart = ['a']\n[check]\n";
        assert!(parse("x", whole).is_ok());
        assert!(told(&whole.replace("port", "prot")).contains("prot"));
        assert!(told(&whole.replace("['a']", "[]")).contains("no word"));
        for (key, says) in [
            ("[cold]\nrun = [['a'], []]", "`cold` has no word"),
            ("[warm.steady]\nhttp = []", "names no path"),
            ("[warm.steady]\nhttp = ['/']\nanswers = 1", "goes from 2"),
            ("[warm.steady]\nhttp = ['/']\ntimes = 0", "above 0"),
            ("[reload]\nrun = [[]]", "`reload` has no word"),
            ("[reload]", "neither `run` nor `signal`"),
            ("[reload]\nsignal = 'TERM'", "HUP, USR1 and USR2"),
            ("[reload]\nrun = [['a']]\nreplaces_workers = true", "goes with a `signal`"),
            ("[reload]\nsignals = 'HUP'", "signals"),
        ] {
            assert!(told(&format!("{whole}{key}\n")).contains(says), "{key}");
        }
        for path in ["../x", "/etc/x", "a/../../x", ""] {
            let write = format!("{whole}[[write]]\npath = '{path}'\ntext = ''\n");
            assert!(told(&write).contains("leads out"), "{path}");
        }
        let secrets = format!(
            "{whole}[vars]\npassword = {{ env = 'PASSWORD' }}\n[[write]]\npath = 'key'\n\
             text = {{ file = 'key.pem' }}\n"
        );
        let recipe = parse("x", &secrets).unwrap();
        assert!(matches!(recipe.vars["password"], Scalar::Secret(Reference::Env(_))));
        assert!(matches!(recipe.write[0].text, Content::Secret(Reference::File(_))));
        let unknown = find("../nginx", Path::new("/")).unwrap_err().to_string();
        assert!(unknown.contains("expected letters"), "{unknown}");
        let none = find("apache", Path::new("/nowhere")).unwrap_err().to_string();
        assert!(none.contains("mariadb, mediawiki, memcached, nginx, redis, target"), "{none}");
    }
}
