import { defineCommand } from "citty";
import { readConfig } from "../config.ts";

const timeoutMs = 2_500;

/** For containers, whose images have no other program that could ask. */
export const healthcheckCommand = defineCommand({
  meta: {
    name: "healthcheck",
    description: "Ask the server on this machine whether it is ready. Exits with 0 or 1",
  },
  async run() {
    const { port } = readConfig();
    try {
      const response = await fetch(`http://127.0.0.1:${port}/readyz`, {
        signal: AbortSignal.timeout(timeoutMs),
      });
      if (response.ok) process.exit(0);
      console.error(((await response.json()) as { detail?: string }).detail);
    } catch (error) {
      console.error((error as Error).message);
    }
    process.exit(1);
  },
});
