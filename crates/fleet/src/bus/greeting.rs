//! What a controller and a worker say before a session begins.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::call::Seen;
use super::envelope::Nonce;
use super::key::{KeyId, Known};
use crate::host::Host;
use crate::message::Greeting;

/// The key by which all workers are found.
pub(super) const WORKERS: &str = "workers";
/// How often a controller calls.
pub(super) const CALL_NS: u64 = 500_000_000;

/// The key by which a worker is found.
pub(super) fn of_worker(id: KeyId) -> String {
    format!("worker.{id}")
}

/// The key by which a controller is found.
pub(super) fn of_controller(Nonce(nonce): Nonce) -> String {
    nonce.iter().fold("controller.".to_owned(), |key, byte| format!("{key}{byte:02x}"))
}

/// What a worker says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hello {
    pub(super) greeting: Greeting,
    /// What its own command line says of it.
    pub(super) labels: BTreeMap<String, String>,
    /// What it may do, as its command line has it: `simulate`, `load=10.0.0.0/8:80`.
    pub(super) may: Vec<String>,
    pub(super) host: Host,
    /// Whether it serves another controller.
    pub(super) is_busy: bool,
}

impl Hello {
    /// What is told of it.
    pub(super) fn seen(&self, known: &Known) -> Seen {
        let mut labels = self.labels.clone();
        labels.extend(known.labels.clone());
        Seen {
            name: known.name.clone(),
            may: self.may.clone(),
            labels,
            processors: self.host.processors_count(),
            is_busy: self.is_busy,
            version: self.greeting.version.clone(),
        }
    }

    /// Why it is not taken by a controller that wants it to do `wants`, and which has these labels;
    /// `None` where it is.
    pub(super) fn lacks(
        &self,
        own: &Greeting,
        wants: &str,
        need: &BTreeMap<String, String>,
        known: &BTreeMap<String, String>,
    ) -> Option<String> {
        if let Some(why) = own.refusal(&self.greeting) {
            return Some(why);
        }
        // What the controller's own list says of it wins.
        let label = |name: &String| known.get(name).or_else(|| self.labels.get(name));
        if let Some((name, value)) = need.iter().find(|(name, value)| label(name) != Some(value)) {
            return Some(format!("it is not {name}={value}"));
        }
        let may = |of: &String| of == wants || of.split('=').next() == Some(wants);
        if !self.may.iter().any(may) {
            let may = self.may.join(", ");
            return Some(format!("it may not {wants}, only {may}"));
        }
        self.is_busy.then(|| "it serves another controller".to_owned())
    }
}
