<?php
// Run by the tests of this client: `driver.php SCENARIO`, with settings in JSON on the standard input.
require __DIR__ . "/../Tidings.php";

$settings = json_decode(stream_get_contents(STDIN), true);
$dropped = [];
$scenario = $argv[1];
$onError = function (array $events, string $reason) use (&$dropped): void {
    foreach ($events as $event) {
        $dropped[] = [$event["name"], $reason];
    }
};
$tidings = new Tidings(
    $settings["url"],
    $settings["key"],
    timeout: 1.0,
    flushSeconds: $settings["close"] ?? 10.0,
    queueMax: $settings["queueMax"] ?? 200_000,
    onError: $onError,
);

for ($number = 0; $number < $settings["count"]; $number++) {
    $tidings->track($settings["channel"], "n $number", ["tags" => ["number" => $number]]);
    if (isset($settings["flushEvery"]) && $number % $settings["flushEvery"] === 0) {
        $tidings->flush();
    }
    if ($number % 100 === 99) {
        usleep(($settings["pauseMs"] ?? 0) * 1000);
    }
}
if ($scenario === "hostile") {
    $tidings->track("", "no channel");
    $tidings->track("c", "no tag", ["tags" => ["nested" => []]]);
    while (!$tidings->flush());
    sort($dropped);
}
if ($scenario === "late") {
    register_shutdown_function(fn () => $tidings->track($settings["channel"], "n {$settings["count"]}"));
}
// Runs after the library's own, which was registered earlier.
register_shutdown_function(function () use (&$dropped, $settings, $scenario): void {
    if ($scenario !== "ending" || isset($settings["report"])) {
        echo json_encode($dropped);
    }
});
