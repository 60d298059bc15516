//! Tests of the elastic pool as a whole.

mod paths;
mod queues;
mod waiting;
