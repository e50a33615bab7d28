import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./folders.ts";

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
    // A command line needs a shell, which the image doesn't have.
    HealthCmd: '["/tidings", "healthcheck"]',
  });
  // systemd must not lose patience before Podman does.
  const stopSeconds = Number(Object.fromEntries(container.Service!).TimeoutStopSec);
  expect(stopSeconds).toBeGreaterThan(Number(settings.StopTimeout));
});

/** What makes services of the units. Before Podman 5 it doesn't know all of their keys. */
const generator = "/usr/libexec/podman/quadlet";
const hasGenerator =
  existsSync(generator) && Number.parseInt(Bun.spawnSync([generator, "-version"]).stdout.toString(), 10) >= 5;
if (!hasGenerator) console.log("Skipped: the Quadlet units are not given to Podman, which needs version 5.");

test.skipIf(!hasGenerator)(
  "Podman makes a service of the units that runs the image with their rights",
  () => {
    const { exitCode, stdout, stderr } = Bun.spawnSync([generator, "-dryrun"], {
      env: { ...process.env, QUADLET_UNIT_DIRS: join(root, "deploy/quadlet") },
    });
    expect({ exitCode, stderr: stderr.toString() }).toMatchObject({ exitCode: 0 });
    // Some versions write --option=value, and others --option value.
    const command = /^ExecStart=.* run .*$/m.exec(stdout.toString())?.[0].replaceAll("=", " ");
    for (const option of [
      "--read-only",
      "--cap-drop all",
      "--security-opt no-new-privileges",
      "-v tidings:/data",
      "--publish 127.0.0.1:4242:4242",
    ])
      expect(command).toContain(option);
    expect(stdout.toString()).toContain("Requires=tidings-volume.service");
  },
);
