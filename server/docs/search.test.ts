/** The search of the documentation: other words for things lead to the page that is meant. */
import { beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createSearch } from "../../docs-site/browser/search-index.ts";
import { synonyms } from "../../docs-site/browser/synonyms.ts";

const assets = join(import.meta.dir, "../../dashboard/dist/assets");
/** How many results are seen without scrolling. */
const seen = 3;

let search: ReturnType<typeof createSearch>;
beforeAll(() => {
  const file = readdirSync(assets).find((name) => /^docs-index-.+\.json$/.test(name))!;
  search = createSearch(JSON.parse(readFileSync(join(assets, file), "utf8")));
});

const hrefsOf = (query: string) => search(query).map(({ id }) => id as string);

/** Searches, and the section that each has among its first results. */
const searches = {
  gdpr: "/docs/retention#erasing-a-user",
  "GDPR user": "/docs/retention#erasing-a-user",
  kubernetes: "/docs/kubernetes",
  k8s: "/docs/kubernetes",
  "docker compose": "/docs/production#in-containers",
  nextjs: "/docs/javascript#nextjs",
  "Next.js": "/docs/javascript#nextjs",
  "page views": "/docs/keys#in-a-web-page",
  "429": "/docs/keys#rate-limits",
  "too many requests": "/docs/keys#rate-limits",
  cors: "/docs/keys#in-a-web-page",
  sso: "/docs/accounts#openid-connect",
  "2fa": "/docs/accounts#managing-your-account",
  typescript: "/docs/javascript",
  "client library": "/docs/javascript",
  ssl: "/docs/settings#https",
  "environment variables": "/docs/settings",
  "daily quota": "/docs/keys#daily-quota",
};

for (const [query, href] of Object.entries(searches))
  test(`"${query}" leads to ${href}`, () => {
    expect(hrefsOf(query).slice(0, seen)).toContain(href);
  });

test("each other word finds something", () => {
  for (const { words, means } of synonyms)
    for (const word of [...words, ...means]) expect([word, hrefsOf(word).length > 0]).toEqual([word, true]);
});

test("an unknown word beside another one finds nothing", () => {
  expect(hrefsOf("gdpr xyzzyplugh")).toEqual([]);
});
