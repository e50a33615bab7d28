<?php

declare(strict_types=1);

/**
 * Sends events to Tidings, the self-hosted event tracker. Copy this file into your application. It needs PHP 8.1 and
 * the extension curl.
 *
 *     $tidings = new Tidings("https://tidings.example.com", "tdg_sk_…");
 *     $tidings->track("payments", "Payment received", ["userId" => "u1", "tags" => ["amount" => 42]]);
 *
 * Events are sent together after the response of the request, or at the end of a program, and before that when 500 are
 * waiting. Nothing here throws: events that will not be sent are passed to `onError`, or logged.
 */
final class Tidings
{
    private const VERSION = "0.1.0";
    private const BATCH_EVENTS = 500;
    private const BATCH_BYTES = 1_000_000;
    // More than the results of a whole batch.
    private const RESPONSE_BYTES = 4_000_000;
    // Seconds.
    private const BACKOFF_BASE = 0.2;
    private const BACKOFF_MAX = 10.0;
    private const RETRY_AFTER_MAX = 60.0;

    /** @var array<string, string> JSON by id, in order. The same bytes are sent each time. */
    private array $waiting = [];
    private int $batchBytes = self::BATCH_BYTES;
    private string $lastError = "";
    private bool $hasEnded = false;
    private static int $lastMs = 0;
    private static int $counter = 0;

    /**
     * @param string $baseUrl address of Tidings
     * @param string $apiKey the project's API key, `tdg_sk_…`
     * @param int $retries attempts after the first, of each request
     * @param float $timeout seconds for each attempt
     * @param float $flushSeconds seconds for all that is sent at the end
     * @param int $queueMax events that can wait, while the server is down; others are dropped
     * @param null|Closure(list<array<string, mixed>>, string, string): void $onError called with events that will not
     *     be sent, the reason (`invalid`, `queue-full`, `rejected` or `undeliverable`), and a sentence
     */
    public function __construct(
        private string $baseUrl,
        // Keeps the key out of stack traces, from PHP 8.2 on.
        #[SensitiveParameter] private string $apiKey,
        private int $retries = 4,
        private float $timeout = 5.0,
        private float $flushSeconds = 10.0,
        private int $queueMax = 10_000,
        private ?Closure $onError = null,
    ) {
        $this->baseUrl = rtrim($baseUrl, "/");
        register_shutdown_function($this->finish(...));
    }

    /**
     * Queues an event. Returns its id, or null if it was dropped.
     *
     * @param array<string, mixed> $fields `userId`, `icon`, `notify`, `tags`, `description`, `createdAt` (a
     *     DateTimeInterface, ISO 8601, or milliseconds since 1970), `event` and `id`. Numbers, booleans and dates in
     *     tags are sent as strings; null is omitted.
     */
    public function track(string $channel, string $name, array $fields = []): ?string
    {
        $event = ["channel" => $channel, "name" => $name] + $fields;
        try {
            $event["id"] ??= self::uuid7();
            $event["createdAt"] ??= (int) (microtime(true) * 1000);
            if ($event["createdAt"] instanceof DateTimeInterface) {
                $event["createdAt"] = self::isoString($event["createdAt"]);
            }
            if (isset($event["tags"])) {
                $event["tags"] = (object) self::tagStrings($event["tags"]);
            }
            $flags = JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES;
            $json = json_encode(array_filter($event, fn ($value) => $value !== null), $flags);
        } catch (Throwable $error) {
            $this->drop([$event], "invalid", $error->getMessage());
            return null;
        }
        if (count($this->waiting) >= $this->queueMax) {
            $this->drop([$event], "queue-full", $this->lastError);
            return null;
        }
        $this->waiting[(string) $event["id"]] = $json;
        // After a failure, the end of the program tries again, so that each event doesn't wait for the server.
        if (count($this->waiting) >= self::BATCH_EVENTS && $this->lastError === "") {
            $this->flush();
        }
        // Other shutdown functions, and destructors, run later than this library's.
        if ($this->hasEnded) {
            $this->finish();
        }
        return (string) $event["id"];
    }

    /** Sends what is waiting. Returns false if some of it is still waiting after all retries. */
    public function flush(): bool
    {
        try {
            $deadline = microtime(true) + $this->flushSeconds;
            do {
                $isSent = $this->waiting === [] || $this->sendBatch($deadline);
            } while ($isSent && $this->waiting !== []);
            return $isSent;
        } catch (Throwable $error) {
            $this->lastError = $error->getMessage();
        }
        return false;
    }

    private function finish(): void
    {
        // What `onError` tracks must not begin this again.
        $this->hasEnded = false;
        // With PHP-FPM, the user has the response before the events are sent.
        if ($this->waiting !== [] && function_exists("fastcgi_finish_request")) {
            fastcgi_finish_request();
        }
        if (!$this->flush()) {
            $events = array_map(fn ($json) => json_decode($json, true), array_values($this->waiting));
            $this->waiting = [];
            $this->drop($events, "undeliverable", $this->lastError);
        }
        $this->hasEnded = true;
    }

    /** Makes one request, and repeats it. Returns whether it got an answer for each event. */
    private function sendBatch(float $deadline): bool
    {
        for ($attempt = 0; ; $attempt++) {
            $batch = $this->nextBatch();
            [$status, $body, $wait] = $this->post("[" . implode(",", $batch) . "]", $deadline);
            $results = is_array($body["results"] ?? null) ? $body["results"] : [];
            if (count($results) === count($batch)) {
                $isDone = $this->settle(array_keys($batch), $results);
            } elseif ($status === 413 && count($batch) > 1) {
                // A proxy may accept less than the server does.
                $this->batchBytes = max(1, intdiv(array_sum(array_map("strlen", $batch)), 2));
                continue;
            } else {
                $this->lastError = is_string($body["detail"] ?? null) ? $body["detail"] : $this->reasonOf($status);
                $isDone = !self::isTemporary($status);
                if ($isDone) {
                    $this->reject(array_keys($batch), $this->lastError);
                }
            }
            if ($isDone) {
                $this->lastError = "";
                return true;
            }
            // Full jitter: clients that failed together don't retry together.
            $backoff = min(self::BACKOFF_MAX, self::BACKOFF_BASE * 2 ** $attempt) * mt_rand() / mt_getrandmax();
            $pause = $wait + $backoff;
            if ($attempt >= $this->retries || $wait > self::RETRY_AFTER_MAX || microtime(true) + $pause > $deadline) {
                return false;
            }
            usleep((int) ($pause * 1_000_000));
        }
    }

    /** @return array<string, string> */
    private function nextBatch(): array
    {
        $batch = [];
        $bytes = 0;
        foreach ($this->waiting as $id => $json) {
            $bytes += strlen($json) + 1;
            if ($batch !== [] && (count($batch) === self::BATCH_EVENTS || $bytes > $this->batchBytes)) {
                break;
            }
            $batch[$id] = $json;
        }
        return $batch;
    }

    /**
     * Removes events that are stored or rejected. Returns whether none failed temporarily.
     *
     * @param list<string|int> $ids
     * @param list<mixed> $results
     */
    private function settle(array $ids, array $results): bool
    {
        $isDone = true;
        foreach ($ids as $index => $id) {
            $result = $results[$index];
            if (($result["ok"] ?? false) === true) {
                unset($this->waiting[$id]);
            } elseif (self::isTemporary((int) ($result["status"] ?? 422))) {
                $this->lastError = (string) ($result["detail"] ?? "");
                $isDone = false;
            } else {
                $this->reject([$id], (string) ($result["detail"] ?? ""));
            }
        }
        return $isDone;
    }

    private function reject(array $ids, string $detail): void
    {
        $rejected = array_intersect_key($this->waiting, array_flip($ids));
        $this->waiting = array_diff_key($this->waiting, $rejected);
        $this->drop(array_map(fn ($json) => json_decode($json, true), array_values($rejected)), "rejected", $detail);
    }

    /** @return array{int, array<string, mixed>, float} the status (0: no response), the JSON, and `Retry-After` */
    private function post(string $body, float $deadline): array
    {
        $wait = 0.0;
        $response = "";
        $request = curl_init("$this->baseUrl/api/events");
        $timeoutMs = (int) (max(0.05, min($this->timeout, $deadline - microtime(true))) * 1000);
        curl_setopt_array($request, [
            CURLOPT_POSTFIELDS => $body,
            CURLOPT_HTTPHEADER => [
                "x-api-key: $this->apiKey",
                "content-type: application/json",
                "user-agent: tidings-php/" . self::VERSION,
                // Else curl asks first whether it may send a large body.
                "expect:",
            ],
            CURLOPT_HEADERFUNCTION => function ($_, string $line) use (&$wait): int {
                if (preg_match("/^retry-after: *(.+?)\s*$/i", $line, $found)) {
                    $wait = self::retryAfter($found[1]);
                }
                return strlen($line);
            },
            // Anything but the length of the part ends the request.
            CURLOPT_WRITEFUNCTION => function ($_, string $part) use (&$response): int {
                $response .= $part;
                return strlen($response) > self::RESPONSE_BYTES ? 0 : strlen($part);
            },
            CURLOPT_TIMEOUT_MS => $timeoutMs,
            CURLOPT_NOSIGNAL => true,
            // A redirected POST would become a GET, and the key would go to another address.
            CURLOPT_FOLLOWLOCATION => false,
            CURLOPT_PROTOCOLS => CURLPROTO_HTTP | CURLPROTO_HTTPS,
        ]);
        if (!curl_exec($request)) {
            $this->lastError = curl_error($request);
            return [0, [], 0.0];
        }
        $json = json_decode($response, true);
        return [curl_getinfo($request, CURLINFO_RESPONSE_CODE), is_array($json) ? $json : [], $wait];
    }

    /** @param list<array<string, mixed>> $events */
    private function drop(array $events, string $reason, string $detail): void
    {
        $log = fn () => error_log(sprintf("Tidings: %d events dropped (%s). %s", count($events), $reason, $detail));
        try {
            ($this->onError ?? $log)($events, $reason, $detail);
        } catch (Throwable $error) {
            error_log("Tidings: `onError` threw: {$error->getMessage()}");
        }
    }

    private function reasonOf(int $status): string
    {
        return match (true) {
            $status === 0 => $this->lastError,
            $status < 300 => "The response did not come from Tidings. Check the base URL.",
            $status < 400 => "The server redirects. Use its final address as base URL.",
            default => "The server responded with status $status, without a reason.",
        };
    }

    private static function isTemporary(int $status): bool
    {
        return $status === 0 || $status === 408 || $status === 429 || $status >= 500;
    }

    /** Seconds, or a date (RFC 9110, section 10.2.3), as seconds from now. */
    private static function retryAfter(string $header): float
    {
        return ctype_digit($header) ? (float) $header : max(0.0, strtotime($header) - microtime(true));
    }

    private static function tagStrings(array $tags): array
    {
        $texts = [];
        foreach ($tags as $key => $value) {
            $texts[$key] = match (true) {
                $value === null => null,
                is_bool($value) => $value ? "true" : "false",
                // Before Stringable: the texts of some classes for dates, such as Carbon, have no time zone.
                $value instanceof DateTimeInterface => self::isoString($value),
                is_scalar($value), $value instanceof Stringable => (string) $value,
                default => throw new TypeError("The tag \"$key\" is " . get_debug_type($value) . "."),
            };
        }
        return array_filter($texts, fn ($text) => $text !== null);
    }

    private static function isoString(DateTimeInterface $time): string
    {
        $utc = DateTimeImmutable::createFromInterface($time)->setTimezone(new DateTimeZone("UTC"));
        return $utc->format("Y-m-d\TH:i:s.v\Z");
    }

    /** A UUIDv7 (RFC 9562), greater than the one before: a counter follows the milliseconds. */
    private static function uuid7(): string
    {
        $ms = (int) (microtime(true) * 1000);
        self::$counter = $ms > self::$lastMs ? random_int(0, 0x7ff) : self::$counter + 1;
        self::$lastMs = max($ms, self::$lastMs) + (self::$counter > 0xfff ? 1 : 0);
        self::$counter &= 0xfff;
        $bytes = random_bytes(8);
        $bytes[0] = chr(ord($bytes[0]) & 0x3f | 0x80);
        $hex = sprintf("%012x7%03x", self::$lastMs, self::$counter) . bin2hex($bytes);
        return vsprintf("%s%s-%s-%s-%s-%s%s%s", str_split($hex, 4));
    }
}
