import GithubSlugger from "github-slugger";
import { type Description, exampleOf, type Operation } from "./api-description.ts";
import { highlight } from "./highlight.ts";
import { escapeHtml } from "./html.ts";
import type { SitePage } from "./layout.ts";
import type { Heading } from "./pages.ts";
import { headingHtml, renderText } from "./render-page.ts";
import { fieldTable, schemaTable, typeOf } from "./schema-table.ts";

/** Returns a page for each tag of the API description, with its operations. */
export function referencePages(description: Description): SitePage[] {
  const operations = Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  const byTag = Map.groupBy(operations, ({ operation }) => operation.tags[0]);
  const slugger = new GithubSlugger();
  return description.tags.map(({ name: tag, description: about }) => {
    const ofTag = byTag.get(tag) ?? [];
    const ids = new GithubSlugger();
    const described = ofTag.map((each) => ({ ...each, id: ids.slug(each.operation.summary) }));
    const list = described.map(
      ({ id, method, path, operation }) =>
        `<li><a href="#${id}">${methodHtml(method)} <code>${escapeHtml(path)}</code></a> ${escapeHtml(operation.summary)}</li>`,
    );
    const intro = `<p>${escapeHtml(about)} This page is made from <a href="/openapi.json">openapi.json</a>. <a href="/docs/api">The guide</a> covers keys, errors and limits.</p>\n`;
    return {
      slug: `api/${slugger.slug(tag)}`,
      title: tag,
      headings: described.map(({ id, operation }): Heading => ({ id, text: operation.summary, depth: 2 })),
      html: `<h1>${escapeHtml(tag)}</h1>\n${intro}<ul class="operations">${list.join("")}</ul>\n${described
        .map(({ id, method, path, operation }) => operationHtml(id, method, path, operation, description))
        .join("")}`,
      sections: [
        {
          id: "",
          title: tag,
          text: `API reference: ${ofTag.map((each) => each.operation.summary).join(", ")}.`,
        },
        ...described.map(({ id, method, path, operation }) => ({
          id,
          title: operation.summary,
          text: `${method} ${path} ${operation.description ?? ""} ${(operation.parameters ?? [])
            .map(({ name }) => name)
            .join(" ")}`,
        })),
      ],
    };
  });
}

function operationHtml(
  id: string,
  method: string,
  path: string,
  operation: Operation,
  description: Description,
): string {
  const { parameters = [], requestBody, responses } = operation;
  const body = requestBody && Object.values(requestBody.content)[0]!.schema;
  const rows = parameters.map(({ name, in: place, required, schema, description: text }) => ({
    name: place === "path" ? `{${name}}` : name,
    type: typeOf(schema, description),
    isRequired: required ?? false,
    description: text ?? schema.description ?? "",
  }));
  const successes = Object.entries(responses).filter(([status]) => status.startsWith("2"));
  // Those of an operation have the same schema.
  const statuses = successes.map(([status]) => status).join(", ");
  const problems = Object.keys(responses).filter((status) => !status.startsWith("2"));
  return [
    headingHtml(id, 2, escapeHtml(operation.summary)),
    `<p class="route">${methodHtml(method)} <code>${escapeHtml(path)}</code></p>\n`,
    operation.deprecated ? "<p><strong>Deprecated.</strong> It still works, but may be removed.</p>\n" : "",
    renderText(operation.description ?? ""),
    highlight(curlExample(method, path, operation, description), "bash"),
    rows.length > 0 ? `<h3>Parameters</h3>\n${fieldTable("parameter", rows)}` : "",
    body
      ? `<h3>Body${requestBody.required ? "" : " (optional)"}</h3>\n${schemaTable(body, description)}`
      : "",
    ...successes.slice(0, 1).map(([, { content = {} }]) => {
      const [type, media] = Object.entries(content)[0] ?? [];
      if (!media) return `<h3>Response ${statuses}</h3>\n`;
      return `<details><summary>Response ${statuses} <code>${escapeHtml(type!)}</code></summary>\n${schemaTable(media.schema, description)}</details>\n`;
    }),
    problems.length > 0
      ? `<p class="problems">Problems: ${problems.map((status) => `<code>${status}</code>`).join(", ")} (<a href="/docs/api#errors">errors</a>)</p>\n`
      : "",
  ].join("");
}

/** Returns a command that calls an operation, with what it requires. */
function curlExample(method: string, path: string, operation: Operation, description: Description): string {
  const { parameters = [], requestBody, security = [] } = operation;
  const required = parameters
    .filter((parameter) => parameter.in === "query" && parameter.required)
    .map(({ name, schema }) => `${name}=${encodeURIComponent(String(exampleOf(schema, description)))}`);
  const query = required.length > 0 ? `?${required.join("&")}` : "";
  const url = `http://localhost:4242${path.replace(/\{(\w+)\}/g, (_, name: string) => `$${name.toUpperCase()}`)}${query}`;
  const takesKey = security.some((scheme) => "apiKey" in scheme);
  const credentials = takesKey
    ? ['-H "x-api-key: $TIDINGS_API_KEY"']
    : security.length > 0
      ? [
          '-H "cookie: tidings.session_token=$SESSION"',
          // A session works only for requests of the dashboard's own pages.
          ...(method === "GET" ? [] : ['-H "origin: http://localhost:4242"']),
        ]
      : [];
  const body = requestBody && Object.values(requestBody.content)[0]!.schema;
  const json = body && JSON.stringify(exampleOf(body, description)).replaceAll("'", "'\\''");
  const verb = method === "GET" || (method === "POST" && body) ? "" : `-X ${method} `;
  return [
    `curl --fail-with-body ${verb}"${url}"`,
    ...credentials,
    ...(json ? ['-H "content-type: application/json"', `-d '${json}'`] : []),
  ].join(" \\\n  ");
}

function methodHtml(method: string): string {
  return `<span class="method ${method.toLowerCase()}">${method}</span>`;
}
