//! What is done for a bed, as data: `check` prints it, and a [flow](crate::flow) does it.

use std::time::Duration;

use crate::flow::Class;
use crate::op::Op;
use crate::role::Instance;

/// How long a step may take that only makes things.
const LIMIT: Duration = Duration::from_secs(30);

/// A step of a bed, as data.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// What is done, as a verb and its object.
    pub name: String,
    /// The instance; empty for what all share.
    pub instance: String,
    /// The host that it is done on; none where that is this one.
    pub host: Option<String>,
    /// The kind of step.
    pub class: Class,
    /// The steps before it.
    pub after: Vec<usize>,
    /// How long it may take.
    pub limit: Duration,
    /// What is done, in order.
    pub ops: Vec<Op>,
}

impl Planned {
    /// What it does, one text each: with the whole text of files that are written and hold no
    /// secret.
    #[must_use]
    pub fn does(&self) -> Vec<String> {
        self.ops.iter().map(Op::whole).collect()
    }
}

/// What is done for a bed, and where its instances will stand.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outline {
    /// The instances, in the order of the roles.
    pub instances: Vec<Instance>,
    /// The steps.
    pub steps: Vec<Planned>,
}

impl Outline {
    pub(crate) fn add(
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
            host: None,
            class,
            after: after.to_vec(),
            limit: LIMIT,
            ops,
        });
        self.steps.len() - 1
    }
}
