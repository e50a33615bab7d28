// @engines sqlite, postgres
import { expect, test } from "bun:test";
import { expectConsistent } from "../testing/consistency.ts";
import { effort, engine } from "../testing/engine.ts";
import { expectToldEvents, startLoad } from "../testing/mixed-load.ts";
import { testProcess } from "../testing/server-process.ts";

const kills = effort(2, 50);
/** It is killed some time after this many events, however fast the machine. */
const eventsBeforeKill = 50;

test(
  `an acknowledged event survives kill -9, exactly once, ${kills} times under load`,
  async () => {
    await using app = await testProcess();
    // After a kill, PostgreSQL may be busy for longer than the server waits for a connection.
    const clients = { id: 16, anonymous: 6, batch: 6, idempotent: 6 };
    using load = startLoad([app], clients, { allowUnavailable: engine === "postgres" });
    for (let n = 0; n < kills; n++) {
      await load.untilMore(eventsBeforeKill);
      await app.end("SIGKILL");
      await app.start();
    }
    await load.untilMore(eventsBeforeKill);
    const acknowledged = await load.stop();
    const { length } = await expectToldEvents(app, acknowledged);
    expect(acknowledged.repeated).toBeGreaterThan(kills / 2);
    expect(acknowledged.read).toBeGreaterThan(kills / 2);
    await app.end("SIGTERM");
    expect(await expectConsistent(app.config)).toBe(length);
  },
  60_000 + kills * 30_000,
);
