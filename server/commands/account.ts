import "../validation/messages.ts";
import { defineCommand } from "citty";
import { createAccount } from "../auth/create-account.ts";
import { checkNewPassword } from "../auth/password-rules.ts";
import { scrypt } from "../auth/passwords.ts";
import { type Role, roles } from "../permissions.ts";
import { findProject } from "../projects/projects.ts";
import { accountTexts } from "../wire/account.ts";
import { UsageError, withStore } from "./with-store.ts";

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
  },
  run: ({ args }) =>
    withStore(async ({ control }) => {
      const email = parsed(accountTexts.email, args.email, "--email");
      if (!args["password-stdin"]) {
        throw new UsageError("Pipe the password to standard input and add --password-stdin.");
      }
      const password = parsed(
        accountTexts.password,
        (await Bun.stdin.text()).replace(/\r?\n$/, ""),
        "The password",
      );
      const name = args.name === undefined ? undefined : parsed(accountTexts.name, args.name, "--name");
      await checkNewPassword(password, { email, name });
      const role = roleOf(args.role);
      const passwordHash = await scrypt.hash(password);
      const joined = await control.transaction().execute(async (transaction) => {
        const isFirst =
          (await transaction.selectFrom("accounts").select("id").executeTakeFirst()) === undefined;
        if (isFirst && role !== "owner" && args.role !== undefined)
          throw new UsageError("The first account owns the installation. Omit --role.");
        const project = isFirst ? null : await findProject(transaction, args.project ?? "default");
        const { firstProject } = await createAccount(
          transaction,
          { email, password, name },
          passwordHash,
          project && { id: project.id, role },
        );
        return firstProject
          ? { slug: firstProject.project.slug, role: firstProject.project.role }
          : { slug: project!.slug, role };
      });
      console.error(
        `Created the account ${email.toLowerCase()}, ${joined.role} of the project "${joined.slug}".`,
      );
    }),
});

export const accountCommand = defineCommand({
  meta: { name: "account", description: "Manage accounts: the people who sign in" },
  subCommands: { create },
});

function roleOf(text: string | undefined): Role {
  const role = text === undefined ? "member" : roles.find((each) => each === text);
  if (!role) throw new UsageError(`--role must be one of ${roles.join(", ")}.`);
  return role;
}

function parsed(
  schema: typeof accountTexts.email | typeof accountTexts.name,
  text: string,
  what: string,
): string {
  const result = schema.safeParse(text);
  if (!result.success) throw new UsageError(`${what} ${result.error.issues[0]!.message}.`);
  return result.data;
}
