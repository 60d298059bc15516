//! The bounds of what is believed.

use std::ops::RangeInclusive;

/// The longest heartbeat that is read, in bytes.
pub const MAX_BYTES: usize = 8 * 1024;
/// Objects and arrays in one another, the heartbeat itself included.
pub(super) const MAX_LEVELS: usize = 4;
/// Bytes of a uuid, `[A-Za-z0-9-]`.
pub(super) const UUID_BYTES: RangeInclusive<usize> = 1..=64;
/// Bytes of a host's name, `[A-Za-z0-9.-]`: RFC 1035, section 2.3.4, without the final dot.
pub(super) const HOSTNAME_BYTES: RangeInclusive<usize> = 1..=253;
/// Bytes of a cloud's name, `[A-Za-z0-9._-]`.
pub(super) const CLOUD_BYTES: RangeInclusive<usize> = 1..=64;
/// Bytes of a version, printable ASCII.
pub(super) const VERSION_BYTES: RangeInclusive<usize> = 1..=64;
/// Bytes of a `max_load` that is a string.
pub(super) const MAX_LOAD_BYTES: RangeInclusive<usize> = 1..=32;
/// KiB/s: 10⁹ is beyond any network interface.
pub(super) const LOAD: RangeInclusive<f64> = 0.0..=1e9;
/// KiB/s: agents write what an operator set, in whatever unit.
pub(super) const MAX_LOAD: RangeInclusive<f64> = 0.0..=1e12;
/// Seconds since 1970, up to the year 10000: a time in milliseconds is beyond it.
pub(super) const TIMESTAMP: RangeInclusive<f64> = 0.0..=253_402_300_800.0;
/// Seconds between two heartbeats.
pub(super) const INTERVAL: RangeInclusive<f64> = 1.0..=3600.0;
/// Degrees.
pub(super) const LATITUDE: RangeInclusive<f64> = -90.0..=90.0;
/// Degrees.
pub(super) const LONGITUDE: RangeInclusive<f64> = -180.0..=180.0;
