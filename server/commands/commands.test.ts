// @long
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { isSecret } from "../auth/key-secret.ts";
import type { Key } from "../schemas/key.ts";
import { auditOf, callAs } from "../testing/account-calls.ts";
import { destinationReceiver } from "../testing/destination-receiver.ts";
import { effort, environmentOf, makeStorage, removeStorage, type TestStorage } from "../testing/engine.ts";
import { longTest } from "../testing/long-test.ts";
import { runTidings } from "../testing/server-process.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { totpCode } from "../testing/totp.ts";
import { until } from "../testing/until.ts";

const password = "long enough password";

const account = (email: string, ...more: string[]) => [
  "account",
  "create",
  "--email",
  email,
  "--password-stdin",
  ...more,
];

describe("without a server, on an empty directory", () => {
  let storage: TestStorage;
  beforeAll(async () => {
    storage = await makeStorage();
  });
  const run = (parameters: string[], stdin = "") => runTidings(parameters, environmentOf(storage), stdin);
  afterAll(() => removeStorage(storage));

  test("a command that needs data says that there is none, and creates nothing", async () => {
    const ofProject = ["--project", "default"];
    const commands = [
      ["account", "list"],
      ["import", import.meta.path],
      ["backup", "--to", storage.dataDirectory],
    ];
    const otherCommands = [
      ["account", "remove", "--email", "a@example.com"],
      ["account", "reset-password", "--email", "a@example.com"],
      ["project", "list"],
      ["project", "delete", "default", "--confirm", "default"],
      ["key", "create", ...ofProject, "--name", "n"],
      ["key", "list", ...ofProject],
      ["rule", "list", ...ofProject],
      ["heartbeat", "list", ...ofProject],
      ["silence", "list", ...ofProject],
      ["annotation", "list", ...ofProject],
      ["on-call", "list", ...ofProject],
      ["destination", "list", ...ofProject],
      ["delivery", "list", ...ofProject],
      ["job", "list"],
      ["log", "a", "--channel", "c"],
      ["list"],
      ["tail"],
      ["stats"],
      ["channel", "list"],
      ["export", "-"],
    ];
    for (const parameters of [...commands, ...effort([], otherCommands)]) {
      expect([parameters, await run(parameters)]).toEqual([
        parameters,
        {
          code: 1,
          stdout: "",
          stderr: `There is no database in ${storage.dataDirectory}. Set TIDINGS_DATA to the directory that has it, or create one with "tidings serve" or "tidings account create".\n`,
        },
      ]);
    }
    expect(readdirSync(storage.dataDirectory)).toEqual([]);
  });

  test("the first account owns the project Default, and a key for it is all that stdout gets", async () => {
    const created = await run(account("Owner@Example.com", "--name", "Ada"), `${password}\n`);
    expect(created).toEqual({
      code: 0,
      stdout: "",
      stderr: 'Created the account owner@example.com, owner of the project "default".\n',
    });
    for (const project of ["default", "Default"]) {
      const { code, stdout, stderr } = await run(["key", "create", "--project", project, "--name", "CI"]);
      expect([code, stderr]).toEqual([0, ""]);
      expect(stdout).toEndWith("\n");
      expect(isSecret(stdout.trimEnd())).toBe(true);
    }
  });

  test("a key is created with its settings, listed, rotated and revoked", async () => {
    const key = (...args: string[]) => run(["key", ...args, "--project", "default"]);
    const secret = await key(
      "create",
      "--name",
      "Loader",
      "--scopes",
      "ingest",
      "--expires",
      "90d",
      "--rate",
      "5",
    );
    expect(secret.code).toBe(0);
    const page = await key("create", "--name", "Page", "--publishable", "--origins", "https://a.example");
    expect(page.stdout).toStartWith("tdg_pk_");
    const keys = async () =>
      (await key("list", "--json")).stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as Key);
    const [publishable, loader] = await keys();
    expect(publishable).toMatchObject({ name: "Page", origins: ["https://a.example"], eventsPerSecond: 50 });
    expect(loader).toMatchObject({ name: "Loader", scopes: ["ingest"], eventsPerSecond: 5 });
    expect(Date.parse(loader!.expiresAt!) - Date.now()).toBeWithin(89 * 86_400_000, 90 * 86_400_000);
    const { stdout } = await key("list");
    expect(stdout).toMatch(/^KEY +NAME +SCOPES +STATE +LAST USED\n/);
    expect(stdout).toContain(`tdg_sk_…${loader!.ending}  Loader`);

    const rotated = await key("rotate", "Loader", "--overlap-hours", "1");
    expect(isSecret(rotated.stdout.trimEnd())).toBe(true);
    expect(rotated.stderr).toMatch(/^The old key is valid until .*Z\.\n$/);
    const twice = await key("revoke", "Loader");
    expect([twice.code, twice.stderr]).toEqual([1, expect.stringMatching(/^Several keys match "Loader"\./)]);
    const revoked = await key("revoke", loader!.ending);
    expect(revoked.stderr).toBe(`Revoked the key "Loader" (…${loader!.ending}).\n`);
    expect((await keys()).find(({ id }) => id === loader!.id)?.revokedAt).toBeString();
  });

  test("a project's slug is all that stdout gets, and the first account owns it", async () => {
    expect(await run(["project", "create", "My Shop"])).toEqual({ code: 0, stdout: "my-shop\n", stderr: "" });
    expect(await run(["project", "create", "My Shop", "--owner", "OWNER@example.com"])).toEqual({
      code: 0,
      stdout: "my-shop-2\n",
      stderr: "",
    });
  });

  const rejections: [name: string, parameters: string[], stdin: string, says: string][] = [
    [
      "an invalid email address",
      account("ada"),
      password,
      "--email must be an email address, such as ada@example.com.",
    ],
    ["a common password", account("b@example.com"), "password123", "easy to guess"],
    [
      "an unknown project, and lists the known ones",
      account("b@example.com", "--project", "shop"),
      password,
      'There is no project "shop". Projects: default, my-shop, my-shop-2.',
    ],
    [
      "an unknown role",
      account("b@example.com", "--role", "boss"),
      password,
      "--role must be one of owner, admin, member, viewer.",
    ],
    [
      "an unknown key",
      ["key", "rotate", "Nobody", "--project", "default"],
      "",
      'The project "default" has no key "Nobody". List its keys with: tidings key list --project default',
    ],
    ["a key without a project", ["key", "create", "--name", "n"], "", "project"],
    ["a project with a blank name", ["project", "create", " "], "", "must not be blank"],
    ["a command that is not known", ["explode"], "", "explode"],
  ];
  const rejectedDetails: typeof rejections = [
    ["a short password", account("b@example.com"), "short", "The password must have at least 10 characters."],
    ["no password", account("b@example.com"), "", "The password must have at least 10 characters."],
    [
      "a password that is not piped",
      ["account", "create", "--email", "b@example.com"],
      password,
      "add --password-stdin",
    ],
    [
      "an existing address in another case",
      account("OWNER@example.com"),
      password,
      "An account with the email address owner@example.com already exists.",
    ],
    [
      "an ambiguous project name",
      account("b@example.com", "--project", "My Shop"),
      password,
      'Several projects are named "My Shop". Use the slug',
    ],
    ["a blank account name", account("b@example.com", "--name", " "), password, "--name must not be blank."],
    [
      "a key for an unknown project",
      ["key", "create", "--project", "shop", "--name", "n"],
      "",
      "Projects: default, my-shop, my-shop-2.",
    ],
    [
      "a key with a blank name",
      ["key", "create", "--project", "default", "--name", " "],
      "",
      "--name must not be blank.",
    ],
    [
      "a key that expires at no time",
      ["key", "create", "--project", "default", "--name", "n", "--expires", "tomorrow"],
      "",
      "--expires must be a time in ISO 8601, such as 2030-01-31T12:00:00Z.",
    ],
    ["a project with a name of 81 characters", ["project", "create", "x".repeat(81)], "", "at most 80"],
    [
      "a project for an unknown owner",
      ["project", "create", "x", "--owner", "nobody@example.com"],
      "",
      "There is no account with the email address nobody@example.com.",
    ],
  ];
  for (const [testIt, cases] of [
    [test, rejections],
    [longTest, rejectedDetails],
  ] as const) {
    for (const [name, parameters, stdin, says] of cases) {
      testIt(`rejects ${name}`, async () => {
        const ended = await run(parameters, stdin);
        expect(ended.stderr).toContain(says);
        const isArgument = /^(--|There is no command|Missing|Pipe the password)/.test(ended.stderr);
        expect(ended.code).toBe(isArgument ? 2 : 1);
        expect(ended.stderr).not.toContain("    at ");
        // Usage may go to stdout, a secret never.
        expect(ended.stdout).not.toContain("tdg_sk_");
      });
    }
  }

  test("a data directory that can't be created is reported as a sentence", async () => {
    const { code, stderr } = await runTidings(["project", "create", "p"], { TIDINGS_DATA: "/proc/tidings" });
    expect(code).toBe(1);
    expect(stderr).toStartWith("The command failed: ");
    expect(stderr).not.toContain("    at ");
  });

  test("all wrong settings are reported together", async () => {
    const { code, stderr } = await runTidings(["key", "create", "--project", "p", "--name", "n"], {
      PORT: "x",
      TIDINGS_URL: "y",
    });
    expect(code).toBe(1);
    expect(stderr).toContain("PORT must be");
    expect(stderr).toContain("TIDINGS_URL must be");
  });
});

describe("next to a running server", () => {
  let app: TestApp;
  const run = (parameters: string[], stdin = "") => runTidings(parameters, environmentOf(app.config), stdin);
  beforeAll(async () => {
    app = await testApp();
  });
  afterAll(() => app[Symbol.asyncDispose]());

  test("a key works at once", async () => {
    const { stdout } = await run(["key", "create", "--project", "default", "--name", "CI"]);
    expect((await app.post({ channel: "a", name: "b" }, stdout.trim())).status).toBe(201);
  });

  test("who is on call is listed, and changed for some hours", async () => {
    const onCall = (...parameters: string[]) => run(["on-call", ...parameters, "--project", "default"]);
    await app.addMember("ada@example.com", "member");
    const headers = { "content-type": "application/json", cookie: await app.signIn(), origin: app.address };
    const { members } = (await (await app.request("/api/members", { headers }, null)).json()) as {
      members: { id: string; email: string }[];
    };
    const { id } = members.find(({ email }) => email === app.owner)!;
    const rotation = { members: [id], every: 1, unit: "week", at: "09:00", startsOn: "2026-03-02" };
    const body = JSON.stringify({ name: "Backend", timeZone: "UTC", rotations: [rotation] });
    expect((await app.request("/api/on-call", { method: "POST", headers, body }, null)).status).toBe(201);
    const { name } = JSON.parse((await onCall("list", "--json")).stdout).now.member;
    expect((await onCall("list")).stdout).toContain(name);
    expect(
      (await onCall("override", "Backend", "--member", "ada@example.com", "--for", "8h")).stderr,
    ).toMatch(/^ada.* is on call in "Backend" from /);
    const shifts = (await onCall("shifts", "Backend", "--days", "2", "--json")).stdout.trim().split("\n");
    expect(shifts.map((line) => JSON.parse(line).override !== null)).toEqual([true, false]);
    expect((await onCall("shifts", "Backend")).stdout).toContain("ada");
    for (const wrong of [
      ["shifts", "Frontend"],
      ["shifts", "Backend", "--days", "1000"],
      ["override", "Backend", "--member", "nobody@example.com", "--for", "8h"],
      ["override", "Backend", "--member", "ada@example.com", "--for", "8h", "--from", "tomorrow"],
    ])
      expect((await onCall(...wrong)).code).not.toBe(0);
  });

  test("a heartbeat is created, pinged, listed, paused and deleted", async () => {
    const heartbeat = (...parameters: string[]) => run(["heartbeat", ...parameters, "--project", "default"]);
    const { stdout: url } = await heartbeat("create", "Nightly backup", "--every", "1d", "--grace", "30m");
    const { pathname } = new URL(url.trim());
    expect((await app.request(pathname)).status).toBe(200);
    const listed = JSON.parse((await heartbeat("list", "--json")).stdout);
    expect(listed).toMatchObject({
      slug: "nightly-backup",
      state: "up",
      schedule: { type: "period", minutes: 1_440 },
      graceMinutes: 30,
    });
    expect((await heartbeat("pause", "nightly-backup")).stderr).toBe(
      'The heartbeat "Nightly backup" is paused.\n',
    );
    expect((await heartbeat("list")).stdout).toContain("paused");
    expect((await heartbeat("resume", listed.id)).stderr).toContain("is resumed");
    expect((await heartbeat("delete", "nightly-backup")).stderr).toContain("Deleted");
    expect(await heartbeat("pause", "nightly-backup")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('has no heartbeat "nightly-backup"'),
    });
    for (const [options, text] of [
      [["--every", "1d", "--cron", "* * * * *"], "either --every or --cron"],
      [["--every", "10s"], "--every must be"],
      [["--cron", "0 0 30 2 *"], "never fires"],
    ] as const)
      expect(await heartbeat("create", "Wrong", ...options)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(text),
      });
  });

  test("a rule is created from JSON, listed, turned off and deleted", async () => {
    const rule = (...parameters: string[]) => run(["rule", ...parameters, "--project", "default"]);
    const body = { name: "Backups", q: "name:Backup", when: { type: "silence", minutes: 60 } };
    const to = { everyone: true, members: [], destinations: [] };
    const create = (text: string) => run(["rule", "create", "--project", "default"], text);
    const created = await create(JSON.stringify({ ...body, to }));
    expect(created).toMatchObject({ code: 0, stderr: "" });
    expect((await rule("disable", "Backups")).stderr).toBe('The rule "Backups" is off.\n');
    const { stdout } = await rule("list", "--json");
    const listed = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { id: string; name: string; enabled: boolean });
    expect(listed.at(-1)).toMatchObject({ ...body, id: created.stdout.trim(), enabled: false });
    expect((await rule("list")).stdout).toContain("silence minutes=60");
    expect((await rule("delete", created.stdout.trim())).stderr).toBe('Deleted the rule "Backups".\n');
    expect(await rule("enable", "Backups")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('has no rule "Backups"'),
    });
    expect((await create("{")).stderr).toContain("Send the rule as JSON");
    expect((await create(JSON.stringify(body))).stderr).toStartWith("to ");
    expect((await auditOf(app, "rule.changed")).at(-1)).toMatchObject({
      actorKind: "command",
      target: "Backups",
    });
  });

  test("a silence is planned, listed, ended and deleted", async () => {
    const silence = (...parameters: string[]) => run(["silence", ...parameters, "--project", "default"]);
    const created = await silence("create", "Deployment", "--for", "1h", "--q", "channel:servers");
    expect(created).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse((await silence("list", "--json")).stdout)).toMatchObject({
      id: created.stdout.trim(),
      state: "active",
      q: "channel:servers",
    });
    expect((await silence("delete", "Deployment")).stderr).toContain("End it instead");
    expect((await silence("end", "Deployment")).stderr).toBe('The silence "Deployment" is ended.\n');
    expect((await silence("list", "--all")).stdout).toContain("ended");
    const from = new Date(Date.now() + 3_600_000).toISOString();
    expect((await silence("create", "Move", "--for", "2h", "--from", from)).code).toBe(0);
    expect((await silence("list")).stdout).toContain("planned");
    expect((await silence("delete", "Move")).stderr).toBe('The silence "Move" is deleted.\n');
    const mistakes = [["--for", "soon"], ["--to", "tomorrow"], ["--for", "1h", "--rule", "None"], []];
    for (const options of mistakes) expect((await silence("create", "Wrong", ...options)).code).not.toBe(0);
  });

  test("an annotation is created, listed and deleted", async () => {
    const annotation = (...parameters: string[]) =>
      run(["annotation", ...parameters, "--project", "default"]);
    const created = await annotation("create", "Black Friday", "--at", "2026-11-27", "--board", "Overview");
    expect(created).toMatchObject({ code: 0, stderr: "" });
    expect((await annotation("create", "Deployment", "--q", "channel:deploys", "--icon", "🚀")).code).toBe(0);
    const [events, note] = (await annotation("list", "--json")).stdout.trim().split("\n");
    expect(JSON.parse(events!)).toMatchObject({ type: "events", q: "channel:deploys", icon: "🚀" });
    expect(JSON.parse(note!)).toMatchObject({ id: created.stdout.trim(), at: "2026-11-27" });
    expect((await annotation("list")).stdout).toContain("channel:deploys");
    expect((await annotation("delete", "Black Friday")).stderr).toBe(
      'The annotation "Black Friday" is deleted.\n',
    );
    expect((await annotation("delete", "Black Friday")).stderr).toContain("annotation list");
    const mistakes = [
      ["--at", "soon"],
      ["--q", "("],
      ["--q", "a", "--at", "2026-11-27"],
      ["--board", "None"],
    ];
    for (const options of mistakes)
      expect((await annotation("create", "Wrong", ...options)).code).not.toBe(0);
  });

  test("an alert is listed, acknowledged and resolved", async () => {
    const alert = (...parameters: string[]) => run(["alert", ...parameters, "--project", "default"]);
    const to = { everyone: true, members: [], destinations: [] };
    const rule = { name: "Disk", q: 'name:"Disk full"', when: { type: "each" }, to, resolve: "state=ok" };
    await run(["rule", "create", "--project", "default"], JSON.stringify(rule));
    await until(async () => {
      await app.post({ channel: "servers", name: "Disk full" });
      return (await alert("list")).stdout.includes("firing");
    });
    expect(await alert("acknowledge", "Disk", "--minutes", "soon")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("--minutes must be a whole number"),
    });
    expect((await alert("acknowledge", "Disk")).stderr).toBe('The alert of "Disk" is acknowledged.\n');
    const listed = JSON.parse((await alert("list", "--json")).stdout) as { id: string };
    expect(listed).toMatchObject({ state: "acknowledged", acknowledged: { by: "A command" } });
    expect((await alert("resolve", listed.id)).stderr).toBe('The alert of "Disk" is resolved.\n');
    expect((await alert("list", "--all")).stdout).toContain("resolved");
    expect((await alert("resolve", listed.id)).stderr).toContain("has no open alert");
    await run(["rule", "delete", "Disk", "--project", "default"]);
  });

  test("a new project is in its audit log", async () => {
    expect((await run(["project", "create", "Audited"])).stdout).toBe("audited\n");
    expect((await auditOf(app, "project.created")).at(-1)).toMatchObject({
      actorKind: "command",
      target: "audited",
    });
  });

  test("reset-password prints a link that works once, or sets the password", async () => {
    expect((await run(account("lost@example.com"), password)).code).toBe(0);
    const cookie = await app.signIn("lost@example.com", password);
    const printed = await run(["account", "reset-password", "--email", "Lost@example.com"]);
    expect([printed.code, printed.stderr]).toEqual([0, ""]);
    const link = new URL(printed.stdout.trim());
    expect(link.pathname).toBe("/reset-password");
    const body = { token: link.searchParams.get("token"), newPassword: "chosen with the link" };
    expect((await callAs(app, "POST", "/api/auth/reset-password", { body })).status).toBe(200);
    expect((await callAs(app, "GET", "/api/me", { cookie })).status).toBe(401);

    const again = await app.signIn("lost@example.com", "chosen with the link");
    const set = ["account", "reset-password", "--email", "lost@example.com", "--password-stdin"];
    expect((await run(set, "short")).code).toBe(1);
    expect(await run(set, "piped in here\n")).toEqual({
      code: 0,
      stdout: "",
      stderr: "Set the password of lost@example.com. All its sessions ended.\n",
    });
    expect((await callAs(app, "GET", "/api/me", { cookie: again })).status).toBe(401);
    expect(await app.signIn("lost@example.com", "piped in here")).toContain("session_token");
    expect((await auditOf(app, "password.reset")).map(({ actorKind }) => actorKind)).toEqual([
      "account",
      "command",
    ]);
  });

  longTest("somebody who has lost the second factor gets in again", async () => {
    expect((await run(account("device@example.com"), password)).code).toBe(0);
    const cookie = await app.signIn("device@example.com", password);
    const enable = { cookie, body: { password } };
    const { body } = await callAs(app, "POST", "/api/auth/two-factor/enable", enable);
    const code = totpCode(body.totpURI as string);
    await callAs(app, "POST", "/api/auth/two-factor/verify-totp", { cookie, body: { code } });
    expect((await run(["account", "list"])).stdout).toContain(
      "device@example.com\tdevice\ttwo-factor\tdefault (member)\n",
    );
    const off = ["account", "reset-password", "--email", "device@example.com", "--two-factor-off"];
    expect((await run([...off, "--password-stdin"], "a new password")).code).toBe(0);
    expect(await app.signIn("device@example.com", "a new password")).toContain("session_token");
  });

  longTest("a removed account's sessions end", async () => {
    expect((await run(account("gone@example.com"), password)).code).toBe(0);
    const cookie = await app.signIn("gone@example.com", password);
    expect(await run(["account", "remove", "--email", "gone@example.com"])).toEqual({
      code: 0,
      stdout: "",
      stderr: "Removed the account gone@example.com.\n",
    });
    expect((await callAs(app, "GET", "/api/me", { cookie })).status).toBe(401);
    expect((await run(["account", "remove", "--email", "gone@example.com"])).stderr).toBe(
      "There is no account with the email address gone@example.com.\n",
    );
  });

  test("an account can sign in at once, and sees its project", async () => {
    const created = await run(account("new@example.com", "--role", "viewer"), password);
    expect([created.code, created.stderr]).toEqual([
      0,
      'Created the account new@example.com, viewer of the project "default".\n',
    ]);
    const cookie = await app.signIn("new@example.com", password);
    const me = (await (await app.request("/api/me", { headers: { cookie } })).json()) as object;
    expect(me).toMatchObject({
      account: { email: "new@example.com", name: "new" },
      projects: [{ slug: "default", role: "viewer" }],
    });
  });

  test("a destination is added, tested, listed and removed", async () => {
    await using receiver = await destinationReceiver();
    const destination = (args: string[], stdin = "") =>
      runTidings(
        ["destination", ...args, "--project", "default"],
        { ...environmentOf(app.config), TIDINGS_ALLOW_PRIVATE_ADDRESSES: "true" },
        stdin,
      );
    const { url, secret } = receiver.settings.webhook;
    const add = ["add", "--kind", "webhook", "--name", "Our server"];
    expect(await destination(add, JSON.stringify({ url, secret }))).toEqual({
      code: 0,
      stdout: `${secret}\n`,
      stderr: 'Added the destination "Our server". It gets nothing until a rule names it.\n',
    });
    for (const [stdin, message] of [
      ["{", "as a JSON object"],
      ["{}", '"url" is missing.'],
      [JSON.stringify({ url }), 'called "Our server" already'],
    ] as const) {
      const { code, stderr } = await destination(add, stdin);
      expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
    }
    expect(await destination(["test", "Our server"])).toEqual({
      code: 0,
      stdout: "The webhook answered 200.\n",
      stderr: "",
    });
    expect(receiver.take().body.type).toBe("webhook.test");
    receiver.answerNext(403, "no");
    expect(await destination(["test", "Our server"])).toMatchObject({
      code: 1,
      stderr: "The webhook answered 403: no\n",
    });
    const { stdout } = await destination(["list"]);
    expect(stdout).toBe("NAME        KIND     STATE  LAST DELIVERED\nOur server  webhook  on     never\n");
    expect(await destination(["remove", "Our server"])).toMatchObject({ code: 0 });
    expect((await destination(["list", "--json"])).stdout).toBe("");
    expect(await destination(["remove", "Our server"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("no destination"),
    });
  });

  longTest("deliveries are listed, and dead ones retried", async () => {
    const { control } = app.running.store;
    await control
      .insertInto("deliveries")
      .values({
        projectId: 1,
        destinationId: "gone",
        notification: JSON.stringify({
          type: "silence",
          atMs: 60_000,
          sinceMs: 0,
          rule: { name: "Backup", q: "" },
        }),
        kind: "webhook",
        label: "Old server",
        state: "dead",
        attempts: 3,
        detail: "The webhook answered 400.",
        createdAt: 0,
      })
      .execute();
    const delivery = (...args: string[]) => run(["delivery", ...args, "--project", "default"]);
    const { stdout, stderr } = await delivery("list", "--state", "dead");
    expect(stdout).toMatch(/Old server +No event for 1 minute: Backup +dead +3 +The webhook answered 400\./);
    expect(stderr).toContain("Dead: 1.");
    expect(JSON.parse((await delivery("list", "--state", "dead", "--json")).stdout)).toMatchObject({
      kind: "webhook",
    });
    expect(await delivery("list", "--state", "gone")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("--state must be"),
    });
    expect(await delivery("retry", "--destination", "x")).toMatchObject({ code: 1 });
    expect((await delivery("retry")).stdout).toBe("Retrying 1 delivery.\n");
    expect((await delivery("list", "--state", "dead", "--json")).stdout).toBe("");
  });

  test("commands and events in progress don't disturb each other", async () => {
    let isOver = false;
    const statuses: number[] = [];
    const writers = Promise.all(
      Array.from({ length: 8 }, async () => {
        while (!isOver) statuses.push((await app.post({ channel: "a", name: "b" })).status);
      }),
    );
    const created = await Promise.all(
      Array.from({ length: 4 }, (_, n) => run(["project", "create", `Project ${n}`])),
    );
    isOver = true;
    await writers;
    expect(created.map(({ code, stderr }) => [code, stderr])).toEqual(Array(4).fill([0, ""]));
    expect(new Set(statuses)).toEqual(new Set([201]));
  });
});

test("seed fills a project with events that the dashboard can show", async () => {
  await using app = await testApp();
  const { code, stderr } = await runTidings(["seed", "--days", "1"], environmentOf(app.config));
  expect(code).toBe(0);
  const [, count] = /Recorded ([\d,]+) events/.exec(stderr)!;
  expect((await app.list()).length).toBe(Number(count!.replace(",", "")));
  const response = await app.request("/api/users?q=plan:pro&limit=1");
  expect(await response.json()).toMatchObject({ users: [{ properties: { plan: "pro" } }] });
});
