import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import nginx from "highlight.js/lib/languages/nginx";
import php from "highlight.js/lib/languages/php";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { escapeHtml } from "./html.ts";

const languages = {
  ...{ bash, go, ini, javascript, json, nginx, php, python, ruby, sql, typescript, xml, yaml },
};
for (const [name, language] of Object.entries(languages)) hljs.registerLanguage(name, language);

/** Returns code as HTML. Its colors are classes, because the pages' policy allows no inline styles. */
export function highlight(code: string, language: string | undefined): string {
  const known = language && hljs.getLanguage(language);
  const html = known ? hljs.highlight(code, { language }).value : escapeHtml(code);
  // A region that scrolls needs the keyboard too. The button that copies it is added by `browser/docs.ts`.
  return `<div class="code"><pre tabindex="0"><code>${html}</code></pre></div>\n`;
}
