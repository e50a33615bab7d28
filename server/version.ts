import manifest from "../package.json";

/** The program's version, as in its package.json. */
export const version: string = manifest.version;
