//! The plan language from outside: what it says of wrong plans, what it reads back of its own
//! text, what it survives, and that the manual knows every key.

#![expect(clippy::unwrap_used, reason = "what the tests share is test code too")]

mod caches;
mod documented;
mod flags;
mod golden;
mod mutation;
mod round_trip;
mod secrets;

use std::sync::LazyLock;

use plimsoll_plan::{Named, Plan, PlanErrors, Setting, Vocabulary, Written};

/// Little is known here but protocols.
static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| {
    let protocols = ["none", "icp", "htcp", "digest", "carp"];
    let named = |name| Named { name, about: "", parameters: Vec::new() };
    Vocabulary { protocols: protocols.map(named).to_vec(), ..Vocabulary::EMPTY }
});

fn parse(text: &str, origin: &str) -> Result<Plan, PlanErrors> {
    parse_with(text, origin, &[])
}

fn parse_with(text: &str, origin: &str, settings: &[Setting]) -> Result<Plan, PlanErrors> {
    Plan::read(&Written::text(text, origin, settings), &VOCABULARY)
}

fn assemble(settings: &[Setting]) -> Result<Plan, PlanErrors> {
    Plan::read(&Written::flags(settings), &VOCABULARY)
}
