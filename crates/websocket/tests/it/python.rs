//! The same messages through Python's `websockets`, an implementation that shares nothing with ours.
