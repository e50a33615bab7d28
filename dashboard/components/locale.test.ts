import { expect, test } from "bun:test";

const path = `${import.meta.dir}/locale.ts`;

/** What a browser of a language writes, in a process of its own because formats are made once. */
function written(language: string): string[] {
  const code = `
    const own = Intl.NumberFormat;
    Intl.NumberFormat = function (_, options) { return new own(${JSON.stringify(language)}, options); };
    const { formatAmount, formatCompact, formatNumber, formatShare } = await import(${JSON.stringify(path)});
    console.log(JSON.stringify([
      formatNumber(15085), formatCompact(103700), formatCompact(999950), formatCompact(999949), formatCompact(950),
      formatCompact(-2500000), formatCompact(0.25), formatAmount(1234.567), formatShare(0.42), formatShare(0.0042),
    ]));`;
  const { stdout, stderr } = Bun.spawnSync([process.execPath, "-e", code]);
  if (stdout.length === 0) throw new Error(String(stderr));
  return JSON.parse(String(stdout));
}

test("all numbers of a page have the separators of one region, whatever their form", () => {
  expect(written("en-US")).toEqual([
    ...["15,085", "103.7K", "1M", "999.9K", "950"],
    ...["-2.5M", "0.25", "1,234.57", "42%", "0.4%"],
  ]);
  expect(written("de-DE")).toEqual([
    ...["15.085", "103,7K", "1M", "999,9K", "950"],
    ...["-2,5M", "0,25", "1.234,57", "42%", "0,4%"],
  ]);
});
