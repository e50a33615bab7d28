import { type DelayedLink, startDelayedLink } from "../../testing/delayed-link.ts";
import { addressOf, databaseNames } from "./configuration.ts";
import type { NodeMachine } from "./installation.ts";
import { loadAddress, type Machine } from "./machine.ts";

const table = "drill";
const slowTable = "drill_slow";
const databases = `{ ${databaseNames.map(addressOf).join(", ")} }`;
/** How long connections have time to notice that they were reset. */
const resetMs = 1_000;

/** Nothing passes between a machine and the databases any more: packets vanish, as behind a broken switch. */
export function dropDatabases(machine: Machine): Promise<void> {
  return machine.addRules(table, [
    ["input", `ip saddr ${databases} drop`],
    ["output", `ip daddr ${databases} drop`],
  ]);
}

/** The databases refuse all of a machine's connections, as if a firewall rejected them. */
export function rejectDatabases(machine: Machine): Promise<void> {
  return machine.addRules(table, [["output", `ip daddr ${databases} ip protocol tcp reject with tcp reset`]]);
}

/** Nothing passes between a machine and any other. */
export function isolate(machine: Machine): Promise<void> {
  return machine.addRules(table, [
    ["input", 'iif "eth0" drop'],
    ["output", 'oif "eth0" drop'],
  ]);
}

export function reconnect(machine: Machine): Promise<void> {
  return machine.removeRules(table);
}

/** Delays all that passes between nodes and databases. Returns the function that ends it. */
export async function slowDown(nodes: readonly NodeMachine[], delayMs: number): Promise<() => Promise<void>> {
  const links: { address: string; link: DelayedLink }[] = [];
  for (const name of databaseNames) {
    const address = addressOf(name);
    links.push({
      address,
      link: await startDelayedLink({ host: address, port: 5432 }, loadAddress, delayMs),
    });
  }
  const redirects = links.map(
    ({ address, link }) => `ip daddr ${address} tcp dport 5432 dnat to ${loadAddress}:${link.port}`,
  );
  for (const { machine } of nodes) {
    await machine.addRules(slowTable, [["redirect", redirects.join("\n")]]);
    // New connections were redirected before this rule, so it resets only those that there were.
    await machine.addRules(table, [["output", `ip daddr ${databases} tcp dport 5432 reject with tcp reset`]]);
  }
  await Bun.sleep(resetMs);
  for (const { machine } of nodes) await reconnect(machine);
  return async () => {
    // While its rule exists, a redirected connection learns that it was closed.
    for (const { link } of links) link.close();
    for (const { machine } of nodes) await machine.removeRules(slowTable);
  };
}
