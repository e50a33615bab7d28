import { expect, test } from "bun:test";
import { numberFormatter } from "./locale.ts";

test.each([
  ["en-US", ["15,085", "1.3", "2.45", "103.7K", "42%", "0.4%", "1,234%"]],
  ["de-DE", ["15.085", "1,3", "2,45", "103,7K", "42%", "0,4%", "1.234%"]],
  ["ar-EG", ["15,085", "1.3", "2.45", "103.7K", "42%", "0.4%", "1,234%"]],
])("numbers have one decimal sign and one separator of thousands: %s", (language, texts) => {
  const format = numberFormatter(language);
  expect([
    format(15_085),
    format(1.25, "tenths"),
    format(2.45, "hundredths"),
    format(103_700, "compact"),
    format(0.42, "percent"),
    format(0.004, "finePercent"),
    format(12.34, "percent"),
  ]).toEqual(texts);
});
