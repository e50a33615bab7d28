const rules = new Intl.PluralRules("en");

/** A number with its noun: "1 event", "1,204 events". The plural of an irregular noun is given. */
export function countOf(count: number, one: string, other = `${one}s`): string {
  return `${count.toLocaleString("en")} ${rules.select(count) === "one" ? one : other}`;
}
