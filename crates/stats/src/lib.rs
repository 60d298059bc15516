//! Statistics without I/O: histograms and the percentile object, the registry of figures, SLOs,
//! availability, intervals, and what is said of series and groups of estimates.
//!
//! # Experiments
//!
//! [`design`] says which combinations of factors' levels run, [`effects`] what each factor does;
//! [`stopping`] replicates until a figure is known well enough, and [`screening`] finds the best of
//! many combinations without replicating all of them.
//!
//! One idea a module; every formula's source stands in its module's header.

pub mod availability;
pub mod box_plot;
pub mod change_points;
pub mod chi_square;
pub mod design;
pub mod dips;
pub mod effects;
pub mod elasticity;
pub mod f_distribution;
pub mod figure;
pub mod heterogeneity;
pub mod histogram;
pub mod holm;
mod incomplete_beta;
pub mod interval;
mod lentz;
mod normal;
pub mod outliers;
pub mod percentiles;
pub mod queueing;
pub mod relative;
pub mod sample;
pub mod screening;
pub mod shapiro_wilk;
pub mod slo;
pub mod steady;
pub mod stopping;
pub mod subject;

pub use availability::Availability;
pub use box_plot::BoxPlot;
pub use figure::Figure;
pub use histogram::Histogram;
pub use percentiles::Percentiles;
pub use sample::Described;
pub use slo::Slo;
