/**
 * The settings that only proxies use, for the audit log: URLs are reduced to their origin, and
 * secrets to a mark that shows whether they changed. The daemon describes the other settings itself
 * (`limiterd/audit/describe-settings.ts`).
 */
import { isAbsent, isObject } from "../../shared/checked.js";
import type { Config, PriceConfig, ProviderConfig } from "../../shared/config/config.js";
import { isDaemonSetting } from "../../shared/config/daemon-config.js";
import {
  changeSettings,
  priceSettings,
  tierSettings,
} from "../../shared/config/settings/price-settings.js";
import { utf8Bytes } from "../../shared/text/utf8-bytes.js";
import {
  everyPrefix,
  reportedSettingsBytesMax,
  type ShownSetting,
} from "../../shared/wire/settings-report.js";

/** A field with longer JSON is shortened. */
const fieldCharsMax = 1_000;
const nameCharsMax = 300;
/** The bytes of an entry in the frame, in addition to its texts. */
const entryBytes = 16;

/** A setting with its secrets as JSON, from which the mark is made; null if it has none. */
interface Entry extends Pick<ShownSetting, "name" | "value"> {
  readonly secrets: string | null;
}

/** A short digest (`shared/secret-mark.ts`). */
type MarkOf = (secret: string) => string;

/** Names are unique. Secrets from files are those that `withSecrets` has read. */
export function shownProxySettings(config: Config, markOf: MarkOf): readonly ShownSetting[] {
  const kinds: Readonly<Record<string, readonly Entry[]>> = {
    setting: scalarEntries(config),
    issuer: config.jwtIssuers.map((issuer) => {
      const { keys, userPath, models, modelsClaim, audience, algorithms } = issuer;
      const source =
        keys.kind === "url"
          ? originOf(keys.url)
          : keys.kind === "secret"
            ? "secret"
            : `file ${keys.path}`;
      const fields = { audience, algorithms, keys: source, user_path: userPath, models };
      const secrets = [issuer.issuer, keys.kind === "file" ? null : keys];
      return entryOf(pageOf(issuer.issuer), { ...fields, models_claim: modelsClaim }, secrets);
    }),
    provider: config.providers.map(providerEntry),
    "mcp server": config.mcpServers.map(providerEntry),
    "virtual model": config.virtualModels.map(({ source, ...fields }) => entryOf(source, fields)),
    alias: config.aliases.map(({ name, to: { kind: _, ...to } }) => entryOf(name, to)),
    rewriters: [entryOf("", { rewriters: config.rewriters })],
    price: config.prices.map((price) =>
      entryOf(price.model === null ? price.provider : `${price.provider}/${price.model}`, {
        extends: price.extends,
        ...shownRates(price.fields),
        tiers: price.tiers.map(shownRates),
        changes: price.changes.map(shownRates),
      }),
    ),
  };
  return fitIntoFrame(
    Object.entries(kinds).map(([kind, entries]) => [
      kind,
      uniquelyNamed(
        entries.map(({ name, value, secrets }) => ({
          name: `${kind} ${name}`.trim().slice(0, nameCharsMax),
          value,
          mark: secrets === null ? "" : markOf(secrets),
        })),
      ),
    ]),
    markOf,
  );
}

function scalarEntries(config: Config): Entry[] {
  const { server, metrics, tracing, webSearch, oidc } = config;
  /** The full values of settings that are shown without their secrets. */
  const secrets: Readonly<Record<string, unknown>> = {
    "server.master_key": server.masterKey,
    "server.public_url": server.publicUrl,
    "metrics.token": metrics.token,
    "tracing.headers": [tracing.headers, tracing.spanHeaders],
    "tracing.endpoint": tracing.endpoint,
    "tools.web_search.api_key": webSearch?.apiKey,
    "tools.web_search.base_url": [webSearch?.baseUrl, webSearch?.proxy],
    "admin.oidc.client_secret": oidc?.clientSecret,
    "admin.oidc.issuer": oidc?.issuer,
    "admin.oidc.redirect_url": oidc?.redirectUrl,
  };
  return config.settings
    .filter(({ path }) => !isDaemonSetting(path))
    .map(({ path, value, unit, source }) => {
      const shown = value.split(", ").map(originOf).join(", ");
      const text = unit === null ? shown : `${shown} ${unit}`;
      const hidden = path in secrets ? secrets[path] : shown === value ? undefined : value;
      return {
        name: path,
        value: source === "flag" ? null : shortenedValue(text),
        secrets: jsonOf([hidden, text.length > fieldCharsMax ? text : null]),
      };
    });
}

/** Fields that follow from the provider's type and host, or that the daemon has. */
type LeftOut = "name" | "chat" | "responses";

/** Lists every field by name, so that a new one can't reveal a secret. */
function providerEntry(provider: ProviderConfig): Entry {
  const { baseUrl, proxy, apiKey, apiKeys, apiKeyCommand, headers, perModel } = provider;
  const fields: Readonly<Record<Exclude<keyof ProviderConfig, LeftOut>, unknown>> = {
    type: provider.type,
    baseUrl: originOf(baseUrl),
    models: provider.models,
    operations: [...provider.operations].sort(),
    apiKey: apiKey === null ? null : "set",
    apiKeys: apiKeys?.map(({ weight, name }) => ({ weight, name })),
    apiKeyFile: provider.apiKeyFile,
    apiKeyCommand: apiKeyCommand === null ? null : "set",
    credentialHeader: provider.credentialHeader,
    headers: headers.filter((_, i) => i % 2 === 0),
    headerFiles: provider.headerFiles,
    account: provider.account,
    apiVersion: provider.apiVersion,
    modelTraits: provider.modelTraits,
    perModel: perModel.map(({ set, defaults, ...rest }) => ({
      ...rest,
      set: set.map(({ name }) => name),
      defaults: defaults.map(({ name }) => name),
    })),
    translation: provider.translation,
    nativeRequests: provider.nativeRequests,
    cache: provider.cache,
    maxTokensDefault: provider.maxTokensDefault,
    passthrough: provider.passthrough,
    forwardHeaders: provider.forwardHeaders,
    connectTimeoutMs: provider.connectTimeoutMs,
    firstByteTimeoutMs: provider.firstByteTimeoutMs,
    idleTimeoutMs: provider.idleTimeoutMs,
    keepAliveMs: provider.keepAliveMs,
    connectionsMax: provider.connectionsMax,
    proxy: proxy === null ? null : originOf(proxy),
    proxyFile: provider.proxyFile,
    caFile: provider.caFile,
    retries: provider.retries,
    retryWaitMaxMs: provider.retryWaitMaxMs,
    breakerFailures: provider.breakerFailures,
    breakerOpenMs: provider.breakerOpenMs,
    upstreamLimits: provider.upstreamLimits,
  };
  const secrets = [baseUrl, proxy, apiKey, apiKeys, apiKeyCommand, headers, perModel];
  return entryOf(provider.name, fields, secrets);
}

/**
 * The rates in the units of the file: dollars per million tokens, dollars per unit, and factors.
 */
function shownRates(
  fields: Readonly<PriceConfig["fields"] | PriceConfig["tiers"][0] | PriceConfig["changes"][0]>,
): object {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, scaledValue(value, scaleOf(name))]),
  );
}

const priceFields: Readonly<Record<string, { readonly kind: { readonly scale?: number } }>> = {
  ...priceSettings,
  ...tierSettings,
  ...changeSettings,
};

function scaleOf(name: string): number {
  return priceFields[name]?.kind.scale ?? 1;
}

function scaledValue(value: unknown, scale: number): unknown {
  if (typeof value === "number") return value / scale;
  if (Array.isArray(value)) return value.map((item: unknown) => scaledValue(item, scale));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      name.endsWith("Minute") ? member : scaledValue(member, scale),
    ]),
  );
}

/** An entry without unset fields. */
function entryOf(
  name: string,
  fields: Readonly<Record<string, unknown>>,
  secrets: readonly unknown[] = [],
): Entry {
  const set = Object.entries(fields).filter(
    ([, value]) => !isAbsent(value) && !(Array.isArray(value) && value.length === 0),
  );
  const long = set.filter(([, value]) => JSON.stringify(value).length > fieldCharsMax);
  return {
    name,
    value: Object.fromEntries(
      set.map(([field, value]) => [snakeCase(field), shortenedValue(value)]),
    ),
    secrets: jsonOf([...secrets, ...long]),
  };
}

function shortenedValue(value: unknown): unknown {
  const { length } = JSON.stringify(value);
  return length > fieldCharsMax ? `(${length} characters)` : value;
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function jsonOf(secrets: readonly unknown[]): string | null {
  return secrets.every(isAbsent) ? null : JSON.stringify(secrets);
}

const isWeb = /^https?:\/\//i;

/** The origin of a web address; any other text unchanged. */
function originOf(text: string): string {
  if (!isWeb.test(text)) return text;
  return URL.canParse(text) ? new URL(text).origin : "set";
}

/** A web address without user, password, query and fragment. */
function pageOf(text: string): string {
  if (!isWeb.test(text) || !URL.canParse(text)) return originOf(text);
  const { origin, pathname } = new URL(text);
  return origin + pathname;
}

/** Makes names unique, since two may be equal after their secrets are removed. */
function uniquelyNamed(entries: readonly ShownSetting[]): readonly ShownSetting[] {
  const counts = new Map<string, number>();
  return entries.map(({ name, ...rest }) => {
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    return { name: count === 1 ? name : `${name} (${count})`, ...rest };
  });
}

type EntriesOfKind = readonly [kind: string, entries: readonly ShownSetting[]];

/** Replaces the largest kinds by the number of their entries, until all fit into a frame. */
function fitIntoFrame(kinds: readonly EntriesOfKind[], markOf: MarkOf): readonly ShownSetting[] {
  const sized = kinds.map(([kind, entries]) => ({ kind, entries, bytes: bytesOf(entries) }));
  let total = sized.reduce((sum, { bytes }) => sum + bytes, 0);
  const counted = new Set<string>();
  for (const { kind, bytes } of [...sized].sort((a, b) => b.bytes - a.bytes)) {
    if (total <= reportedSettingsBytesMax) break;
    counted.add(kind);
    total -= bytes;
  }
  return sized.flatMap(({ kind, entries }) =>
    counted.has(kind)
      ? [
          {
            name: everyPrefix + kind,
            value: { entries: entries.length },
            mark: markOf(JSON.stringify(entries)),
          },
        ]
      : entries,
  );
}

function bytesOf(entries: readonly ShownSetting[]): number {
  return entries.reduce(
    (sum, { name, value, mark }) =>
      sum + utf8Bytes(name) + utf8Bytes(JSON.stringify(value)) + mark.length + entryBytes,
    0,
  );
}
