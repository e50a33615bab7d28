// @long
/** The script of web pages in Firefox, and with `npm run test:browsers` in WebKit too. */
import { test } from "bun:test";
import { findFirefox } from "../e2e/browser/drivers/browser.ts";
import { openFirefox } from "../e2e/browser/drivers/firefox.ts";
import { openWebKit } from "../e2e/browser/drivers/webkit.ts";
import { describeScript } from "../testing/script-scenarios.ts";

const { TIDINGS_TEST_WEBKIT: webKit } = process.env;
const firefox = webKit ? null : findFirefox();

if (webKit) describeScript("WebKit", () => openWebKit(webKit));
else if (firefox) describeScript("Firefox", () => openFirefox(firefox));
else {
  console.log(
    "Skipped: the script of web pages in Firefox, which isn't there (apt-get install firefox-esr).",
  );
  test.skip("Firefox", () => {});
}
