//! The scheme `mysql://`, which a program without the driver knows too.

use plimsoll_workload::request::{Databases, Scheme, StoreScheme};

/// What there is to `mysql://`.
const STORE: StoreScheme = StoreScheme {
    databases: Databases::Names,
    needs_user: true,
    has_disk: true,
    tls_keys: &["ssl-mode", "sslmode"],
    ..StoreScheme::PLAIN
};
/// `mysql://`.
pub static SCHEME: Scheme = Scheme {
    also: &["mariadb"],
    over_tls: Some(&SECURE),
    ..Scheme::plain("mysql", 3306, Some(STORE))
};
/// `mysqls://`, the same over TLS.
static SECURE: Scheme =
    Scheme { also: &["mariadbs"], ..Scheme::secure("mysqls", 3306, Some(STORE)) };
