//! Services, asked for their own figures: one file each.

pub(crate) mod agent;
mod ask;
pub(crate) mod mariadb;
pub(crate) mod memcached;
pub(crate) mod nginx;
pub(crate) mod phpfpm;
pub(crate) mod prometheus;
pub(crate) mod rabbitmq;
pub(crate) mod redis;
pub(crate) mod statsd;
pub(crate) mod target;
