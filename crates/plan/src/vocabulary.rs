//! What a value may be where only a floor above knows it: names with their parameters, as data, and
//! what the texts mean that these names stand in.
//!
//! It is put together once, of the registries of higher floors, and given to the readers. A reader
//! without it takes any such text.

use crate::cluster::CheckCluster;
use crate::describe::CheckText;
use crate::elastic::CheckPolicy;

/// What higher floors know of plans.
#[derive(Debug)]
pub struct Vocabulary {
    /// The kinds of policies of a pool.
    pub policies: Vec<Named>,
    /// The eviction policies of a cache.
    pub evictions: Vec<Named>,
    /// The figures of a simulated pool: what may be made small or great.
    pub figures: Vec<Named>,
    /// Whether a text is one of what is meant.
    pub check_text: CheckText,
    /// All that is wrong with a policy of a plan.
    pub check_policy: CheckPolicy,
    /// All that is wrong with a cluster of a plan.
    pub check_cluster: CheckCluster,
}

/// A name that a plan may have, and its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The name.
    pub name: &'static str,
    /// What it is, in a sentence or a few words.
    pub about: &'static str,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
}

/// A parameter of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it takes, in the words of the manual.
    pub takes: &'static str,
    /// What holds without it, in the words of the manual; none where nothing does.
    pub default: Option<&'static str>,
    /// What it means, in a sentence.
    pub about: &'static str,
}
