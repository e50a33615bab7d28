import { defineCommand } from "citty";
import { readConfig } from "../config/config.ts";
import { jsonArg, printError, printLine } from "./output.ts";

const timeoutMs = 2_500;

/** For containers, whose images have no other program that could ask. */
export const healthcheckCommand = defineCommand({
  meta: {
    name: "healthcheck",
    description: "Ask the server on this machine whether it is ready. Exits with 0 or 1",
  },
  args: { json: jsonArg },
  async run({ args }) {
    const { port } = readConfig();
    try {
      const response = await fetch(`http://127.0.0.1:${port}/readyz`, {
        signal: AbortSignal.timeout(timeoutMs),
      });
      const { detail } = (response.ok ? {} : await response.json()) as { detail?: string };
      await end(response.ok, detail);
    } catch (error) {
      await end(false, (error as Error).message);
    }

    async function end(isReady: boolean, detail?: string): Promise<never> {
      if (args.json)
        await printLine(JSON.stringify({ ready: isReady, ...(detail !== undefined && { detail }) }));
      else if (detail !== undefined) printError(detail);
      process.exit(isReady ? 0 : 1);
    }
  },
});
