//! Who tells which instances a pool has that somebody else starts and ends.

use std::time::Duration;

use plimsoll_monitor::announce::{Announced, Hearing};

/// Who tells which instances there are.
pub(super) trait Tells: Send + Sync {
    /// The instances that live, as far as is known.
    fn living(&self) -> Vec<Announced>;

    /// Why it is not known just now which live; `None` where it is.
    fn fault(&self) -> Option<String> {
        None
    }

    /// How long it takes until all that live are known.
    fn settles(&self) -> Duration;

    /// What somebody does so that his instance is one of them, a sentence.
    fn way_in(&self) -> String;

    /// What is said of one that has come, and of one that is gone.
    fn words(&self) -> (String, String);
}

impl Tells for Hearing {
    fn living(&self) -> Vec<Announced> {
        Self::living(self)
    }

    fn settles(&self) -> Duration {
        2 * self.longest_period().max(Duration::from_secs(1))
    }

    fn way_in(&self) -> String {
        let at = self.address();
        format!("each says `plimsoll agent --announce http://{at} --name NAME --serves PORT`")
    }

    fn words(&self) -> (String, String) {
        ("is announced".to_owned(), "it is not announced any more".to_owned())
    }
}
