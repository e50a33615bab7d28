/** The lint rule for what React calls back, with the installed linter: an update must not silence it. */
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const reported = [
  "useEffect(() => pane.current?.scrollTo(0, 0), []);",
  "useEffect(() => pane.current.scrollTo(0, 0));",
  "useLayoutEffect(onScroll, [onScroll]);",
  "useInsertionEffect(() => (isOpen ? open() : undefined), [isOpen]);",
  "useEffect(() => void load(), []);",
  "export const Pane = () => <div ref={(pane) => pane?.scrollTo(0, 0)} />;",
];
const allowed = [
  "useEffect(() => { pane.current?.scrollTo(0, 0); }, []);",
  "useEffect(() => { return listen(project); }, [project]);",
  "useEffect(() => () => clearTimeout(timer), []);",
  "useEffect(() => release, [release]);",
  "useEffect(function follow() { start(); });",
  "export const Box = () => <div ref={box} />;",
  "export const Block = () => <div ref={(block) => { block?.scrollTo(0, 0); }} />;",
];

test("an effect or a ref callback that returns a call's result is a fault", () => {
  const directory = mkdtempSync(join(tmpdir(), "tidings-lint-"));
  const rule = join(import.meta.dir, "effects.grit");
  writeFileSync(
    join(directory, "biome.json"),
    JSON.stringify({ plugins: [rule], linter: { rules: { preset: "none" } } }),
  );
  writeFileSync(join(directory, "effects.tsx"), [...reported, ...allowed].join("\n"));
  const biome = join(import.meta.dir, "../node_modules/.bin/biome");
  const { stdout, exitCode } = Bun.spawnSync([biome, "lint", "--reporter=json", "."], { cwd: directory });
  rmSync(directory, { recursive: true });
  const { diagnostics } = JSON.parse(stdout.toString()) as {
    diagnostics: { location: { start: { line: number } } }[];
  };
  expect(diagnostics.map(({ location }) => location.start.line)).toEqual(
    reported.map((_, index) => index + 1),
  );
  expect(exitCode).toBe(1);
});
