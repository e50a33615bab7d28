import manifest from "../../package.json";
import { type Setting, settings } from "./settings.ts";
import { settingTexts } from "./sources.ts";

/** The values of all settings. Those without a default are null if they are not set. */
export type Config = {
  -readonly [Name in keyof typeof settings]: (typeof settings)[Name] extends Setting<
    infer Value,
    infer Default
  >
    ? Value | (Default extends null ? null : never)
    : never;
};

/** The public address, without a trailing slash. */
export function baseUrlOf({ url, port }: Pick<Config, "url" | "port">): string {
  return url ?? `http://localhost:${port}`;
}

export class ConfigError extends Error {
  constructor(mistakes: string[]) {
    super(
      `Tidings can't start with these settings:\n${mistakes.map((mistake) => `  - ${mistake}`).join("\n")}`,
    );
    this.name = "ConfigError";
  }
}

/** A setting in force. `value` is null if it is not set and has no default; a secret's value is never shown. */
export type SettingInForce = { variable: string; value: string | null; isSecret: boolean; source: string };

/**
 * Reads every setting from the environment, from the files of secrets and from the settings file. Returns all mistakes,
 * and each setting with its source.
 *
 * Invariant: only this file reads settings from the environment. Checked by `scripts/environment.mjs`.
 */
export function inspectConfig(environment: Record<string, string | undefined> = process.env) {
  const mistakes: string[] = [];
  const texts = settingTexts(Object.values(settings), environment, mistakes);
  const values: Record<string, unknown> = {};
  const inForce: SettingInForce[] = [];
  for (const [name, { variable, fallback, parse, isSecret }] of Object.entries(settings)) {
    const sourced = texts.get(variable);
    const text = sourced?.text ?? fallback;
    try {
      values[name] = text === null ? null : parse(text);
    } catch (error) {
      const where = sourced && sourced.source !== "environment" ? ` in ${sourced.source}` : "";
      const got = isSecret ? "" : ` (got ${JSON.stringify(text)})`;
      mistakes.push(`${variable}${where} ${(error as Error).message}${got}`);
    }
    inForce.push({ variable, value: text, isSecret, source: sourced?.source ?? "default" });
  }
  const { oidcIssuer, oidcClientId, oidcClientSecret } = settings;
  const oidc = [oidcIssuer, oidcClientId, oidcClientSecret].map(({ variable }) => variable);
  const missing = oidc.filter((variable) => !texts.has(variable));
  if (missing.length > 0 && missing.length < oidc.length)
    mistakes.push(`${missing.join(" and ")} must be set, because OpenID Connect needs ${oidc.join(", ")}`);
  if (texts.has(settings.backupTo.variable) && texts.has(settings.databaseUrl.variable))
    mistakes.push(
      `${settings.backupTo.variable} can't be set together with ${settings.databaseUrl.variable}: back up PostgreSQL with its own tools`,
    );
  if (texts.has(settings.clickhouseUrl.variable) && !texts.has(settings.databaseUrl.variable))
    mistakes.push(
      `${settings.clickhouseUrl.variable} needs ${settings.databaseUrl.variable}: ClickHouse takes over events that PostgreSQL has recorded`,
    );
  if (values.backupMode === "continuous" && !texts.has(settings.backupTo.variable))
    mistakes.push(
      `${settings.backupTo.variable} must be set, because ${settings.backupMode.variable} is continuous`,
    );
  return { config: mistakes.length > 0 ? null : (values as Config), mistakes, inForce };
}

/** Reads every setting. Throws a ConfigError that lists all mistakes. */
export function readConfig(environment: Record<string, string | undefined> = process.env): Config {
  const { config, mistakes } = inspectConfig(environment);
  if (!config) throw new ConfigError(mistakes);
  return config;
}

/** The API key of commands with `--url`. It is no setting of the server. */
export function commandApiKey(
  environment: Record<string, string | undefined> = process.env,
): string | undefined {
  return environment.TIDINGS_API_KEY || undefined;
}

export const version: string = manifest.version;
