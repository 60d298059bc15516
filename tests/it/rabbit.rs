//! Shoal's own server at a virtual host of RabbitMQ: what it declares, and what it hears.

use plimsoll_testing::servers::VirtualHost;
use serde_json::{Value, json};

/// Declares the exchange and a queue as Shoal's own server does, which hears everything.
pub(crate) fn as_shoals_server(host: &VirtualHost, queue: &str) {
    let exchange = json!({"type": "topic", "durable": false, "auto_delete": false,
        "internal": false, "arguments": {}});
    host.manage("PUT", "/api/exchanges/*/shoal", &exchange);
    let own = json!({"durable": false, "auto_delete": false, "arguments": {}});
    host.manage("PUT", &format!("/api/queues/*/{queue}"), &own);
    let bind = json!({"routing_key": "#", "arguments": {}});
    host.manage("POST", &format!("/api/bindings/*/e/shoal/q/{queue}"), &bind);
}

/// Takes what waits in a queue.
pub(crate) fn take(host: &VirtualHost, queue: &str) -> Vec<Value> {
    let ask = json!({"count": 100, "ackmode": "ack_requeue_false", "encoding": "auto"});
    let all = host.manage("POST", &format!("/api/queues/*/{queue}/get"), &ask);
    all.as_array().unwrap().clone()
}
