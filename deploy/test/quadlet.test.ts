import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./containers.ts";

/** The keys of https://docs.podman.io/en/v5.0.0/markdown/podman-systemd.unit.5.html that the units use. */
const known: Record<string, string[]> = {
  Container: [
    ...["ContainerName", "DropCapability", "Environment", "HealthCmd", "HealthInterval", "HealthStartPeriod"],
    ...[
      "HealthTimeout",
      "Image",
      "NoNewPrivileges",
      "PublishPort",
      "ReadOnly",
      "StopTimeout",
      "Ulimit",
      "Volume",
    ],
  ],
  Volume: ["VolumeName"],
};
const ofSystemd = ["Unit", "Service", "Install"];

function readUnit(name: string): Record<string, [string, string][]> {
  const sections: Record<string, [string, string][]> = {};
  let section = "";
  for (const line of readFileSync(join(root, "deploy/quadlet", name), "utf8").split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    const heading = /^\[(\w+)\]$/.exec(line)?.[1];
    if (heading) {
      section = heading;
      sections[section] = [];
    } else {
      const [, key, value] = /^(\w+)=(.+)$/.exec(line) ?? [];
      expect([name, line, key]).toEqual([name, line, expect.any(String)]);
      sections[section]!.push([key!, value!]);
    }
  }
  return sections;
}

test("the Quadlet units have keys of Podman 5, and name each other", () => {
  const container = readUnit("tidings.container");
  const volume = readUnit("tidings.volume");
  for (const unit of [container, volume])
    for (const [section, entries] of Object.entries(unit).filter(([name]) => !ofSystemd.includes(name)))
      expect(known[section]).toEqual(expect.arrayContaining(entries.map(([key]) => key)));
  const settings = Object.fromEntries(container.Container!);
  expect(settings).toMatchObject({
    Volume: "tidings.volume:/data",
    ReadOnly: "true",
    DropCapability: "all",
    NoNewPrivileges: "true",
    HealthCmd: "/tidings healthcheck",
  });
  // systemd must not lose patience before Podman does.
  const stopSeconds = Number(Object.fromEntries(container.Service!).TimeoutStopSec);
  expect(stopSeconds).toBeGreaterThan(Number(settings.StopTimeout));
});
