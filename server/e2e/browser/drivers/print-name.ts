/** Starts the browser that the environment names, and prints its name and version. */
import { openBrowser } from "./browser.ts";

const browser = await openBrowser();
console.log(browser.name);
await browser.close();
