import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** What later runs on the same data must know, beside the ledger. */
export type State = {
  engine: "sqlite" | "postgres";
  apiKey: string;
  /** How many runs there were. */
  runs: number;
  boardId: string;
  cohortIds: string[];
  /** Paths to ping and to send webhooks to. */
  heartbeats: string[];
  webhook: string;
  /** The destination that rules notify. */
  destinationId: string;
  /** Users who were erased. */
  erased: string[];
};

const fileOf = (directory: string) => join(directory, "soak.json");

export function loadState(directory: string): State | null {
  const path = fileOf(directory);
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as State) : null;
}

/** The file holds an API key, so only its owner can read it. */
export function saveState(directory: string, state: State): void {
  const path = fileOf(directory);
  writeFileSync(`${path}.new`, JSON.stringify(state), { mode: 0o600 });
  renameSync(`${path}.new`, path);
}
