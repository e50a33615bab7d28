/** What a script element's attributes say: https://tidings.example.com/docs/website. */
export type Settings = {
  key: string | undefined;
  channel: string | undefined;
  /** Where events are sent: the script's own address without `.js`, unless `data-endpoint` names another. */
  endpoint: string;
  /** Whether a feature is on, by its attribute. */
  isOn: (feature: string, byDefault?: boolean) => boolean;
  /** Whether an attribute is there. */
  has: (attribute: string) => boolean;
};

/** The address that a script sends to: its own without `.js`, and without the hash of a version in /t/0123456789abcdef.js. */
export function endpointOf(src: string): string {
  return src.replace(/(\/t|\/s\/[^/]+)\/\w{16}\.js$|\.js(\?.*)?$/, "$1");
}

export function readSettings({ dataset, src }: HTMLScriptElement): Settings {
  const has = (attribute: string) => dataset[attribute] !== undefined;
  return {
    key: dataset.key,
    channel: dataset.channel,
    endpoint: dataset.endpoint ?? endpointOf(src),
    isOn: (feature, byDefault = true) => (has(feature) ? dataset[feature] !== "off" : byDefault),
    has,
  };
}
