# Run by the tests of this client: `driver.rb SCENARIO`, with settings in JSON on the standard input.
require "json"

scenario = ARGV.first
settings = JSON.parse($stdin.read)
dropped = []
# Runs after the library's own, which is registered later.
at_exit { puts JSON.generate(dropped) if scenario != "ending" || settings["report"] }

require_relative "../tidings"

tidings = Tidings.new(
  settings["url"], settings["key"],
  timeout: 1, queue_max: settings["queueMax"] || 200_000, exit_seconds: settings["close"] || 0,
  on_error: ->(events, reason, _) { events.each { |event| dropped << [event["name"], reason] } }
)
if scenario == "pausing"
  # A pause as long as after many failures.
  tidings.define_singleton_method(:rand) { 100 }
  tidings.track(settings["channel"], "n 0")
  tidings.flush(timeout: 0.5)
  pid = fork { exit!(tidings.flush(timeout: 5)) }
  Process.wait(pid)
  raise "a forked process waits for its parent's events" unless $?.success?
end
settings["count"].times do |number|
  tidings.track(settings["channel"], "n #{number}", tags: { number: number })
  tidings.flush if settings["flushEvery"] && (number % settings["flushEvery"]).zero?
  sleep((settings["pauseMs"] || 0) / 1000.0) if number % 100 == 99
end
if scenario == "hostile"
  tidings.track("", "no channel")
  tidings.track("c", "no tag", tags: { nested: [] })
  nil until tidings.flush
  tidings.close
  tidings.track("c", "too late")
  dropped.sort!
end
