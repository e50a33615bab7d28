import { readFileSync } from "node:fs";
import { getTimezone } from "countries-and-timezones";
import { type CountryResponse, Reader } from "mmdb-lib";

/** Finds the country of a visitor: two letters (ISO 3166-1), or undefined. */
export type CountryLookup = (
  address: string | null,
  page: { timeZone?: string | undefined; language?: string | undefined },
) => string | undefined;

/**
 * Finds countries in a database of addresses, if there is one, and else by the time zone of the browser. Nearly all time
 * zones belong to one country; of several, the language's region decides, and otherwise the first one.
 *
 * Throws if the database can't be read.
 *
 * @param databaseFile - in MaxMind's format. It is read once, and stays in memory
 */
export function countryLookup(databaseFile: string | null): CountryLookup {
  const database = databaseFile === null ? null : openDatabase(databaseFile);
  return (address, { timeZone, language }) =>
    (address === null ? undefined : database?.get(address)?.country?.iso_code) ??
    countryOfTimeZone(timeZone, language);
}

function openDatabase(file: string): Reader<CountryResponse> {
  try {
    return new Reader<CountryResponse>(readFileSync(file));
  } catch (cause) {
    throw new Error(
      `TIDINGS_COUNTRY_DATABASE: ${file} is no database in MaxMind's format. Download it again, or unset it.`,
      { cause },
    );
  }
}

function countryOfTimeZone(timeZone: string | undefined, language = ""): string | undefined {
  const countries: string[] = (timeZone && getTimezone(timeZone)?.countries) || [];
  const region = /-([A-Z]{2})$/.exec(language)?.[1];
  return countries.find((country) => country === region) ?? countries[0];
}
