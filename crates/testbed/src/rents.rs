//! What a provider can do that rents its instances: seen from the worker, and from who watches over
//! what they cost.

use std::path::Path;
use std::time::Duration;

use crate::cloud::Where;
use crate::error::TestbedError;
use crate::image::AtCloud;
use crate::rented::Terms;
use crate::thing::Thing;

/// How long it may take from the order until an instance runs.
pub(crate) const RENT: Duration = Duration::from_secs(600);

/// Rents instances.
pub trait Rents: Sync {
    /// How long it is planned to last. Instances end by themselves half an hour after that.
    fn lasts(&self, planned: Duration);

    /// What it may cost.
    fn terms(&self) -> &Terms;

    /// Begins with a bed, whose ledger has these things already: where the list of its experiment
    /// lies, and its ledgers. Credentials are looked for, so that a lack of them is told first.
    ///
    /// # Errors
    /// Where there are none; a list that cannot be read.
    fn begin(&self, bed: &str, list: (&Path, &Path), things: &[Thing]) -> Result<(), TestbedError>;

    /// Whether an instance is rented, and stands in the ledger.
    fn has(&self, instance: &str) -> bool;

    /// Takes an instance of a role into the list of its experiment. Returns what is to stand in the
    /// ledger before it is ordered.
    ///
    /// # Errors
    /// One more than may be, or more than may be spent.
    fn intends(&self, role: &str, instance: &str) -> Result<Thing, TestbedError>;

    /// Orders an instance that stands in the ledger, and waits until it runs and has an address.
    ///
    /// # Errors
    /// Where the cloud refuses, does not answer in time, or the user has ended it.
    fn rent(
        &self,
        role: &str,
        thing: &Thing,
        is_ended: &dyn Fn() -> bool,
    ) -> Result<String, TestbedError>;

    /// Ends an instance, and notes when. Returns whether there was one.
    ///
    /// # Errors
    /// Where its cloud cannot be reached.
    fn end(&self, bed: &str, thing: &Thing) -> Result<bool, TestbedError>;

    /// The instances that ended although nobody here has ended them, each told once, with why.
    ///
    /// # Errors
    /// Where a cloud cannot be asked.
    fn gone(&self) -> Result<Vec<(String, String)>, TestbedError>;

    /// How an instance ended that is waited for, where it has. Its cloud is asked now and then.
    fn ended(&self, instance: &str) -> Option<String>;

    /// Where the instances of a role are rented.
    ///
    /// # Errors
    /// A role that is not rented.
    fn place_of(&self, role: &str) -> Result<Where, TestbedError>;

    /// Has the cloud begin an image of an instance under the name that is noted. Returns its id.
    ///
    /// # Errors
    /// Where the cloud refuses, or does not answer in time.
    fn bakes(
        &self,
        instance: &str,
        image: &AtCloud,
        is_ended: &dyn Fn() -> bool,
    ) -> Result<String, TestbedError>;

    /// Waits until an image can be started from, and has the instances of a role start from it.
    ///
    /// # Errors
    /// One that cannot be made; where it takes too long, or the user has ended it.
    fn starts_from(
        &self,
        role: &str,
        image: &AtCloud,
        is_ended: &dyn Fn() -> bool,
    ) -> Result<(), TestbedError>;

    /// Why nothing more may be spent, where the budget is exceeded, or will be by the units that
    /// begin soon.
    ///
    /// # Errors
    /// Where the list of what was spent cannot be read.
    fn is_spent(&self) -> Result<Option<String>, TestbedError>;
}

/// Why a role cannot do on an instance what needs commands there.
pub(crate) fn unreached(role: &str, what: &str) -> TestbedError {
    TestbedError::Wrong(format!(
        "{what} of the role `{role}`: the provider `ec2` runs no commands on its instances; have \
         the image or `user_data` do it"
    ))
}
