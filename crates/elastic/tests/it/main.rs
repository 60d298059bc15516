//! Tests of the elastic pool as a whole.

mod alike;
mod paths;
mod queues;
mod waiting;
