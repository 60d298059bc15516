//! Simulates a plan of clusters of caches: every combination of the levels of its clusters, on the
//! same requests.
//!
//! [`cells`] makes of a plan what is simulated, [`made`] the requests of a synthetic workload;
//! [`Clusters`] and [`Policies`] are the worlds that execute them.

mod cells;
mod conduct;
mod contents;
mod figures;
mod levels;
mod requests;

pub use cells::{Cell, cells};
pub use conduct::{
    Clusters, Policies, Simulated, about, bounds, cluster_cells, comparison, policy_cells, subject,
    subject_of_comparison,
};
pub(crate) use conduct::{hand_over, simulate, told_from_anywhere};
pub use contents::{write_cluster, write_replay};
pub use figures::{Estimated, Figures, of_capacity, of_replay};
pub(crate) use levels::check;
pub use requests::{Requests, life, made, recorded, requests};
