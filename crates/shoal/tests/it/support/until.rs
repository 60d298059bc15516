//! Waiting for what happens in another thread or process.

pub(crate) use plimsoll_testing::wait_until as until;
