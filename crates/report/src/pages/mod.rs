//! The pages: each a list of blocks, the answer first.

mod caches;
mod clusters;
mod content;
mod counting;
mod designed;
mod difference;
mod distribution;
mod effects;
mod experiment;
mod headline;
mod levels;
mod lines;
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
mod watched;
mod worlds;

pub(crate) use caches::page as caches_page;
pub(crate) use clusters::page as clusters_page;
pub(crate) use content::Content;
pub(crate) use designed::page as designed_page;
pub(crate) use effects::section as of_effects;
pub(crate) use experiment::{answer, page as experiment_page};
pub(crate) use load::{of_cells as of_runs, page as load_page};
pub(crate) use pools::{page as pools_page, predicted as of_predictions};
pub(crate) use searches::{page as searches_page, sections as of_searches};
pub(crate) use worlds::page as worlds_page;
