//! Bodies of answers: to the letter for Shoal's own paths, ours under `/v1`.
