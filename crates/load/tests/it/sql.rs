//! Databases: exchanges that were recorded with real servers, servers with a script, and bytes that
//! no server sends.

#[cfg(feature = "cassandra")]
mod cassandra;
#[cfg(all(feature = "mysql", feature = "postgres"))]
mod encrypted;
mod exchange;
mod mutate;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
mod wire;
