//! Where the roles of a plan stand, as far as that is known when it is read.

use std::collections::BTreeMap;

/// Where a role stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The address of its first instance.
    pub address: String,
    /// Its port.
    pub port: u16,
}

/// The places of roles, by their names.
pub type Places = BTreeMap<String, Place>;
