//! Traces as files: the real ones, the reference, and what chance makes of valid ones.

mod mutation;
mod packed;
mod real_data;
mod reference;
mod tables;
