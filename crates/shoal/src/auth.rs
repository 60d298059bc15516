//! Signed announcements.
