//! Where what is made is written before it is made: the ledger, or on another host who asks there.

use std::path::PathBuf;

use crate::error::TestbedError;
use crate::ledger::{Ledger, SOCKETS};
use crate::role::Instance;
use crate::thing::Thing;

/// Where what is made is written before it is made: the ledger itself, or for a copy of this
/// program on another host, who asked it.
pub(crate) trait Books: Sync {
    /// The bed's id.
    fn bed(&self) -> &str;

    /// Writes that a thing is about to be made. Returns its number.
    ///
    /// # Errors
    /// Where it cannot be written: then nothing is to be made.
    fn will_make(&self, thing: &Thing) -> Result<u64, TestbedError>;

    /// Writes that a thing is gone.
    ///
    /// # Errors
    /// Where it cannot be written.
    fn is_gone(&self, id: u64) -> Result<(), TestbedError>;

    /// Writes that an instance is ready.
    ///
    /// # Errors
    /// Where it cannot be written.
    fn serves(&self, of: &Instance) -> Result<(), TestbedError>;

    /// The folder of the sockets of connections to other hosts.
    fn sockets(&self) -> PathBuf;
}

impl Books for Ledger {
    fn bed(&self) -> &str {
        Self::bed(self)
    }

    fn will_make(&self, thing: &Thing) -> Result<u64, TestbedError> {
        Self::will_make(self, thing)
    }

    fn is_gone(&self, id: u64) -> Result<(), TestbedError> {
        Self::is_gone(self, id)
    }

    fn serves(&self, of: &Instance) -> Result<(), TestbedError> {
        Self::serves(self, of)
    }

    fn sockets(&self) -> PathBuf {
        self.folder().join(SOCKETS)
    }
}
