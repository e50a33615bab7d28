import { expect, test } from "bun:test";
import { acceptedForm } from "./event-form.ts";

const cases: [accept: string | null, form: string][] = [
  [null, "json"],
  ["", "json"],
  ["*/*", "json"],
  ["text/csv", "csv"],
  ["TEXT/CSV", "csv"],
  ["text/*", "csv"],
  ["application/x-ndjson", "ndjson"],
  ["application/*", "json"],
  ["application/xml", "json"],
  ["text/csv, */*", "csv"],
  ["text/csv;q=0.5, application/x-ndjson;q=0.9", "ndjson"],
  ["text/csv;q=0.5, */*;q=0.1", "csv"],
  ["application/json;q=0.5, text/csv;q=0.4", "json"],
  ["text/csv;q=0, */*;q=0.1", "json"],
  ["application/json;q=0, */*;q=0.1", "ndjson"],
  ["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "json"],
  ["application/json, text/plain, */*", "json"],
  [";;;q=,,", "json"],
];
for (const [accept, form] of cases) {
  test(`${JSON.stringify(accept)} gets ${form}`, () =>
    expect(acceptedForm(accept)).toBe(form as ReturnType<typeof acceptedForm>));
}
