//! Tests of the elastic pool as a whole.

mod documented;
mod paths;
mod queues;
mod waiting;
