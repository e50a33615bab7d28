import { CodeBlock } from "../components/ui/code-block.tsx";

/** The element that counts page views, for the `<head>` of each page. */
export function websiteLine(apiKey: string): string {
  return `<script defer src="${location.origin}/t.js" data-key="${apiKey}"></script>`;
}

/** Says how to count the visits of a website. */
export function WebsiteLine() {
  return (
    <section aria-label="Count the visits of a website" className="mt-4 flex flex-col gap-3">
      <h2 className="font-semibold text-sm">Count the visits of a website</h2>
      <p className="text-muted text-sm">
        Create a publishable key, and paste this line with it into your pages. The board “Website” appears
        with the first page view. There are no cookies, and{" "}
        <a href="/docs/website" target="_blank" rel="noreferrer" className="underline">
          attributes for everything else
        </a>
        .
      </p>
      <CodeBlock
        label="Paste this into the head of each page"
        code={websiteLine("YOUR_PUBLISHABLE_KEY")}
        copyLabel="Copy line"
      />
    </section>
  );
}
