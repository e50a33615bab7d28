import { existsSync, readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { nearest } from "../validation/nearest.ts";

type Environment = Record<string, string | undefined>;

/** A setting's name in each source. */
export type SettingName = { variable: string; isSecret: boolean };

/** A setting's text, and where it is from, such as "environment" or the path of a file. */
export type SourcedText = { text: string; source: string };

const settingsFileVariable = "TIDINGS_CONFIG";
/**
 * Variables that are not the server's settings: of commands (config.ts), of clients in the documentation, and of
 * builds.
 */
const otherVariables = ["TIDINGS_API_KEY", "TIDINGS_WEBHOOK_SECRET", "TIDINGS_COMMIT"];
const defaultSettingsFile = "tidings.toml";

/** The name of a setting in the settings file: `url` for `TIDINGS_URL`, `smtp_url` for `SMTP_URL`. */
function fileKey(variable: string): string {
  return variable.replace(/^TIDINGS_/, "").toLowerCase();
}

/**
 * Collects the texts of settings by variable. An environment variable comes before a secret's file (`SMTP_URL_FILE`),
 * and that before the settings file. An empty variable counts as not set, as in most compose files.
 *
 * @param mistakes - gets what is wrong with the sources
 */
export function settingTexts(
  settings: SettingName[],
  environment: Environment,
  mistakes: string[],
): Map<string, SourcedText> {
  mistakes.push(...unknownVariables(settings, environment));
  const texts = fromSettingsFile(settings, environment, mistakes);
  for (const { variable, isSecret } of settings) {
    const file = isSecret ? environment[`${variable}_FILE`] : "";
    const text = environment[variable];
    if (file && text) {
      mistakes.push(`${variable} and ${variable}_FILE are both set; set one of them`);
    } else if (text) {
      texts.set(variable, { text, source: "environment" });
    } else if (file) {
      readSecret(variable, file, `${variable}_FILE`, mistakes, texts);
    }
  }
  return texts;
}

/**
 * Variables that Kubernetes and Docker set in a container beside a service called Tidings, such as
 * `TIDINGS_PORT_4242_TCP_ADDR` (https://kubernetes.io/docs/tutorials/services/connect-applications-service/).
 */
const ofService = /_SERVICE_(?:HOST|PORT)(?:_|$)|_PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:ADDR|PORT|PROTO))?$/;
const ofLinkedPort = /^(?:tcp|udp|sctp):\/\//;

/** Warnings about variables that begin like settings and are none. */
function unknownVariables(settings: SettingName[], environment: Environment): string[] {
  const known = new Set([settingsFileVariable, ...otherVariables]);
  for (const { variable, isSecret } of settings) {
    known.add(variable);
    if (isSecret) known.add(`${variable}_FILE`);
  }
  // Compared without the prefix, because some settings have none, such as PORT.
  const byKey = new Map([...known].map((variable) => [fileKey(variable), variable]));
  return Object.entries(environment).flatMap(([variable, text]) => {
    if (!variable.startsWith("TIDINGS_") || known.has(variable) || !text) return [];
    if (variable.startsWith("TIDINGS_TEST_") || ofService.test(variable) || ofLinkedPort.test(text))
      return [];
    const ofFile = variable.replace(/_FILE$/, "");
    if (ofFile !== variable && known.has(ofFile))
      return [`There is no setting ${variable}; set ${ofFile}, because only secrets are read from files`];
    const suggestion = nearest(fileKey(variable), byKey.keys());
    const advice = suggestion === null ? "" : `; did you mean ${byKey.get(suggestion)}?`;
    return [`There is no setting ${variable}${advice}`];
  });
}

/** @param named - what names the file, for messages */
function readSecret(
  variable: string,
  file: string,
  named: string,
  mistakes: string[],
  texts: Map<string, SourcedText>,
): void {
  try {
    // Editors and `echo` end a file with a line break.
    const secret = readFileSync(file, "utf8").replace(/\r?\n$/, "");
    if (secret === "") mistakes.push(`${named} must name a file with the secret, and ${file} is empty`);
    else texts.set(variable, { text: secret, source: resolve(file) });
  } catch (error) {
    mistakes.push(`${named} must name a readable file (${(error as Error).message})`);
  }
}

/** Reads `tidings.toml` in the working directory, if it exists, or the file that `TIDINGS_CONFIG` names. */
function fromSettingsFile(settings: SettingName[], environment: Environment, mistakes: string[]) {
  const texts = new Map<string, SourcedText>();
  const named = environment[settingsFileVariable];
  const file = resolve(named || defaultSettingsFile);
  if (!named && !existsSync(file)) return texts;
  let table: Record<string, unknown>;
  try {
    table = Bun.TOML.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
  } catch (error) {
    mistakes.push(
      error instanceof SyntaxError
        ? `${file} must be TOML (https://toml.io): ${error.message.replace(/^TOML Parse error: /, "")}`
        : `${settingsFileVariable} must name a readable file (${(error as Error).message})`,
    );
    return texts;
  }
  const variables = new Map(settings.map(({ variable }) => [fileKey(variable), variable]));
  const secretFiles = new Map(
    settings.flatMap(({ variable, isSecret }) => (isSecret ? [[`${fileKey(variable)}_file`, variable]] : [])),
  );
  for (const [key, value] of Object.entries(table)) {
    const variable = variables.get(key);
    const text = textOf(value);
    const secret = secretFiles.get(key);
    if (secret !== undefined && text) {
      if (table[fileKey(secret)])
        mistakes.push(`${file}: "${key}" and "${fileKey(secret)}" are both set; set one of them`);
      else readSecret(secret, resolve(dirname(file), text), `${file}: "${key}"`, mistakes, texts);
    } else if (secret !== undefined) {
      if (text === null) mistakes.push(`${file}: "${key}" must be the path of a file`);
    } else if (variable === undefined) {
      const suggestion = nearest(key, [...variables.keys()]);
      mistakes.push(
        `${file}: there is no setting "${key}"${suggestion ? `; did you mean "${suggestion}"?` : ""}`,
      );
    } else if (text === null) {
      mistakes.push(`${file}: "${key}" must be a text, a number, true, false, or a list of texts`);
    } else if (text !== "") {
      texts.set(variable, { text, source: file });
    }
  }
  return texts;
}

/** The text of a value as the environment would have it; null if it can't have it. */
function textOf(value: unknown): string | null {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const isList = Array.isArray(value) && value.every((entry) => typeof entry === "string");
  return isList ? value.join(",") : null;
}
