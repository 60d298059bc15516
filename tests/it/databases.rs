//! Databases: Debian's MariaDB and PostgreSQL, and Cassandra where its jars are, and what they
//! count themselves.

mod cassandra;
mod encrypted;
mod mariadb;
mod postgres;

use crate::place::Place;
use crate::program::Done;
use crate::stores::{count, operations};
use plimsoll_workload::store::{Kind, Wanted};

const PASSWORD: &str = "pa55-Wm3XtZq8";

/// How often each kind of operation comes among the first 800 requests of a place's run.
fn counts(place: &Place) -> [u64; 3] {
    let operations = operations(place, Wanted::Mixed);
    Kind::ALL.map(|kind| count(&operations, 800, kind))
}

/// A short load, whose URL is expected to be wrong.
fn tries(place: &Place, url: &str) -> Done {
    let done = place.plimsoll(&["load", "--quiet", url, "--rate", "10/s", "--for", "1s"]);
    assert!(!done.err.contains(PASSWORD) && !done.err.contains("gu3ss"), "{}", done.err);
    done
}
