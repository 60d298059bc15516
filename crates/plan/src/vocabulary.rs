//! What a value may be where only a floor above knows it: names with their parameters, as data, and
//! what the texts mean that these names stand in.
//!
//! It is put together once, of the registries of higher floors, and given to the readers. A reader
//! without it takes any such text.

use plimsoll_units::ParseError;
use serde_json::{Value as Json, json};

use crate::cluster::{ClusterFault, ClusterPlan};
use crate::elastic::Elastic;
use crate::policies::{PolicyFault, PolicyPlan};
use crate::section::Reading;
use crate::takes::{Describe, Line, Takes};
use crate::tree::Node;

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
    pub check_text: fn(Meant, &str) -> Result<(), ParseError>,
    /// All that is wrong with a policy of a plan.
    pub check_policy: fn(&PolicyPlan, &Elastic) -> Vec<PolicyFault>,
    /// All that is wrong with a cluster of a plan.
    pub check_cluster: fn(&ClusterPlan) -> Vec<ClusterFault>,
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

/// What a text means that a higher floor reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meant {
    /// An eviction policy with its settings: `slru:segments=2`.
    Eviction,
    /// The size of a cache: `10MB`, `962obj`, `10%`.
    CacheSize,
    /// Which missed objects come in: `max:1MB`.
    Admission,
    /// How many of the first requests, or which share of them, are counted apart: `10%`.
    Skip,
    /// A figure of a simulated pool: `cost`.
    Figure,
    /// What has to be kept: `lost<0.1%,p99<400ms`.
    Bounds,
}

/// A text that a higher floor reads; the words of the manual for it.
pub(crate) struct Known(pub(crate) Meant, pub(crate) &'static str);

impl Describe for Known {
    fn takes(&self) -> String {
        self.1.to_owned()
    }

    fn schema(&self) -> Json {
        // A share, or a size, may be a number.
        json!({"type": ["string", "number"], "minLength": 1})
    }

    fn meant(&self) -> Option<Meant> {
        Some(self.0)
    }
}

impl Takes for Known {
    type Of = String;

    fn read(&self, reading: &Reading, node: &Node) -> Option<String> {
        let wanted = format!("text: {}", self.1);
        reading.parsed(node, &wanted, |text| {
            if text.is_empty() || text.chars().any(char::is_control) {
                return Err(ParseError::new(format!("a {}", self.1), text, 0, text.len()));
            }
            reading.vocabulary.map_or(Ok(()), |known| (known.check_text)(self.0, text))?;
            Ok(text.to_owned())
        })
    }

    fn write(&self, value: &String) -> String {
        Line(self.1).write(value)
    }
}
