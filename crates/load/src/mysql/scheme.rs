//! The scheme `mysql://`, which a program without the driver knows too.

use plimsoll_workload::request::{Databases, Scheme, StoreScheme};

/// What there is to `mysql://`.
const STORE: StoreScheme = StoreScheme {
    databases: Databases::Names,
    needs_user: true,
    has_disk: true,
    ..StoreScheme::PLAIN
};
/// `mysql://`.
pub static SCHEME: Scheme =
    Scheme { also: &["mariadb"], ..Scheme::plain("mysql", 3306, Some(STORE)) };
