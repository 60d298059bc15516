//! What to do about a store that answers by an error before a load, by what it says.

use crate::protocol::StoreProtocol;
use crate::store::Before;

const CLUSTER: &str = "it is one node of a cluster, which keeps a part of the records only: give \
                       a store without a cluster, or a proxy that stands before it";
const REPLICA: &str = "it takes no writes: give the URL of the server that does";
const PRIVILEGES: &str = "give the user the privileges to read and to write these records";
const PASSWORD: &str = "check the password, and the user, in the URL";
pub(crate) const DATABASE: &str = "check the database in the URL";
const NO_DATA: &str = "load the data set by `plimsoll prepare`, and check the database in the URL";
const FULL: &str = "it has as many connections as it may have: ask for fewer by --connections, end \
                    other clients, or raise its limit";
const MEMORY: &str = "it has no room left: give it more memory or disk, or load fewer records";
const LATER: &str = "see what keeps it from answering, and how many of its nodes are up";
const POOLER: &str = "a pooler stands before it that does not keep a session's statements: have it \
                      pool by session, or go past it";
const TLS: &str = "it lets us in by TLS only, with this user and database: write \
                   postgresqls://";
const LOG: &str = "see what the store writes into its own log";

/// What to do, in one clause.
pub(crate) fn hint(of: &StoreProtocol, before: Before, code: u16, said: &str) -> &'static str {
    let words: [(&str, &str); 17] = [
        ("MOVED ", CLUSTER),
        ("ASK ", CLUSTER),
        ("CROSSSLOT", CLUSTER),
        ("max number of clients", FULL),
        ("oo many c", FULL),
        ("Too many open connections", FULL),
        ("DENIED", "have it listen to us: set a password there, or turn its protected mode off"),
        ("MISCONF", "it cannot save to its disk and takes no writes: see its log"),
        ("NOREPLICAS", "too few of its replicas are up for it to take writes"),
        ("without any password", "it has no password: leave the one in the URL out"),
        ("read-only", REPLICA),
        ("prepared statement", POOLER),
        ("READONLY", REPLICA),
        ("insecure transport", "it lets us in by TLS only: write mysqls://"),
        (", no encryption", TLS),
        (", SSL off", TLS),
        ("client certificate", "show it a certificate by --cert FILE and --key FILE"),
    ];
    if let Some((_, hint)) = words.into_iter().find(|(word, _)| said.contains(word)) {
        return hint;
    }
    if let Some(own) = (of.hint)(code, said) {
        return own;
    }
    match code {
        401 => PASSWORD,
        403 => PRIVILEGES,
        404 if before == Before::DataSet => DATABASE,
        404 => NO_DATA,
        503 | 504 => LATER,
        507 => MEMORY,
        _ => LOG,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_refused_password_is_told_to_be_checked() {
        let of = |name: &str| *crate::STORES.iter().find(|of| of.scheme.name == name).unwrap();
        let [redis, memcached, mysql, postgres] =
            ["redis", "memcached", "mysql", "postgres"].map(of);
        for (protocol, code, said, wanted) in [
            (redis, 401, "-WRONGPASS invalid username-password pair", PASSWORD),
            (redis, 401, "-NOAUTH Authentication required.", PASSWORD),
            (redis, 503, "-ERR max number of clients reached", FULL),
            (redis, 421, "-MOVED 6189 127.0.0.1:21406", CLUSTER),
            (redis, 403, "-READONLY You can't write against a read only replica.", REPLICA),
            (redis, 403, "-NOPERM this user has no permissions", PRIVILEGES),
            (redis, 500, "-ERR DB index is out of range", DATABASE),
            (
                mysql,
                500,
                "Connections using insecure transport are prohibited",
                "it lets us in by TLS only: write mysqls://",
            ),
            (
                postgres,
                401,
                "no pg_hba.conf entry for host \"::1\", user \"a\", no encryption",
                TLS,
            ),
            (mysql, 403, "CREATE command denied to user", PRIVILEGES),
            (mysql, 403, "The MariaDB server is running with the --read-only option", REPLICA),
            (mysql, 503, "Too many connections", FULL),
            (postgres, 401, "password authentication failed for user \"ann\"", PASSWORD),
            (postgres, 403, "permission denied for schema public", PRIVILEGES),
            (postgres, 403, "cannot execute INSERT in a read-only transaction", REPLICA),
            (postgres, 503, "sorry, too many clients already", FULL),
            (postgres, 503, "too many connections for role \"ann\"", FULL),
            (postgres, 500, "prepared statement \"read\" already exists", POOLER),
            (postgres, 404, "relation \"plimsoll\" does not exist", NO_DATA),
            (memcached, 503, "ERROR Too many open connections", FULL),
        ] {
            assert_eq!(hint(protocol, Before::Load, code, said), wanted, "{said}");
        }
        let denied = hint(mysql, Before::Load, 401, "Access denied for user 'ann'@'localhost'");
        assert!(denied.contains("check the password") && denied.contains("mysqls://"), "{denied}");
        let hint = |code, said| hint(memcached, Before::Load, code, said);
        assert!(hint(401, "CLIENT_ERROR unauthenticated").contains("-Y"));
        assert_eq!(hint(500, "SERVER_ERROR odd"), LOG);
    }
}
