import { describe, expect, test } from "bun:test";
import { resolve } from "node:path";
import { ConfigError, readConfig } from "./config.ts";

test("without settings there is a default for each", () => {
  expect(readConfig({})).toEqual({
    port: 4242,
    host: "0.0.0.0",
    dataDirectory: resolve("data"),
    url: null,
    smtpUrl: null,
    emailFrom: "Tidings <tidings@localhost>",
    allowPrivateAddresses: false,
    refusedEvents: 1_000,
    refusedDays: 7,
    logLevel: "info",
  });
});

test("an empty variable is one that is not set", () => {
  expect(readConfig({ PORT: "", TIDINGS_URL: "", SMTP_URL: "", TIDINGS_LOG: "" })).toEqual(readConfig({}));
});

test("all mistakes are told together, each with its variable and what it is", () => {
  const wrong = {
    PORT: "http",
    HOST: " ",
    TIDINGS_DATA: " ",
    TIDINGS_URL: "example.com",
    SMTP_URL: "mail.example.com",
    SMTP_FROM: " ",
    TIDINGS_ALLOW_PRIVATE_ADDRESSES: "yes",
    TIDINGS_LOG: "loud",
  };
  let message = "";
  try {
    readConfig(wrong);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    message = (error as Error).message;
  }
  for (const [variable, value] of Object.entries(wrong)) {
    expect(message).toMatch(new RegExp(`- ${variable} must .*, and is ${JSON.stringify(value)}`));
  }
});

describe("a setting", () => {
  const refused: [variable: string, value: string][] = [
    ["PORT", "-1"],
    ["PORT", "65536"],
    ["PORT", "80.5"],
    ["PORT", "0x50"],
    ["TIDINGS_URL", "ftp://example.com"],
    ["TIDINGS_URL", "https://example.com/tidings"],
    ["TIDINGS_URL", "https://example.com/?a=b"],
    ["SMTP_URL", "https://mail.example.com"],
    ["TIDINGS_ALLOW_PRIVATE_ADDRESSES", "TRUE"],
  ];
  for (const [variable, value] of refused) {
    test(`${variable}=${value} is refused`, () =>
      expect(() => readConfig({ [variable]: value })).toThrow(variable));
  }

  test("of a public address loses its trailing slash", () => {
    expect(readConfig({ TIDINGS_URL: "https://Tidings.example.com/" }).url).toBe(
      "https://tidings.example.com",
    );
    expect(readConfig({ TIDINGS_URL: "http://localhost:8080" }).url).toBe("http://localhost:8080");
  });
});
