//! The plan language from outside: what it says of wrong plans, what it reads back of its own
//! text, what it survives, and that the manual knows every key.

#![expect(clippy::unwrap_used, reason = "what the tests share is test code too")]

mod caches;
mod campaigns;
mod documented;
mod flags;
mod golden;
mod mutation;
mod round_trip;
mod scenario;
mod scenario_messages;
mod scenario_recorded;
mod scenario_returns;
mod secrets;
mod types;
mod users;

use std::sync::LazyLock;

use plimsoll_plan::{Named, Plan, PlanErrors, Setting, Vocabulary, Written};
use plimsoll_workload::request::{Databases, OF_HTTP, Scheme, StoreScheme};

const fn store(name: &'static str, port: u16, databases: Databases) -> Scheme {
    let store = StoreScheme {
        databases,
        needs_user: matches!(databases, Databases::Names),
        takes_bare_password: false,
        refuses_login: match databases {
            Databases::None => Some("its text protocol has none"),
            _ => None,
        },
        has_disk: !matches!(databases, Databases::None | Databases::Numbers),
        has_replicas: matches!(databases, Databases::Words),
        ..StoreScheme::PLAIN
    };
    Scheme::plain(name, port, Some(store))
}

static STORES: [Scheme; 5] = [
    store("redis", 6379, Databases::Numbers),
    store("memcached", 11211, Databases::None),
    store("mysql", 3306, Databases::Names),
    store("postgres", 5432, Databases::Names),
    store("cassandra", 9042, Databases::Words),
];

/// Schemes are known here, and protocols.
static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| {
    let protocols = ["none", "icp", "htcp", "digest", "carp"];
    let named = |name| Named { name, about: "", parameters: &[] };
    let schemes = OF_HTTP.into_iter().chain(&STORES).collect();
    Vocabulary { schemes, protocols: protocols.map(named).to_vec(), ..Vocabulary::EMPTY }
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
