"""M/M/21 at a load of 0.9 in SimPy, as its manual shows a queue: a process a customer.

Prints requests, processor seconds, and the mean response in mean service times.
"""

import random
import sys
import time

import simpy

SERVERS = 21
SERVICE_S = 0.01
RATE = 0.9 * SERVERS / SERVICE_S


class Clinic:
    """Servers, and what their customers took in all."""

    def __init__(self, env, count):
        self.env = env
        self.count = count
        self.servers = simpy.Resource(env, capacity=SERVERS)
        self.total_s = 0.0

    def customer(self):
        due = self.env.now
        with self.servers.request() as server:
            yield server
            yield self.env.timeout(random.expovariate(1.0 / SERVICE_S))
        self.total_s += self.env.now - due

    def arrivals(self):
        for _ in range(self.count):
            yield self.env.timeout(random.expovariate(RATE))
            self.env.process(self.customer())


def main():
    count = int(sys.argv[1])
    random.seed(1)
    env = simpy.Environment()
    clinic = Clinic(env, count)
    env.process(clinic.arrivals())
    start = time.process_time()
    env.run()
    seconds = time.process_time() - start
    print(count, seconds, clinic.total_s / count / SERVICE_S)


main()
