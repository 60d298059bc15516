<?php
// The arithmetic of model.sh: the service model of a web server from samples of requests.
//
//     php model.php bed BED.json                 its id, and where its web server is
//     php model.php write ONE.csv EIGHT.csv OUT  the model: the form of one user's, the level of eight

const SHARES = [0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975, 0.99, 1];

// What the published day asks for, of a server and of what it costs: its quarter hours go from 129 to
// 420, which is 1.05 times what eight servers can do here, and an instance that works all of an hour
// earns ten times its price.
const SERVERS = 8;
const PEAK = 1.05;
const TROUGH_TO_PEAK = 1.7 / 29;
const PRICE = 0.17;
const EARNS = 10.08;

if (($argv[1] ?? '') === 'bed') {
    tell_bed($argv[2]);
} elseif (($argv[1] ?? '') === 'write') {
    write($argv[2], $argv[3], $argv[4]);
} else {
    exit("usage: php model.php bed BED.json | write ONE.csv EIGHT.csv OUT\n");
}

function tell_bed(string $file): void {
    $bed = json_decode(file_get_contents($file), true);
    foreach ($bed['instances'] as $of) {
        if ($of['role'] === 'web') {
            echo "{$bed['id']} http://{$of['address']}:{$of['port']}/\n";
        }
    }
}

// The requests of the measured phase that succeeded: when they were sent and done, in seconds.
function answered(string $file): array {
    $lines = fopen($file, 'r');
    $names = fgetcsv($lines);
    $all = [];
    while (($line = fgetcsv($lines)) !== false) {
        $of = array_combine($names, $line);
        if ($of['phase'] === 'measured' && $of['kind'] === '') {
            $all[] = [$of['sent_ns'] / 1e9, $of['done_ns'] / 1e9];
        }
    }
    if (count($all) < 50) {
        exit("$file: only " . count($all) . " pages were answered, too few for a model\n");
    }
    return $all;
}

// Values at SHARES of sorted ones.
function quantiles(array $sorted): array {
    $last = count($sorted) - 1;
    return array_map(fn($share) => $sorted[(int) round($share * $last)], SHARES);
}

// The mean of the distribution that is linear between its quantiles.
function mean(array $quantiles): float {
    $sum = 0.0;
    for ($at = 1; $at < count(SHARES); $at++) {
        $sum += (SHARES[$at] - SHARES[$at - 1]) * ($quantiles[$at] + $quantiles[$at - 1]) / 2;
    }
    return $sum;
}

function write(string $one, string $eight, string $out): void {
    $times = array_map(fn($of) => $of[1] - $of[0], answered($one));
    sort($times);
    $busy = answered($eight);
    $seconds = max(array_column($busy, 1)) - min(array_column($busy, 0));
    $rate = count($busy) / $seconds;
    $form = quantiles($times);
    $level = 1 / $rate / mean($form);
    $pairs = array_map(
        fn($share, $time) => sprintf('[%s, "%.0fms"]', $share, 1e3 * $level * $time), SHARES, $form);
    $lines = implode(",\n", array_map(
        fn($some) => '      ' . implode(', ', $some), array_chunk($pairs, 5)));
    file_put_contents($out, "{\n  \"schema\": 1,\n  \"service_time\": {\n    \"quantiles\": [\n$lines\n"
        . "    ]\n  },\n  \"cores\": 1,\n  \"concurrency\": 10\n}\n");
    $at = fn($share) => 1e3 * $times[(int) round($share * (count($times) - 1))];
    printf("one user:    %d pages, mean %.0f ms, p50 %.0f ms, p90 %.0f ms\n", count($times),
        1e3 * array_sum($times) / count($times), $at(0.5), $at(0.9));
    printf("eight users: %d pages, %.2f a second, %.0f ms each\n", count($busy), $rate, 1e3 / $rate);
    echo "the model:   $out\n";
    $peak = PEAK * SERVERS * $rate;
    printf("policies.toml for such servers:\n  --set instance.model=%s --set "
        . "load.profile.scale=%.2f/s..%.1f/s --set billing.income=%.6f\n", $out,
        TROUGH_TO_PEAK * $peak, $peak, EARNS * PRICE / 3600 / $rate);
}
