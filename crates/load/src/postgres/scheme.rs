//! The scheme `postgres://`, which a program without the driver knows too.

use plimsoll_workload::request::{Databases, Scheme, StoreScheme};

/// What there is to `postgres://`.
const STORE: StoreScheme = StoreScheme {
    databases: Databases::Names,
    needs_user: true,
    has_disk: true,
    tls_keys: &["sslmode"],
    ..StoreScheme::PLAIN
};
/// `postgres://`.
pub static SCHEME: Scheme = Scheme {
    also: &["postgresql"],
    over_tls: Some(&SECURE),
    ..Scheme::plain("postgres", 5432, Some(STORE))
};
/// `postgresqls://`, the same over TLS.
static SECURE: Scheme =
    Scheme { also: &["postgress"], ..Scheme::secure("postgresqls", 5432, Some(STORE)) };
