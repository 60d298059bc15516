//! Roles of a bed, with the limits of their instances, and the instances with their places.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::agent::Agent;
use crate::image::Start;
use crate::recipe::{LocatedRecipe, Scalar};

/// The limits of each instance of a role.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// The share of one core that it may use; above 1 of several.
    pub cpu: Option<f64>,
    /// In which period that holds, microseconds.
    pub cpu_period_us: u64,
    /// The cores that it may use: `0-1`.
    pub cpuset: Option<String>,
    /// The most memory, bytes.
    pub memory: Option<u64>,
    /// The most processes and threads.
    pub processes: Option<u64>,
    /// What its link carries each way, bits a second.
    pub rate: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            cpu: None,
            cpu_period_us: 10_000,
            cpuset: None,
            memory: None,
            processes: None,
            rate: None,
        }
    }
}

/// A role of the bed.
#[derive(Debug, Clone, PartialEq)]
pub struct Role {
    /// Its name.
    pub name: String,
    /// How its instances are made.
    pub recipe: LocatedRecipe,
    /// How many there are.
    pub count: u32,
    /// What each may use.
    pub limits: Limits,
    /// Settings of the kernel in its namespace.
    pub sysctl: BTreeMap<String, String>,
    /// Parameters of the recipe that are not as by default.
    pub vars: BTreeMap<String, Scalar>,
    /// Variables of its environment, secret ones among them: it is handed on beside the command.
    pub environment: BTreeMap<String, String>,
    /// What of it is secret.
    pub secrets: Secrets,
    /// Files that are copied into the folder of each instance.
    pub files: Vec<CopiedFile>,
    /// The user that it runs as; the recipe's where none is named.
    pub user: Option<String>,
    /// The image that its instances start from.
    pub image: Option<Box<Start>>,
}

/// The values of what is secret of a role. They stand in files of its instances that nobody else
/// can read, and in no command.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets {
    /// Parameters of the recipe.
    pub vars: BTreeMap<String, String>,
    /// Files that are a secret as they are, by their paths.
    pub texts: BTreeMap<String, String>,
}

/// The names alone.
impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.vars.keys().chain(self.texts.keys())).finish()
    }
}

/// A file that is copied into the folder of each instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopiedFile {
    /// Its path there.
    pub path: String,
    /// The file.
    pub from: PathBuf,
    /// Whether nobody else may read it.
    pub is_secret: bool,
}

impl Role {
    /// The user that it runs as.
    #[must_use]
    pub fn user(&self) -> &str {
        self.user.as_ref().unwrap_or(&self.recipe.recipe.user)
    }

    /// Whether its texts may name this program, as those of the built-in target do.
    pub(crate) fn names_own_program(&self) -> bool {
        let names = |text: &str| text.contains("plimsoll");
        let is_named = |value: &Scalar| matches!(value, Scalar::Text(text) if names(text));
        names(&self.recipe.text) || self.vars.values().any(is_named)
    }
}

/// Another host, as an instance stands on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnHost {
    /// Its name in the plan.
    pub name: String,
    /// The agent that watches it, where one does.
    pub agent: Option<Agent>,
}

/// An instance, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// Its role.
    pub role: String,
    /// Its name: `web-1`.
    pub name: String,
    /// Its number in its role, from 1.
    pub number: u32,
    /// Its place among all instances of the bed, from 0.
    pub place: usize,
    /// The host that it stands on; none where that is this one.
    pub host: Option<OnHost>,
    /// Where it listens.
    pub address: String,
    /// Its port.
    pub port: u16,
    /// Its folder.
    pub folder: PathBuf,
    /// Its cgroups; none where its provider makes none.
    pub cgroups: Vec<PathBuf>,
    /// The collectors that watch it, and what they ask.
    pub collect: BTreeMap<String, String>,
}
