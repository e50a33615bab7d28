// @engines sqlite, postgres
import { expect, test } from "bun:test";
import { expectConsistent } from "../testing/consistency.ts";
import { effort } from "../testing/effort.ts";
import { expectToldEvents, startLoad } from "../testing/mixed-load.ts";
import { testProcess } from "../testing/server-process.ts";

const kills = effort(4, 50);
/** It is killed at some moment after so many events, however fast the machine is. */
const eventsBeforeKill = 50;

test(
  `an acknowledged event survives kill -9, exactly once, ${kills} times under load`,
  async () => {
    await using app = await testProcess();
    const load = startLoad([app], { id: 16, anonymous: 6, batch: 6, idempotent: 6 });
    for (let n = 0; n < kills; n++) {
      await load.untilMore(eventsBeforeKill);
      await app.end("SIGKILL");
      await app.start();
    }
    await load.untilMore(eventsBeforeKill);
    const told = await load.stop();
    const { length } = await expectToldEvents(app, told);
    expect(told.repeated).toBeGreaterThan(kills / 2);
    expect(told.read).toBeGreaterThan(kills / 2);
    await app.end("SIGTERM");
    expect(await expectConsistent(app.config)).toBe(length);
  },
  60_000 + kills * 5_000,
);
