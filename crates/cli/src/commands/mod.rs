//! The commands, one file each.

pub(crate) mod agent;
pub(crate) mod analyse;
pub(crate) mod balance;
pub(crate) mod cache;
pub(crate) mod capacity;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod group;
pub(crate) mod infer;
pub(crate) mod load;
pub(crate) mod plan;
pub(crate) mod prepare;
pub(crate) mod prometheus;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod shoal;
pub(crate) mod simulate;
pub(crate) mod status;
pub(crate) mod target;
pub(crate) mod testbed;
pub(crate) mod trace;
pub(crate) mod tune;
