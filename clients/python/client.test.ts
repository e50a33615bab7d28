// @long
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { type TestApp, testApp } from "../../server/testing/test-app.ts";
import { expectRequestEvents } from "../testing/framework-events.ts";
import { type Driver, findProgram, pythons, runDriver, runProgram } from "../testing/programs.ts";
import { clientSuite } from "../testing/suite.ts";

const needed = "the tests of the Python client need Python 3.9 or newer (apt-get install python3).";
const python = findProgram(pythons, ["-c", "import sys; sys.exit(sys.version_info < (3, 9))"], needed);
const environment = { PYTHONPATH: join(import.meta.dir, "src"), PYTHONDONTWRITEBYTECODE: "1" };
const driverOf = (program: string, file: string): Driver => ({
  command: [program, "-W", "error", join(import.meta.dir, "tests", file)],
  environment,
});

clientSuite("python", python === null ? null : driverOf(python, "driver.py"));

test.skipIf(python === null)("Python's own tests pass", () =>
  runProgram(
    [python!, "-W", "error", "-m", "unittest", "discover", "-s", "tests"],
    import.meta.dir,
    environment,
  ),
);

describe("requests are reported with their route, never with their path", () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await testApp();
  });
  afterAll(() => app[Symbol.asyncDispose]());

  const routes = {
    django: ["/orders/<str:id>", "/broken/<int:id>"],
    "django-async": ["/orders/<str:id>", "/broken/<int:id>"],
    flask: ["/orders/<id>", "/broken/<id>"],
    fastapi: ["/orders/{id}", "/broken/{id}"],
  };
  for (const [framework, [order, broken]] of Object.entries(routes)) {
    const name = framework.split("-")[0]!;
    const program = findProgram(
      pythons,
      ["-c", `import ${name}`],
      `the tests of ${framework} need its package (apt-get install python3-${name}).`,
    );
    test.skipIf(program === null)(framework, async () => {
      const driver = driverOf(program!, "frameworks.py");
      // Warnings of a framework about a newer Python say nothing of this library.
      driver.command.splice(1, 2);
      const settings = { url: app.address, key: app.key, channel: framework };
      expect(await runDriver(driver, framework, settings)).toEqual([200, 200, 200, 500, 404]);
      await expectRequestEvents(app, framework, {
        order: order!,
        broken: broken!,
        error: "ValueError: no stock",
      });
    });
  }
});
