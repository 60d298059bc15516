#!/usr/bin/env bash
# Starts a Cassandra of one node in the foreground: `start.sh JARS FOLDER PORT [OPTION: VALUE]...`.
# It keeps everything in FOLDER, listens for clients at 127.0.0.1:PORT and for other nodes at
# the port after it, and takes options of cassandra.yaml, such as
# 'authenticator: PasswordAuthenticator'. It says "Startup complete" when it may be asked.
#
# On a JDK 17: what it may open of that is the list of its own conf/jvm17-server.options.
set -euo pipefail

[ "$#" -ge 3 ] || { printf 'usage: %s JARS FOLDER PORT [OPTION: VALUE]...\n' "$0" >&2; exit 2; }
jars=$1 folder=$2 port=$3
shift 3
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
{
    cat <<YAML
cluster_name: plimsoll
num_tokens: 1
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: SimpleSnitch
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters:
      - seeds: "127.0.0.1:$((port + 1))"
listen_address: 127.0.0.1
storage_port: $((port + 1))
rpc_address: 127.0.0.1
native_transport_port: $port
commitlog_sync: periodic
commitlog_sync_period: 10000ms
data_file_directories: [ "$folder/data" ]
commitlog_directory: "$folder/commitlog"
saved_caches_directory: "$folder/saved_caches"
hints_directory: "$folder/hints"
cdc_raw_directory: "$folder/cdc"
YAML
    printf '%s\n' "$@"
} > "$folder/cassandra.yaml"
cat > "$folder/logback.xml" <<'XML'
<configuration>
  <appender name="out" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%-5level %date{ISO8601} %msg%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="out"/></root>
</configuration>
XML

opened=()
for package in java.lang.module jdk.internal.loader jdk.internal.ref jdk.internal.reflect \
    jdk.internal.math jdk.internal.module jdk.internal.util.jar sun.nio.ch java.io \
    java.lang.reflect java.lang java.util java.nio; do
    opened+=(--add-opens "java.base/$package=ALL-UNNAMED")
done
opened+=(--add-opens jdk.management/com.sun.management.internal=ALL-UNNAMED)
for package in java.base/jdk.internal.misc java.base/java.lang.ref java.sql/java.sql \
    java.management.rmi/com.sun.jmx.remote.internal.rmi java.rmi/sun.rmi.registry \
    java.rmi/sun.rmi.server jdk.unsupported/sun.misc jdk.attach/sun.tools.attach; do
    opened+=(--add-exports "$package=ALL-UNNAMED")
done
cd "$folder"
exec java -Xms512m -Xmx512m -XX:+UseSerialGC \
    -Djava.security.manager=allow -Djdk.attach.allowAttachSelf=true \
    -Dio.netty.tryReflectionSetAccessible=true "${opened[@]}" \
    -Dcassandra.config="file://$folder/cassandra.yaml" -Dcassandra.storagedir="$folder" \
    -Dcassandra-foreground=yes -Dcassandra.skip_wait_for_gossip_to_settle=0 \
    -Dcassandra.ring_delay_ms=1 -Dcassandra.superuser_setup_delay_ms=0 \
    -Dlogback.configurationFile="$folder/logback.xml" \
    -cp "$jars/*" org.apache.cassandra.service.CassandraDaemon
