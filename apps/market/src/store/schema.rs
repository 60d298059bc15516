//! The tables. Whatever must never be true is refused by the database itself.

/// What makes the tables, where they are not there yet.
pub(super) const TABLES: [&str; 5] = [
    "CREATE TABLE IF NOT EXISTS users (
        id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
        name VARCHAR(100) CHARACTER SET utf8mb4 NOT NULL,
        token BINARY(32) NOT NULL UNIQUE COMMENT 'SHA-256 of what the user has',
        balance BIGINT NOT NULL CHECK (balance >= 0)
    ) ENGINE = InnoDB",
    "CREATE TABLE IF NOT EXISTS games (
        id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
        name VARCHAR(100) CHARACTER SET utf8mb4 NOT NULL,
        state ENUM('open', 'ended') NOT NULL DEFAULT 'open',
        feed BIGINT UNSIGNED COMMENT 'the seed of the feed that plays it',
        KEY by_state (state, id)
    ) ENGINE = InnoDB",
    "CREATE TABLE IF NOT EXISTS pools (
        id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
        game BIGINT UNSIGNED NOT NULL,
        question VARCHAR(100) CHARACTER SET utf8mb4 NOT NULL,
        outcomes TEXT CHARACTER SET utf8mb4 NOT NULL COMMENT 'a list in JSON',
        rake SMALLINT UNSIGNED NOT NULL,
        state ENUM('open', 'closed', 'resolved', 'void') NOT NULL DEFAULT 'open',
        closes_at DATETIME(6) NOT NULL,
        outcome INT UNSIGNED,
        kept BIGINT NOT NULL DEFAULT 0 CHECK (kept >= 0),
        KEY by_game (game, id),
        FOREIGN KEY (game) REFERENCES games (id)
    ) ENGINE = InnoDB",
    "CREATE TABLE IF NOT EXISTS predictions (
        id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
        user BIGINT UNSIGNED NOT NULL,
        n BIGINT UNSIGNED NOT NULL,
        pool BIGINT UNSIGNED COMMENT 'none where it was refused',
        outcome INT UNSIGNED NOT NULL,
        stake BIGINT NOT NULL CHECK (pool IS NULL OR stake > 0),
        refused ENUM('closed', 'funds', 'stake', 'unknown'),
        balance BIGINT NOT NULL COMMENT 'what the user was told',
        placed_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
        UNIQUE KEY once (user, n),
        KEY of_pool (pool, user, outcome, stake),
        CHECK ((pool IS NULL) = (refused IS NOT NULL))
    ) ENGINE = InnoDB",
    "CREATE TABLE IF NOT EXISTS payouts (
        prediction BIGINT UNSIGNED NOT NULL PRIMARY KEY,
        pool BIGINT UNSIGNED NOT NULL,
        user BIGINT UNSIGNED NOT NULL,
        amount BIGINT NOT NULL CHECK (amount > 0),
        KEY of_pool (pool, user, amount)
    ) ENGINE = InnoDB",
];

/// What every connection says first: clocks in UTC, and no locks on what lies between rows.
pub(super) const SESSION: [&str; 2] =
    ["SET time_zone = '+00:00'", "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"];
