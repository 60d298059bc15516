//! The scheme `cassandra://`, which a program without the driver knows too.

use plimsoll_workload::request::{Databases, Scheme, StoreScheme};

/// What there is to `cassandra://`.
const STORE: StoreScheme = StoreScheme {
    databases: Databases::Words,
    has_disk: true,
    has_replicas: true,
    ..StoreScheme::PLAIN
};
/// `cassandra://`.
pub static SCHEME: Scheme =
    Scheme { over_tls: Some(&SECURE), ..Scheme::plain("cassandra", 9042, Some(STORE)) };
/// `cassandras://`, the same over TLS.
static SECURE: Scheme = Scheme::secure("cassandras", 9042, Some(STORE));
