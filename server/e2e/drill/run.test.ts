// @long
/** The drill with one fault. It needs Debian's packages and says which, if they are not installed. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { missingRequirement } from "./requirements.ts";

const missing = missingRequirement();
if (missing !== null) console.warn(missing);

test.if(missing === null)(
  "a killed node loses nothing",
  async () => {
    const command = [process.execPath, join(import.meta.dir, "drill.ts")];
    const child = Bun.spawn([...command, "--only", "node-killed", "--times", "1"], {
      stdout: "pipe",
      stderr: "pipe",
    });
    const output = await new Response(child.stdout).text();
    const errors = await new Response(child.stderr).text();
    expect({ code: await child.exited, output, errors }).toMatchObject({
      code: 0,
      output: expect.stringContaining("Every promise was kept."),
    });
  },
  600_000,
);
