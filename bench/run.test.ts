import { expect, test } from "bun:test";
import { effort } from "../server/testing/engine.ts";
import { root } from "./processes.ts";

/** Every row once takes a minute or more, each with servers of its own; beside other load it took over ten. */
const longTest = test.if(effort(false, true));
const longTimeoutMs = 3_600_000;

async function bench(...flags: string[]) {
  const child = Bun.spawn([process.execPath, "bench/run.ts", ...flags], {
    cwd: root,
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { code: await child.exited, output, errors };
}

longTest(
  "every row runs, and the page is not changed",
  async () => {
    const { code, output } = await bench("--quick");
    expect(output.match(/.*\| failed .*/g)).toBeNull();
    for (const what of [
      "single durable POSTs",
      "page views of websites",
      "… with one event in ten notifying",
      "batches of 1,000",
      "import of 5,000 lines",
      "a page of 50 with any filter at 5,000 events",
      "stats: a month by channel",
      "the complete listing of 5,000 events",
      "ingest p99 while 2 complete listings stream",
      "ingest p99 while retention removes events",
      "accepted POST to its arrival",
      "while another project does this: 100 streams",
      "resident memory, idle",
      "single durable POSTs beside 100 monitors and 1,000 heartbeats",
      "one request of 1 MB with any content",
      "at 5,000 events: loading",
    ]) {
      expect(output).toContain(`| ${what}`);
    }
    expect(output).toContain("docs/benchmarks.md is unchanged");
    expect(code).toBe(0);
  },
  longTimeoutMs,
);

longTest(
  "rows run on SQLite and on PostgreSQL with one and two nodes",
  async () => {
    const { code, output } = await bench(
      "--postgres",
      "--quick",
      "--rows",
      "single-posts,notifying,batches,across-nodes,stats",
    );
    expect(output.match(/.*\| failed .*/g)).toBeNull();
    expect(output).toMatch(
      /\| what +\| SQLite +\| PostgreSQL, one node +\| PostgreSQL, two nodes +\| bar +\|/,
    );
    expect(output).toMatch(/live streams of the other, p99 at 100 events\/s +\| – +\| – +\| \d/);
    for (const what of [
      "single durable POSTs",
      "… with one event in ten notifying",
      "batches of 1,000",
      "stats: a month by name",
    ]) {
      expect(output).toMatch(new RegExp(`\\| ${what}[^|]+\\|[^|]*\\d[^|]*\\|[^|]*\\d[^|]*\\|[^|]*\\d`));
    }
    expect(output).toMatch(/PostgreSQL 18\.\d+ with fsync/);
    expect(code).toBe(0);
  },
  longTimeoutMs,
);

test("a failed row is reported, and the others are measured", async () => {
  // So few events have no second page, so there is no cursor.
  const { code, output } = await bench("--quick", "--events", "20", "--rows", "pages,listing");
  expect(output).toMatch(/\| pages +\| failed/);
  expect(output).toContain("| the complete listing of 20 events");
  expect(code).toBe(1);
});

test("an unknown row is rejected with the list of rows", async () => {
  const { code, errors } = await bench("--rows", "pagse");
  expect(errors).toMatch(/There is no row pagse; there is single-posts, .*notifying, batches,/);
  expect(code).toBe(1);
});
