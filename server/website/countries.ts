import { readFileSync } from "node:fs";
import { isIPv4 } from "node:net";
import { getTimezone } from "countries-and-timezones";
import { type CountryResponse, Reader } from "mmdb-lib";

/** Finds the country of a visitor: two letters (ISO 3166-1), or undefined. */
export type CountryLookup = (address: string | null, timeZone: string | undefined) => string | undefined;

/**
 * Finds countries in a database of addresses, if there is one, and else by the time zone of the browser. A zone that
 * several countries share is listed with the one that it is named after first. The browser's language says less: many
 * people in Switzerland have a German one.
 *
 * Throws if the database can't be read.
 *
 * @param databaseFile - in MaxMind's format. It is read once, and stays in memory
 */
export function countryLookup(databaseFile: string | null): CountryLookup {
  const database = databaseFile === null ? null : openDatabase(databaseFile);
  // Of IPv4 only, it would take the first half of an address of IPv6 for one.
  const hasAll = database?.metadata.ipVersion !== 4;
  return (address, timeZone) =>
    (address !== null && (hasAll || isIPv4(address))
      ? database?.get(address)?.country?.iso_code
      : undefined) ?? countryOfTimeZone(timeZone);
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

function countryOfTimeZone(timeZone: string | undefined): string | undefined {
  // The library looks names up in an object, which finds its "constructor" too.
  return timeZone?.includes("/") ? getTimezone(timeZone)?.countries[0] : undefined;
}
