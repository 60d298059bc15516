//! The URLs of stores, as the registry of protocols has their schemes.

use plimsoll_units::ParseError;
use plimsoll_workload::request::{Scheme, Url};

fn read(text: &str) -> Result<Url, ParseError> {
    let schemes: Vec<&'static Scheme> = plimsoll_load::schemes().collect();
    Url::parse_among(text, &schemes)
}

fn url(text: &str) -> Url {
    read(text).unwrap()
}

#[test]
fn stores_have_databases_each_in_its_way() {
    for (text, scheme, port, database) in [
        ("redis://h", "redis", 6379, ""),
        ("redis://h/03", "redis", 6379, "3"),
        ("memcached://h:1/", "memcached", 1, ""),
        ("mysql://ann@h/shop", "mysql", 3306, "shop"),
        ("MariaDB://h:1/a%2Fb", "mysql", 1, "a/b"),
        ("postgres://h/shop", "postgres", 5432, "shop"),
        ("postgresql://h/%C3%A9", "postgres", 5432, "é"),
        ("cassandra://h/Shop_2", "cassandra", 9042, "Shop_2"),
        ("mysql+unix://%2Frun%2Fs/shop", "mysql", 3306, "shop"),
        ("postgresql+unix://%2Frun%2Fs/shop", "postgres", 5432, "shop"),
        ("rediss://h/3", "rediss", 6379, "3"),
        ("memcacheds://h", "memcacheds", 11211, ""),
        ("mysqls://ann@h/shop", "mysqls", 3306, "shop"),
        ("MariaDBs://h:1/shop", "mysqls", 1, "shop"),
        ("postgresqls://h/shop", "postgresqls", 5432, "shop"),
        ("postgress://h/shop", "postgresqls", 5432, "shop"),
        ("cassandras://h/Shop_2", "cassandras", 9042, "Shop_2"),
    ] {
        let found = url(text);
        assert_eq!((found.scheme.name, found.port), (scheme, port), "{text}");
        assert_eq!(found.database().as_deref(), Ok(database), "{text}");
        let of_sql = scheme.starts_with("mysql") || scheme.starts_with("postgres");
        let of_tls = scheme.ends_with('s') && !["redis", "postgres"].contains(&scheme);
        assert_eq!(found.scheme.is_secure, of_tls, "{text}");
        assert_eq!(found.scheme.store.as_ref().unwrap().needs_user, of_sql, "{text}");
        let again = Url { credentials: found.credentials.clone(), ..url(&found.to_string()) };
        assert_eq!(again, found, "{text}");
    }
    for wrong in [
        "redis://h/shop",
        "redis://h/1000000",
        "redis://h/+1",
        "memcached://h/0",
        "mysql://h",
        "mysql://h/",
        "mysql://h/a/b",
        "postgres://h/shop?sslrootcert=ca.pem",
        "postgres://h/shop?sslmode=require&connect_timeout=10",
        "redis://h/3?sslmode=require",
        "postgres://h/a%00b",
        "postgres://h/%FF",
        "cassandra://h",
        "cassandra://h/a-b",
        "cassandra://h/%61",
        "cassandra://h/a?b",
        "cassandra://h/seven7777777777777777777777777777777777777777777777",
    ] {
        assert!(url(wrong).database().is_err(), "{wrong}");
    }
    for wrong in ["redisss://h", "https+unix://%2Fs/", "rediss+unix://%2Fs", "sqlite://h/d"] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_query_says_whether_tls_is_spoken() {
    for (text, means) in [
        ("postgres://h/shop?sslmode=require", "postgresqls://h/shop"),
        ("postgresql://h:1/shop?sslmode=verify-full", "postgresqls://h:1/shop"),
        ("postgresqls://h/shop?sslmode=verify-ca", "postgresqls://h/shop"),
        ("postgres://h/shop?sslmode=disable", "postgres://h/shop"),
        ("postgres+unix://%2Fs/shop?sslmode=disable", "postgres+unix://%2Fs/shop"),
        ("mysql://h/shop?ssl-mode=REQUIRED", "mysqls://h/shop"),
        ("mysql://h/shop?sslMode=VERIFY_IDENTITY", "mysqls://h/shop"),
        ("mariadb://h/shop?ssl-mode=DISABLED", "mysql://h/shop"),
        ("postgres://h/shop?a=b&sslmode=require&c", "postgresqls://h/shop?a=b&c"),
    ] {
        assert_eq!(url(text).to_string(), means, "{text}");
    }
    for (text, at, says) in [
        ("postgres://h/shop?sslmode=prefer", 18, "sslmode=verify-full"),
        ("postgres://h/shop?x&sslmode=", 20, "sslmode=verify-full"),
        ("mysql://ann:pw@h/shop?ssl-mode=PREFERRED", 22, "ssl-mode=require"),
        ("mysqls://h/shop?ssl-mode=DISABLED", 16, "a URL with TLS"),
        ("postgres+unix://%2Fs/shop?sslmode=require", 26, "a URL without TLS"),
    ] {
        let error = read(text).unwrap_err();
        assert_eq!(error.at, at, "{text}: {error}");
        assert!(error.to_string().contains(says), "{text}: {error}");
        assert!(!error.to_string().contains("pw"), "{error}");
    }
}
