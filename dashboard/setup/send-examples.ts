/** An example in one language that sends an event. */
export type SendExample = {
  id: string;
  label: string;
  /** Says what to do with the code. */
  hint: string;
  code: string;
};

type Options = {
  key: string;
  /** Of the server, as this browser reaches it. */
  origin: string;
  channel?: string | undefined;
};

/** Programs that send the same sample event with what their language has built in. */
export function sendExamples({ key, origin, channel = "payments" }: Options): SendExample[] {
  const event = {
    channel,
    name: "Payment received",
    userId: "u1",
    icon: "💰",
    notify: true,
    tags: { plan: "pro" },
  };
  const url = `${origin}/api/events`;
  return [
    {
      id: "curl",
      label: "curl",
      hint: "Run this in a terminal",
      code: `curl --fail-with-body ${url} \\
  -H "X-API-KEY: ${key}" \\
  -H "content-type: application/json" \\
  -d ${inShell(JSON.stringify(event))}`,
    },
    {
      id: "javascript",
      label: "JavaScript",
      hint: "Save as send.mjs, then: node send.mjs",
      code: `const response = await fetch(${quoted(url)}, {
  method: "POST",
  headers: { "x-api-key": ${quoted(key)}, "content-type": "application/json" },
  body: JSON.stringify({
    channel: ${quoted(channel)},
    name: "Payment received",
    userId: "u1",
    icon: "💰",
    notify: true,
    tags: { plan: "pro" },
  }),
});
console.log(await response.text());`,
    },
    {
      id: "python",
      label: "Python",
      hint: "Python 3, nothing to install",
      code: `import json
import urllib.request

event = {
    "channel": ${quoted(channel)},
    "name": "Payment received",
    "userId": "u1",
    "icon": "💰",
    "notify": True,
    "tags": {"plan": "pro"},
}
request = urllib.request.Request(
    ${quoted(url)},
    data=json.dumps(event).encode(),
    headers={"X-API-KEY": ${quoted(key)}, "Content-Type": "application/json"},
)
print(urllib.request.urlopen(request).read().decode())`,
    },
    {
      id: "go",
      label: "Go",
      hint: "Save as main.go, then: go run main.go",
      code: `package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
)

func main() {
	event, err := json.Marshal(map[string]any{
		"channel": ${quoted(channel)},
		"name":    "Payment received",
		"userId":  "u1",
		"icon":    "💰",
		"notify":  true,
		"tags":    map[string]string{"plan": "pro"},
	})
	if err != nil {
		panic(err)
	}
	request, err := http.NewRequest("POST", ${quoted(url)}, bytes.NewReader(event))
	if err != nil {
		panic(err)
	}
	request.Header.Set("X-API-KEY", ${quoted(key)})
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(err)
	}
	defer response.Body.Close()
	fmt.Println(response.Status)
}`,
    },
    {
      id: "php",
      label: "PHP",
      hint: "PHP 8, nothing to install",
      code: `<?php
$event = [
    'channel' => ${inSingleQuotes(channel)},
    'name' => 'Payment received',
    'userId' => 'u1',
    'icon' => '💰',
    'notify' => true,
    'tags' => ['plan' => 'pro'],
];
echo file_get_contents(${inSingleQuotes(url)}, false, stream_context_create(['http' => [
    'method' => 'POST',
    'header' => [${inSingleQuotes(`X-API-KEY: ${key}`)}, 'Content-Type: application/json'],
    'content' => json_encode($event),
    'ignore_errors' => true,
]]));`,
    },
    {
      id: "ruby",
      label: "Ruby",
      hint: "Ruby 3, nothing to install",
      code: `require "json"
require "net/http"

event = {
  channel: ${inSingleQuotes(channel)},
  name: "Payment received",
  userId: "u1",
  icon: "💰",
  notify: true,
  tags: { plan: "pro" },
}
headers = { "X-API-KEY" => ${inSingleQuotes(key)}, "Content-Type" => "application/json" }
puts Net::HTTP.post(URI(${inSingleQuotes(url)}), event.to_json, headers).body`,
    },
  ];
}

/** A text in JavaScript, Python and Go, which read the escapes of JSON alike. */
function quoted(text: string): string {
  return JSON.stringify(text);
}

/** A text in PHP and Ruby, which look for variables only between double quotes. */
function inSingleQuotes(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

/** An argument of a shell. */
function inShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
