import "../validation/messages.ts";
import { defineCommand } from "citty";
import type { Kysely } from "kysely";
import { commandActor } from "../audit/audit-log.ts";
import { createLink } from "../auth/account-links.ts";
import { createAccount } from "../auth/create-account.ts";
import { credentialEpochOf } from "../auth/credential-epoch.ts";
import { deleteAccount } from "../auth/delete-account.ts";
import { checkNewPassword } from "../auth/password-rules.ts";
import { scrypt } from "../auth/passwords.ts";
import { disableTwoFactor, setPassword } from "../auth/recover-account.ts";
import { baseUrlOf, readConfig } from "../config/config.ts";
import { type Role, roles } from "../core/permissions.ts";
import { findProject, listProjects } from "../projects/projects.ts";
import { accountTexts } from "../schemas/account.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { jsonArg, printResult, report } from "./output.ts";
import { ArgumentError, UsageError, withCreatedStore, withStore } from "./with-store.ts";

const email = {
  type: "string",
  required: true,
  description: "Email address of the account",
  valueHint: "E",
} as const;

const create = defineCommand({
  meta: {
    name: "create",
    description: 'Create an account. The first account owns the installation and gets the project "Default".',
  },
  args: {
    email: { type: "string", required: true, description: "Email address to sign in with", valueHint: "E" },
    "password-stdin": { type: "boolean", description: "Read the password from standard input" },
    name: { type: "string", description: "Display name", valueHint: "N" },
    project: {
      type: "string",
      description: 'Project to join, by name or slug (default: "default")',
      valueHint: "P",
    },
    role: {
      type: "string",
      description: `Role in the project: ${roles.join(", ")} (default: member)`,
      valueHint: "R",
    },
    json: jsonArg,
  },
  run: ({ args }) =>
    withCreatedStore(async ({ control }) => {
      const email = parsed(accountTexts.email, args.email, "--email");
      if (!args["password-stdin"]) {
        throw new ArgumentError("Pipe the password to standard input and add --password-stdin.");
      }
      const password = await readPassword();
      const name = args.name === undefined ? undefined : parsed(accountTexts.name, args.name, "--name");
      await checkNewPassword(password, { email, name });
      const role = roleOf(args.role);
      const passwordHash = await scrypt.hash(password);
      const joined = await control.transaction().execute(async (transaction) => {
        const isFirst =
          (await transaction.selectFrom("accounts").select("id").executeTakeFirst()) === undefined;
        if (isFirst && role !== "owner" && args.role !== undefined)
          throw new ArgumentError("The first account owns the installation. Omit --role.");
        const project = isFirst ? null : await findProject(transaction, args.project ?? "default");
        const { firstProject } = await createAccount(
          transaction,
          { email, password, name },
          passwordHash,
          project && { id: project.id, role },
          commandActor,
        );
        return firstProject
          ? { slug: firstProject.project.slug, role: firstProject.project.role }
          : { slug: project!.slug, role };
      });
      await report(
        args.json,
        { email: email.toLowerCase(), project: joined.slug, role: joined.role },
        `Created the account ${email.toLowerCase()}, ${joined.role} of the project "${joined.slug}".`,
      );
    }),
});

const list = defineCommand({
  meta: {
    name: "list",
    description:
      "List accounts to standard output: email address, name, second factor and projects with roles",
  },
  args: { json: { type: "boolean", description: "Print each account as a line of JSON" } },
  run: ({ args }) =>
    withStore(async ({ control }) => {
      const accounts = await control
        .selectFrom("accounts")
        .select(["id", "email", "name", "twoFactorEnabled"])
        .orderBy("createdAt")
        .orderBy("id")
        .execute();
      for (const { id, email, name, twoFactorEnabled } of accounts) {
        const memberships = await listProjects(control, id);
        if (args.json) {
          const projects = memberships.map(({ slug, role }) => ({ slug, role }));
          console.log(JSON.stringify({ id, email, name, twoFactor: Boolean(twoFactorEnabled), projects }));
          continue;
        }
        const projects = memberships.map(({ slug, role }) => `${slug} (${role})`);
        console.log([email, name, twoFactorEnabled ? "two-factor" : "-", projects.join(", ")].join("\t"));
      }
    }),
});

const resetPassword = defineCommand({
  meta: {
    name: "reset-password",
    description: "Print a link to choose a new password, which works once, for an hour; or set the password",
  },
  args: {
    email,
    "password-stdin": { type: "boolean", description: "Set the password that is read from standard input" },
    "two-factor-off": {
      type: "boolean",
      description: "Also turn off two-factor authentication, for someone who has lost their device and codes",
    },
    json: jsonArg,
  },
  run: ({ args }) =>
    withStore(async ({ control }) => {
      const password = args["password-stdin"] ? await readPassword() : null;
      if (password !== null) await checkNewPassword(password, { email: args.email });
      const passwordHash = password === null ? null : await scrypt.hash(password);
      const link = await control.transaction().execute(async (transaction) => {
        const account = await findAccount(transaction, args.email);
        if (args["two-factor-off"]) await disableTwoFactor(transaction, account, commandActor);
        if (passwordHash === null) {
          const epoch = (await credentialEpochOf(transaction, account.id))!;
          return createLink(transaction, "reset-password", { accountId: account.id, epoch, email: null });
        }
        await setPassword(transaction, account, passwordHash, null, commandActor);
        return null;
      });
      const email = args.email.toLowerCase();
      if (link === null)
        return report(args.json, { email, link }, `Set the password of ${email}. All its sessions ended.`);
      const url = `${baseUrlOf(readConfig())}/reset-password?token=${link}`;
      await printResult(args.json, { email, link: url }, url);
    }),
});

const remove = defineCommand({
  meta: {
    name: "remove",
    description: "Remove an account, and the projects that have no other member",
  },
  args: { email, json: jsonArg },
  run: ({ args }) =>
    withStore(async ({ control }) => {
      const account = await findAccount(control, args.email);
      const projects = await deleteAccount(control, account.id, null, commandActor);
      const also =
        projects.length === 0 ? "" : ` Its ${projects.length} projects without other members are deleted.`;
      await report(
        args.json,
        { email: account.email, deletedProjects: projects.length },
        `Removed the account ${account.email}.${also}`,
      );
    }),
});

export const accountCommand = defineCommand({
  meta: { name: "account", description: "Manage accounts: the people who sign in" },
  subCommands: { create, list, "reset-password": resetPassword, remove },
});

function roleOf(text: string | undefined): Role {
  const role = text === undefined ? "member" : roles.find((each) => each === text);
  if (!role) throw new ArgumentError(`--role must be one of ${roles.join(", ")}.`);
  return role;
}

async function findAccount(
  control: Kysely<ControlTables>,
  given: string,
): Promise<{ id: string; email: string }> {
  const account = await control
    .selectFrom("accounts")
    .select(["id", "email"])
    .where("email", "=", given.toLowerCase())
    .executeTakeFirst();
  if (!account) throw new UsageError(`There is no account with the email address ${given}.`);
  return account;
}

async function readPassword(): Promise<string> {
  return parsed(accountTexts.password, (await Bun.stdin.text()).replace(/\r?\n$/, ""), "The password");
}

function parsed(
  schema: typeof accountTexts.email | typeof accountTexts.name,
  text: string,
  what: string,
): string {
  const result = schema.safeParse(text);
  if (!result.success) {
    const Kind = what.startsWith("--") ? ArgumentError : UsageError;
    throw new Kind(`${what} ${result.error.issues[0]!.message}.`);
  }
  return result.data;
}
