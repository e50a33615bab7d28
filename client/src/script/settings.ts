/** What a script element's attributes say: https://tidings.example.com/docs/website. */
export type Settings = {
  key: string;
  channel: string | undefined;
  /** Where events are sent: the script's own address without `.js`, unless `data-endpoint` names another. */
  endpoint: string;
  /** Whether a feature is on, by its attribute. */
  isOn: (feature: string, byDefault?: boolean) => boolean;
  /** Whether an attribute is there. */
  has: (attribute: string) => boolean;
};

export function readSettings({ dataset, src }: HTMLScriptElement): Settings {
  const has = (attribute: string) => dataset[attribute] !== undefined;
  return {
    key: dataset.key ?? "",
    channel: dataset.channel,
    // Without the hash of a version as well: /t/0123abcd.js sends to /t.
    endpoint: dataset.endpoint ?? src.replace(/(\/\w{16})?\.js.*/, ""),
    isOn: (feature, byDefault = true) => (has(feature) ? dataset[feature] !== "off" : byDefault),
    has,
  };
}
