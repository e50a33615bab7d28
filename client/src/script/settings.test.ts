import { expect, test } from "bun:test";
import { endpointOf } from "./settings.ts";

test("a script sends to its own address without .js and version, wherever that is", () => {
  for (const [src, endpoint] of [
    ["https://tidings.example.com/t.js", "/t"],
    ["https://tidings.example.com/t/0123456789abcdef.js", "/t"],
    ["https://tidings.example.com/s/app.js?v=2", "/s/app"],
    ["https://tidings.example.com/s/app/0123456789abcdef.js", "/s/app"],
    ["https://tidings.example.com/s/analytics_script.js", "/s/analytics_script"],
    ["https://tidings.example.com/stats/s/app.js", "/stats/s/app"],
  ] as const)
    expect(endpointOf(src)).toBe(`https://tidings.example.com${endpoint}`);
  expect(endpointOf("https://d3.js.example.com/t.js")).toBe("https://d3.js.example.com/t");
});
