//! Markup and charts.
