//! HTTP/1.1, as far as our own programs speak it to one another and to caches.

#[cfg(feature = "respond")]
pub mod access;
pub mod client;
#[cfg(feature = "respond")]
pub mod respond;
