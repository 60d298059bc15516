//! The pages: each a list of blocks, the answer first.

mod asked;
mod cached;
mod capacity;
mod clusters;
mod compared;
mod content;
mod counting;
mod difference;
mod distribution;
mod headline;
mod load;
mod objectives;
mod over_time;
mod prediction;
mod sides;
mod simulated;
mod tables;
mod tiles;
mod tones;
mod verdict;

pub(crate) use cached::{curves_page, page as caches_page};
pub(crate) use clusters::page as clusters_page;
pub(crate) use compared::page as compared_page;
pub(crate) use content::Content;
pub(crate) use load::page as load_page;
pub(crate) use simulated::{Pools, page as simulated_page};
