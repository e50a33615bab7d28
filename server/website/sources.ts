/** Where a visit comes from. */
export type Source = {
  /** A name such as "Google", a host, or what the campaign says; undefined for pages of the site itself. */
  source: string | undefined;
  /** Host of the page before, if it is of another site. */
  referrer: string | undefined;
  /** `utm_source` and the like. */
  campaign: Record<string, string>;
};

/** The parameters of campaigns, which all tools for web analytics know. */
const campaignParameters = ["utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content"];
/** Other parameters with the source, as newsletters and directories add. */
const sourceParameters = ["utm_source", "ref", "source"];

/** Names of sites with many hosts. */
const names: [host: RegExp, name: string][] = [
  [/(?:^|\.)google\.[a-z.]{2,6}$/, "Google"],
  [/(?:^|\.)bing\.com$/, "Bing"],
  [/(?:^|\.)duckduckgo\.com$/, "DuckDuckGo"],
  [/(?:^|\.)yahoo\.[a-z.]{2,6}$/, "Yahoo"],
  [/(?:^|\.)yandex\.[a-z.]{2,6}$/, "Yandex"],
  [/(?:^|\.)baidu\.com$/, "Baidu"],
  [/(?:^|\.)ecosia\.org$/, "Ecosia"],
  [/(?:^|\.)(?:search\.)?brave\.com$/, "Brave"],
  [/(?:^|\.)(?:facebook\.com|fb\.me)$/, "Facebook"],
  [/(?:^|\.)instagram\.com$/, "Instagram"],
  [/(?:^|\.)(?:linkedin\.com|lnkd\.in)$/, "LinkedIn"],
  [/(?:^|\.)(?:twitter\.com|x\.com|t\.co)$/, "X"],
  [/(?:^|\.)reddit\.com$/, "Reddit"],
  [/(?:^|\.)(?:youtube\.com|youtu\.be)$/, "YouTube"],
  [/(?:^|\.)github\.com$/, "GitHub"],
  [/(?:^|\.)pinterest\.[a-z.]{2,6}$/, "Pinterest"],
  [/(?:^|\.)(?:chatgpt\.com|chat\.openai\.com)$/, "ChatGPT"],
  [/(?:^|\.)perplexity\.ai$/, "Perplexity"],
  [/^news\.ycombinator\.com$/, "Hacker News"],
];

/** Reads the source from a page's address and the one before. */
export function sourceOf(page: URL, referrer: string | undefined): Source {
  const host = referrer ? URL.parse(referrer)?.hostname : undefined;
  const other = host && withoutWww(host) !== withoutWww(page.hostname) ? withoutWww(host) : undefined;
  const campaign: Record<string, string> = {};
  for (const parameter of campaignParameters) {
    const value = page.searchParams.get(parameter);
    if (value) campaign[parameter] = value;
  }
  const said = sourceParameters.map((parameter) => page.searchParams.get(parameter)).find(Boolean);
  return { source: said ?? (other && nameOf(other)), referrer: other, campaign };
}

function nameOf(host: string): string {
  return names.find(([pattern]) => pattern.test(host))?.[1] ?? host;
}

function withoutWww(host: string): string {
  return host.replace(/^www\./, "");
}
