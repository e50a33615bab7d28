import { expect, test } from "bun:test";
import { expectConsistent } from "../testing/consistency.ts";
import { engine } from "../testing/engine.ts";
import { expectToldEvents, startLoad } from "../testing/mixed-load.ts";
import { testProcess } from "../testing/server-process.ts";

const kills = Number(process.env.TIDINGS_TEST_KILLS ?? (engine === "sqlite" ? 25 : 10));
/** A server lives for some tenths of a second, of which its first connections to a database take their part. */
const leastForKill = engine === "sqlite" ? 100 : 10;

test(
  `an acknowledged event survives kill -9, exactly once, ${kills} times under load`,
  async () => {
    await using app = await testProcess();
    const load = startLoad([app], { id: 16, anonymous: 6, batch: 6, idempotent: 6 });
    for (let n = 0; n < kills; n++) {
      await load.during(100 + Math.random() * 200);
      await app.end("SIGKILL");
      await app.start();
    }
    await load.during(100);
    const told = await load.stop();
    const { length } = await expectToldEvents(app, told);
    expect(told.acknowledged.size).toBeGreaterThan(kills * leastForKill);
    expect(told.repeated).toBeGreaterThan(kills / 2);
    expect(told.read).toBeGreaterThan(kills / 2);
    await app.end("SIGTERM");
    expect(await expectConsistent(app.config)).toBe(length);
  },
  60_000 + kills * 5_000,
);
