import { expect, test } from "bun:test";
import { limits } from "../core/limits.ts";
import { PictureLinks } from "./report-links.ts";
import { periodBefore } from "./report-schedule.ts";

const links = new PictureLinks("a secret", "https://tidings.example.com");
const nowMs = Date.parse("2026-11-26T08:00:00Z");
const pictured = { reportId: "a report", ...periodBefore("week", "Europe/Berlin", nowMs) };
const file = links.url(pictured, nowMs).split("/").at(-1)!;
const problem = expect.objectContaining({ code: "report-unknown" });

test("an address has its period with it, so that a changed schedule doesn't change the picture", () => {
  expect(links.read(file, nowMs)).toEqual(pictured);
  expect(pictured).toMatchObject({ every: "week", timeZone: "Europe/Berlin" });
});

test("one picture has one address, for some weeks", () => {
  for (const other of [`${file.slice(0, -4)}.a.png`, file.slice(0, -4), `a${file}`, file.replace(".", ".A")])
    expect(() => links.read(other, nowMs)).toThrow(problem);
  const endMs = nowMs + limits.reportPictureDays * 24 * 60 * 60 * 1_000;
  expect(links.read(file, endMs - 1)).toEqual(pictured);
  expect(() => links.read(file, endMs)).toThrow(problem);
  expect(() => new PictureLinks("another secret", "").read(file, nowMs)).toThrow(problem);
});
