#!/usr/bin/env bash
# Records the event that the inputs of action.yml describe. Needs curl and jq, which GitHub's runners have.
set -uo pipefail

# Ends the step, with an error if it was asked for. A workflow command ends at a line end, and "%" is its escape.
give_up() {
  local text="${1//'%'/%25}"
  text="${text//$'\r'/%0D}"
  text="${text//$'\n'/%0A}"
  if [ "${FAIL:-false}" = true ]; then
    echo "::error title=Tidings::$text"
    exit 1
  fi
  echo "::warning title=Tidings::$text"
  exit 0
}

for program in curl jq; do
  command -v "$program" > /dev/null || give_up "The runner has no $program."
done
[ -n "${TIDINGS_URL:-}" ] || give_up 'The input "url" is empty.'
[ -n "${TIDINGS_API_KEY:-}" ] || give_up 'The input "api-key" is empty. Workflows of forks have no secrets.'

# Keys and values as the server takes them; lines without "=" are left out.
event=$(jq -n '
  def filled: select(. != null and . != "");
  ($ENV.EVENT_TAGS // "" | split("\n") | map(capture("^\\s*(?<key>[^=]+?)\\s*=\\s*(?<value>.*?)\\s*$")? | select(.value != "")))
    as $own
  | {
      repository: $ENV.GITHUB_REPOSITORY,
      workflow: $ENV.GITHUB_WORKFLOW,
      job: $ENV.GITHUB_JOB,
      ref: $ENV.GITHUB_REF_NAME,
      commit: $ENV.GITHUB_SHA,
      run: (if $ENV.GITHUB_RUN_ID then
        "\($ENV.GITHUB_SERVER_URL // "https://github.com")/\($ENV.GITHUB_REPOSITORY)/actions/runs/\($ENV.GITHUB_RUN_ID)"
      else null end)
    }
  | with_entries(select(.value | filled)) + ($own | from_entries)
  | {
      channel: $ENV.EVENT_CHANNEL,
      name: $ENV.EVENT_NAME,
      userId: (($ENV.EVENT_USER_ID | filled) // null),
      icon: (($ENV.EVENT_ICON | filled) // null),
      description: (($ENV.EVENT_DESCRIPTION | filled) // null),
      notify: ($ENV.EVENT_NOTIFY == "true"),
      tags: .
    }
  | with_entries(select(.value != null))
') || give_up "The event can't be written as JSON."

# All attempts have the same key, so the event is recorded once.
idempotency_key="${GITHUB_RUN_ID:-0}-${GITHUB_RUN_ATTEMPT:-0}-$(date +%s)-$$-$RANDOM$RANDOM"
answer=$(mktemp)
trap 'rm -f "$answer"' EXIT

# Sets `status`: 000 without a whole response. The API key is read from the standard input, since others can see the
# arguments of a program.
attempt() {
  : > "$answer"
  status=$(printf 'header = "x-api-key: %s"\n' "$TIDINGS_API_KEY" | curl --config - --silent --max-time 10 \
    -H 'content-type: application/json' -H "idempotency-key: $idempotency_key" --data-binary "$event" \
    -o "$answer" -w '%{http_code}' "${TIDINGS_URL%/}/api/events") || status=000
}

for wait in 1 2 4 8 0; do
  attempt
  case "$status" in
    # 409: an attempt whose response was lost is still under way.
    000 | 408 | 409 | 429 | 5??) sleep "$wait" ;;
    *) break ;;
  esac
done

id=$(jq -r 'if .ok == true then .event.id // .id else empty end' "$answer" 2> /dev/null)
# An output of the step, which other lines must not follow.
if ! [[ "$id" =~ ^[0-9a-f-]{36}$ ]]; then
  detail=$(jq -r '.detail // empty' "$answer" 2> /dev/null)
  case "$status" in
    000) otherwise="Tidings does not respond. Check the input \"url\", and that the runner can reach it." ;;
    *) otherwise="The response has the status $status and no reason. Check the input \"url\"." ;;
  esac
  give_up "${detail:-$otherwise}"
fi
echo "Recorded event $id."
[ -z "${GITHUB_OUTPUT:-}" ] || echo "id=$id" >> "$GITHUB_OUTPUT"
