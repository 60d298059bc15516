//! How many objects move to another member when one joins or leaves: what a cluster loses by it.

use std::ops::Range;

use crate::protocol::carp::{Carp, CarpError, Variant};
use crate::trace::Trace;

use super::locate::write_url;

/// Shares of a trace's objects whose member changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moves {
    /// One joins at the end of the list.
    pub joins_last: f64,
    /// One joins at its beginning.
    pub joins_first: f64,
    /// The last leaves.
    pub last_leaves: f64,
    /// The first leaves.
    pub first_leaves: f64,
}

/// What moves among so many parents chosen by CARP, all of one weight.
///
/// *Errors*: fewer than two members.
pub fn moves(trace: &Trace, members: usize, variant: Variant) -> Result<Moves, CarpError> {
    let names: Vec<String> = (0..=members + 1).map(|n| format!("parent{n}")).collect();
    // An array of some of the names, and the number of the first.
    let array = |range: Range<usize>| {
        let first = range.start;
        let members: Vec<(&str, u32)> = names[range].iter().map(|n| (n.as_str(), 1)).collect();
        Carp::new(&members, variant).map(|carp| (carp, first))
    };
    let before = array(1..members + 1)?;
    let after = [
        array(1..members + 2)?,
        array(0..members + 1)?,
        array(1..members)?,
        array(2..members + 1)?,
    ];
    let mut moved = [0u64; 4];
    let mut url = Vec::new();
    for object in 0..trace.distinct() {
        write_url(trace.names(), object, &mut url);
        let member = |(carp, first): &(Carp, usize)| first + carp.choose(&url);
        let stays = member(&before);
        for (moved, after) in moved.iter_mut().zip(&after) {
            *moved += u64::from(member(after) != stays);
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "objects are below 2^32")]
    let share = |moved: u64| moved as f64 / f64::from(trace.distinct().max(1));
    let [joins_last, joins_first, last_leaves, first_leaves] = moved.map(share);
    Ok(Moves { joins_last, joins_first, last_leaves, first_leaves })
}
