# frozen_string_literal: true

require "json"
require "net/http"
require "securerandom"
require "set"
require "time"
require "timeout"

# Sends events to Tidings, the self-hosted event tracker. Copy this file into your application. It needs Ruby 3.0 and no
# gems.
#
#   TIDINGS = Tidings.new("https://tidings.example.com", "tdg_sk_…")
#   TIDINGS.track("payments", "Payment received", user_id: "u1", tags: { amount: 42 })
#
# A thread sends events together in the background: when 20 are waiting, or after 3 seconds. Nothing here raises: events
# that will not be sent are passed to `on_error`, or printed as a warning. A process that ends sends what is left first;
# a forked one begins with an empty queue.
class Tidings
  VERSION = "0.1.0"
  BATCH_EVENTS = 20
  BATCH_SECONDS = 3
  # Of one request, if more events are waiting.
  REQUEST_EVENTS = 1_000
  REQUEST_BYTES = 1_000_000
  # More than the results of a whole request.
  RESPONSE_BYTES = 4_000_000
  BACKOFF_BASE = 0.2
  PAUSE_MAX = 30
  RETRY_AFTER_MAX = 60

  Item = Struct.new(:id, :json) do
    def event = JSON.parse(json)
  end
  # What an attempt found out: results for each event, or why there are none.
  Outcome = Struct.new(:status, :results, :detail, :wait, keyword_init: true)

  @last_ms = 0
  @counter = 0
  @id_mutex = Mutex.new

  class << self
    # A UUIDv7 (RFC 9562), greater than the one before: a counter follows the milliseconds.
    def uuid7
      ms, counter = @id_mutex.synchronize do
        ms = Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond)
        @counter = ms > @last_ms ? SecureRandom.random_number(0x800) : @counter + 1
        @last_ms = [ms, @last_ms].max + (@counter >> 12)
        @counter &= 0xfff
        [@last_ms, @counter]
      end
      random = SecureRandom.random_number(1 << 62) | 1 << 63
      format("%012x7%03x%016x", ms, counter, random).unpack("a8a4a4a4a12").join("-")
    end
  end

  # `on_error` is called with an array of events, the reason ("invalid", "queue-full", "rejected", "undeliverable" or
  # "closed") and a sentence. `timeout` is in seconds, for each attempt; `exit_seconds` for the end of the process.
  def initialize(base_url, api_key, on_error: nil, retries: 4, timeout: 10, exit_seconds: 10, queue_max: 10_000)
    @uri = URI("#{base_url.sub(%r{/+\z}, "")}/api/events")
    @headers = {
      "x-api-key" => api_key, "content-type" => "application/json", "accept-encoding" => "identity",
      "user-agent" => "tidings-ruby/#{VERSION}"
    }
    @on_error = on_error
    @retries = retries
    @timeout = timeout
    @queue_max = queue_max
    @closed = false
    reset
    at_exit { close(timeout: exit_seconds) }
  end

  # Queues an event and returns its id at once, or nil if it was dropped. `created_at` is a Time, ISO 8601, or
  # milliseconds since 1970. Numbers, booleans and times in tags are sent as strings; nil is omitted.
  def track(
    channel, name,
    user_id: nil, icon: nil, notify: nil, tags: nil, description: nil, created_at: nil, event: nil, id: nil
  )
    created_at ||= Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond)
    body = {
      id: id || Tidings.uuid7, channel: channel, name: name, event: event, userId: user_id, icon: icon, notify: notify,
      tags: tags, description: description, createdAt: created_at
    }.compact
    body[:createdAt] = iso_string(body[:createdAt]) if body[:createdAt].is_a?(Time)
    body[:tags] = tag_strings(body[:tags]) if body[:tags]
    add(Item.new(body[:id], JSON.generate(body)))
  rescue StandardError => error
    drop([{ "channel" => channel, "name" => name }], "invalid", error.message)
    nil
  end

  # Sends what was tracked before, and waits. Returns false if some of it is still waiting after all retries.
  def flush(timeout: 10)
    # What waited when the process was forked is its parent's.
    reset if Process.pid != @pid
    deadline = now + timeout
    @mutex.synchronize do
      @flushes += 1
      last_id = @waiting.last&.id
      failures_max = @failed + @retries
      @flushing = true
      @changed.broadcast
      while last_id && @waiting.any? { |item| item.id == last_id }
        return false if @failed > failures_max || now >= deadline

        @changed.wait(@mutex, deadline - now)
      end
    end
    true
  end

  # Flushes, and drops what can't be sent in time. A process that ends calls it.
  def close(timeout: 10)
    return true if @closed || Process.pid != @pid

    sent = flush(timeout: timeout)
    @closed = true
    left = @mutex.synchronize { @waiting.slice!(0..) }
    drop(left.map(&:event), "undeliverable", @last_error) unless left.empty?
    sent
  end

  private

  def reset
    @pid = Process.pid
    @mutex = Mutex.new
    @changed = ConditionVariable.new
    # Neither stored nor dropped, in order.
    @waiting = []
    @failed = 0
    @flushes = 0
    @flushing = false
    @last_error = ""
    @request_bytes = REQUEST_BYTES
    @thread = nil
  end

  def add(item)
    # The parent sends what was waiting when the process was forked.
    reset if Process.pid != @pid
    reason = @mutex.synchronize do
      next "closed" if @closed
      next "queue-full" if @waiting.size >= @queue_max

      @thread = Thread.new { run } unless @thread&.alive?
      @waiting << item
      # The thread waits for a whole batch, and need not wake up for each event.
      @changed.broadcast if @waiting.size == 1 || @waiting.size == BATCH_EVENTS
      nil
    end
    return item.id unless reason

    drop([item.event], reason, @last_error)
    nil
  end

  def run
    failures = 0
    loop do
      items = @mutex.synchronize { wait_for_batch(failures) }
      outcome = attempt(items)
      if outcome.status == 413 && items.size > 1
        # A proxy may accept less than the server does.
        @request_bytes = [items.sum { |item| item.json.bytesize } / 2, 1].max
        next
      end
      failed = settle(items, outcome)
      failures = failed ? failures + 1 : 0
      @mutex.synchronize { pause(failures, outcome.wait) } if failed
    rescue StandardError => error
      # A defect of this file must not end the thread.
      failures += 1
      @mutex.synchronize do
        @failed += 1
        @last_error = error.message
        @changed.broadcast
        pause(failures, 0)
      end
    end
  end

  def wait_for_batch(failures)
    @changed.wait(@mutex) while @waiting.empty?
    deadline = now + BATCH_SECONDS
    while failures.zero? && !@flushing && @waiting.size < BATCH_EVENTS && now < deadline
      @changed.wait(@mutex, deadline - now)
    end
    bytes = 0
    batch = @waiting.first(REQUEST_EVENTS).take_while { |item| (bytes += item.json.bytesize + 1) <= @request_bytes }
    batch.empty? ? @waiting.first(1) : batch
  end

  # Full jitter: clients that failed together don't retry together. A flush ends what the server didn't ask for.
  def pause(failures, wait)
    flushes = @flushes
    ends_at = now + [wait, RETRY_AFTER_MAX].min + rand * [PAUSE_MAX, BACKOFF_BASE * 2**[failures - 1, 20].min].min
    while now < ends_at && !@waiting.empty? && (wait.positive? || @flushes == flushes)
      @changed.wait(@mutex, [ends_at - now, 0.001].max)
    end
  end

  # Removes events that are stored or rejected. Returns whether others failed temporarily.
  def settle(items, outcome)
    results = outcome.results || items.map { { "ok" => false, "status" => outcome.status, "detail" => outcome.detail } }
    gone = Set.new
    rejected = Hash.new { |events, detail| events[detail] = [] }
    failure = nil
    items.zip(results) do |item, result|
      detail = result["detail"].to_s
      if result["ok"] == true
        gone << item.id
      elsif temporary?(result["status"].to_i)
        failure = detail
      else
        gone << item.id
        rejected[detail] << item.event
      end
    end
    @mutex.synchronize do
      @waiting.reject! { |item| gone.include?(item.id) }
      @flushing = false if @waiting.empty?
      @last_error = failure.to_s
      @failed += 1 if failure
      @changed.broadcast
    end
    rejected.each { |detail, events| drop(events, "rejected", detail) }
    !failure.nil?
  end

  def attempt(items)
    response, text = Timeout.timeout(@timeout) { post("[#{items.map(&:json).join(",")}]") }
    # Net::HTTP takes a response that breaks off for a whole one.
    raise EOFError, "the response broke off" if text.bytesize < response.content_length.to_i
    outcome_of(response, text, items.size)
  rescue StandardError => error
    Outcome.new(status: 0, detail: "#{error.class}: #{error.message}", wait: 0)
  end

  # Returns the response and its body.
  def post(json)
    text = +""
    response = Net::HTTP.start(@uri.host, @uri.port, use_ssl: @uri.scheme == "https", max_retries: 0) do |http|
      http.request_post(@uri.path, json, @headers) do |found|
        found.read_body do |part|
          text << part
          raise IOError, "the response is too long" if text.bytesize > RESPONSE_BYTES
        end
      end
    end
    [response, text.force_encoding(Encoding::UTF_8)]
  end

  def outcome_of(response, text, count)
    body = begin
      JSON.parse(text)
    rescue JSON::ParserError
      {}
    end
    status = response.code.to_i
    results = body["results"] if body.is_a?(Hash)
    is_whole = results.is_a?(Array) && results.size == count && results.all?(Hash)
    # With its results, the status of a batch doesn't matter.
    return Outcome.new(results: results, wait: 0) if is_whole

    detail = case status
             when 200..299 then "The response did not come from Tidings. Check the base URL."
             when 300..399 then "The server redirects to #{response["location"]}. Use its final address as base URL."
             else (body["detail"] if body.is_a?(Hash)) || "The server responded with status #{status}, without a reason."
             end
    Outcome.new(status: status, detail: detail, wait: retry_after(response["retry-after"]))
  end

  # Seconds, or a date (RFC 9110, section 10.2.3), as seconds from now.
  def retry_after(header)
    return header.to_i if header.to_s.match?(/\A\d+\z/)

    header ? [Time.httpdate(header) - Time.now, 0].max : 0
  rescue ArgumentError
    0
  end

  def temporary?(status)
    status.zero? || status == 408 || status == 429 || status >= 500
  end

  def tag_strings(tags)
    tags.compact.to_h do |key, value|
      text = case value
             when String, Symbol, Numeric, true, false then value.to_s
             when Time then iso_string(value)
             else raise TypeError, "The tag \"#{key}\" is #{value.class}, not a string, number, boolean or Time."
             end
      [key, text]
    end
  end

  def iso_string(time) = time.getutc.iso8601(3)

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def drop(events, reason, detail)
    if @on_error
      @on_error.call(events, reason, detail)
    else
      warn "Tidings: #{events.size} events dropped (#{reason}). #{detail}"
    end
  rescue StandardError => error
    warn "Tidings: `on_error` raised: #{error.message}"
  end
end
