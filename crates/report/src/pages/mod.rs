//! The pages: each a list of blocks, the answer first.

mod asked;
mod caches;
mod clusters;
mod content;
mod counting;
mod difference;
mod distribution;
mod headline;
mod load;
mod objectives;
mod over_time;
mod pools;
mod prediction;
mod search;
mod searches;
mod sides;
mod tables;
mod tiles;
mod tones;
mod verdict;

pub(crate) use caches::{curves_page, page as caches_page};
pub(crate) use clusters::page as clusters_page;
pub(crate) use content::Content;
pub(crate) use load::page as load_page;
pub(crate) use pools::{Pools, page as pools_page};
pub(crate) use searches::page as searches_page;
