//! Finds how much load a server sustains under a latency SLO, from outside, as a black box.
//!
//! Methods are pure state machines ([`search::Search`]): they are shown windows and ask for the
//! next one. Two worlds offer those: [`simulated`], and live sessions of the load engine.

pub mod adaptive;
pub mod bracket;
pub mod calibrate;
pub mod compared;
pub mod conduct;
pub mod cost;
pub mod curve;
pub mod goal;
pub mod guard;
pub mod hold;
pub mod infer;
pub mod ladder;
mod lateness;
pub mod live;
mod pooled;
pub mod ranked;
pub mod restarts;
pub mod result;
pub mod search;
pub mod series;
pub mod several;
pub mod simulated;
pub mod sustain;
pub mod trips;
pub mod verdict;
pub mod window;
