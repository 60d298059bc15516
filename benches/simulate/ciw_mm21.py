"""M/M/21 at a load of 0.9 in Ciw.

Prints requests, processor seconds, and the mean response in mean service times.
"""

import sys
import time

import ciw

SERVERS = 21
SERVICE_S = 0.01
RATE = 0.9 * SERVERS / SERVICE_S


def main():
    count = int(sys.argv[1])
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(rate=RATE)],
        service_distributions=[ciw.dists.Exponential(rate=1.0 / SERVICE_S)],
        number_of_servers=[SERVERS],
    )
    ciw.seed(1)
    simulation = ciw.Simulation(network)
    start = time.process_time()
    simulation.simulate_until_max_customers(count)
    seconds = time.process_time() - start
    records = simulation.get_all_records()
    total_s = sum(record.waiting_time + record.service_time for record in records)
    print(len(records), seconds, total_s / len(records) / SERVICE_S)


main()
