import { readFileSync } from "node:fs";
import { join } from "node:path";

const dashboardStyles = join(import.meta.dir, "../dashboard/styles.css");

/** Returns the site's style sheet: the dashboard's colors, which are declared there, its font, and `docs.css`. */
export function siteStyles(ownStyles: string, font: string): string {
  const styles = readFileSync(dashboardStyles, "utf8");
  const light = blockOf(styles, ":root");
  const dark = blockOf(styles, ".dark");
  return `@font-face{font-family:"Hanken Grotesk";font-display:swap;font-weight:400 600;src:url("/assets/${font}") format("woff2")}
:root{${light}}
.dark{${dark}}
/* Without scripts, nothing sets the class. */
@media (scripting: none) and (prefers-color-scheme: dark){:root{${dark}}}
${ownStyles}`;
}

function blockOf(styles: string, selector: string): string {
  const start = styles.indexOf(`\n${selector} {`);
  if (start < 0) throw new Error(`dashboard/styles.css has no block ${selector}.`);
  return styles.slice(styles.indexOf("{", start) + 1, styles.indexOf("}", start));
}
