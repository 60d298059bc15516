"""A receiver of OTLP over HTTP: receiver.py FOLDER STATUS [CERTIFICATE KEY]

It prints its port, judges each body of /v1/metrics by the published schema, and appends a line of JSON
to FOLDER/got: the path, the headers, what is wrong, and the sum of each counter. What it answers is
STATUS; a redirect leads to /elsewhere, whose visits it notes too.
"""

import http.server
import json
import os
import ssl
import sys

from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest as Request,
)

folder, status, *pair = sys.argv[1:]
CUMULATIVE = 2


def points(metric):
    """The points of a metric, and what is wrong with how it is put."""
    kind = metric.WhichOneof("data")
    data = getattr(metric, kind)
    if kind != "gauge" and data.aggregation_temporality != CUMULATIVE:
        yield None, f"{metric.name}: temporality {data.aggregation_temporality}"
    if kind == "sum" and not data.is_monotonic:
        yield None, f"{metric.name}: not monotonic"
    for point in data.data_points:
        wrong = None
        if point.time_unix_nano == 0 or not metric.unit or not metric.description:
            wrong = "no time, unit or description"
        if kind != "gauge" and not 0 < point.start_time_unix_nano < point.time_unix_nano:
            wrong = "does not begin before it ends"
        if kind == "histogram":
            bounds = list(point.explicit_bounds)
            if len(point.bucket_counts) != len(bounds) + 1 or bounds != sorted(set(bounds)):
                wrong = "buckets do not fit their bounds"
            if sum(point.bucket_counts) != point.count:
                wrong = "buckets do not add up"
        elif point.WhichOneof("value") is None:
            wrong = "no value"
        yield point, wrong and f"{metric.name}: {wrong}"


def judge(body):
    """What is wrong with a body, and what its counters come to."""
    request = json_format.Parse(body, Request())
    wrong, sums, resource = [], {}, {}
    for of in request.resource_metrics:
        for attribute in of.resource.attributes:
            resource[attribute.key] = attribute.value.string_value
        for metric in (metric for scope in of.scope_metrics for metric in scope.metrics):
            for point, fault in points(metric):
                wrong += [fault] if fault else []
                if point is not None and metric.WhichOneof("data") == "sum":
                    sums[metric.name] = sums.get(metric.name, 0) + point.as_int
    return {"wrong": wrong, "sums": sums, "resource": resource}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        got = {"path": self.path, "headers": {k.lower(): v for k, v in self.headers.items()}}
        try:
            got |= judge(body)
        except Exception as error:  # a body may be anything
            got["wrong"] = [repr(error)]
        with open(os.path.join(folder, "got"), "a", encoding="utf-8") as file:
            file.write(json.dumps(got) + "\n")
        self.send_response(int(status))
        if status.startswith("3"):
            self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
if pair:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*pair)
    server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1], flush=True)
server.serve_forever()
