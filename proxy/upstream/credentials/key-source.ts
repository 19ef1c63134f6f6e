/**
 * The source of a provider's keys: the configuration; a file, which is read again every few seconds
 * because Kubernetes replaces it; or a command, which runs again before the key expires, never
 * during a request.
 */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { isObject, parseJson } from "../../../shared/checked.js";
import type { ProviderConfig } from "../../../shared/config/config.js";
import type { WeightedKey } from "../../../shared/config/provider-type.js";
import {
  keyCommandMs,
  keyFileMs,
  keyRenewalMs,
  keyRetryMs,
  keyTextBytesMax,
} from "../../bounds.js";
import { ProviderKeys } from "./provider-keys.js";

interface KeySource {
  readonly keys: ProviderKeys;
  /** Resolves after the first attempt to read the keys, whether it succeeded or not. */
  readonly ready: Promise<void>;
  close(): void;
}

interface KeyLog {
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
}

type ConfiguredKeys = Pick<
  ProviderConfig,
  "name" | "apiKey" | "apiKeys" | "apiKeyFile" | "apiKeyCommand"
>;

export function openKeySource(
  { name, apiKey, apiKeys, apiKeyFile, apiKeyCommand }: ConfiguredKeys,
  { log, monoMs }: { readonly log: KeyLog; readonly monoMs: () => number },
): KeySource {
  const places = placesOf({ apiKey, apiKeys, apiKeyFile, apiKeyCommand });
  const fixed = keysThere(places);
  if (fixed.length === places.length)
    return { keys: new ProviderKeys(fixed, { monoMs }), ready: Promise.resolve(), close() {} };
  let timer: NodeJS.Timeout | null = null;
  let reading = false;
  let isClosed = false;
  let readMs = -Infinity;
  let logged: string | null = null;
  const keys = new ProviderKeys([], {
    monoMs,
    renew: () => {
      if (monoMs() - readMs > keyRetryMs) void renew();
    },
  });

  async function renew(): Promise<void> {
    if (reading || isClosed) return;
    reading = true;
    const attempts = await Promise.all(places.map(attempt));
    reading = false;
    readMs = monoMs();
    const problem = attempts.find((attempt) => attempt.problem !== null)?.problem ?? null;
    const newKeys = keysThere(places);
    keys.replaceKeys(newKeys.length === 0 ? null : newKeys, problem ?? "");
    logProblem(problem);
    const nextMs = attempts.reduce(
      (least, attempt) => Math.min(least, attempt.nextMs),
      keyRenewalMs * 12,
    );
    if (timer !== null) clearTimeout(timer);
    if (!isClosed) timer = setTimeout(() => void renew(), nextMs).unref();
  }

  /** Logs a problem once, until it changes. */
  function logProblem(problem: string | null): void {
    if (problem !== null && problem !== logged)
      log.warn({ provider: name, reason: problem }, "a provider's key can't be read");
    if (problem === null && logged !== null)
      log.info({ provider: name }, "a provider's key is read");
    logged = problem;
  }

  return {
    keys,
    ready: renew(),
    close() {
      isClosed = true;
      if (timer !== null) clearTimeout(timer);
    },
  };
}

/** The source of one key, and the last key from it. */
interface KeyPlace {
  /** The name of the source; null if the key is in the configuration itself. */
  readonly sourceName: string | null;
  read(): Promise<string>;
  readonly isCommand: boolean;
  key: string | null;
  readonly weight: number;
  /** Empty for a single key without a name. */
  readonly name: string;
}

function placesOf({
  apiKey,
  apiKeys,
  apiKeyFile,
  apiKeyCommand,
}: Omit<ConfiguredKeys, "name">): readonly KeyPlace[] {
  const keyPlace = (key: string, weight: number, name: string): KeyPlace => ({
    sourceName: null,
    isCommand: false,
    key,
    weight,
    name,
    read: () => Promise.resolve(key),
  });
  const inFile = (sourceName: string, path: string, weight: number, name: string): KeyPlace => ({
    sourceName,
    isCommand: false,
    key: null,
    weight,
    name,
    read: () => readFile(path, "utf8"),
  });
  if (apiKeyFile !== null) return [inFile("api_key_file", apiKeyFile, 1, "")];
  if (apiKeyCommand !== null)
    return [
      {
        sourceName: "api_key_command",
        isCommand: true,
        key: null,
        weight: 1,
        name: "",
        read: () => run(apiKeyCommand),
      },
    ];
  if (apiKeys === null) return apiKey === null ? [] : [keyPlace(apiKey, 1, "")];
  return apiKeys.map((apiKey, i) => {
    const name = apiKey.name ?? String(i + 1);
    return "key" in apiKey
      ? keyPlace(apiKey.key, apiKey.weight, name)
      : inFile(`api_keys[${i}].key_file`, apiKey.keyFile, apiKey.weight, name);
  });
}

function keysThere(places: readonly KeyPlace[]): readonly WeightedKey[] {
  return places.flatMap(({ key, weight, name }) => (key === null ? [] : [{ key, weight, name }]));
}

interface Attempt {
  /** Why the source returns no key now. The previous key stays. */
  readonly problem: string | null;
  readonly nextMs: number;
}

/** Reads a key, unless it is in the configuration. */
async function attempt(place: KeyPlace): Promise<Attempt> {
  const { sourceName, isCommand } = place;
  if (sourceName === null) return { problem: null, nextMs: Number.POSITIVE_INFINITY };
  try {
    const text = await place.read();
    const token = text.length > keyTextBytesMax ? null : readToken(text, Date.now());
    if (token === null) return { problem: `its ${sourceName} gives no key`, nextMs: keyRetryMs };
    place.key = token.key;
    return { problem: null, nextMs: isCommand ? renewalMs(token.expiresInMs) : keyFileMs };
  } catch (error) {
    return { problem: `its ${sourceName} fails: ${reasonOf(error)}`, nextMs: keyRetryMs };
  }
}

/** Four fifths of the key's lifetime, so that no call gets a key that is about to expire. */
function renewalMs(expiresInMs: number | null): number {
  if (expiresInMs === null) return keyRenewalMs;
  return Math.min(Math.max(expiresInMs * 0.8, keyRetryMs), keyRenewalMs * 12);
}

/**
 * Commands don't inherit systemd's notification socket: podman, for one, passes it on, and systemd
 * would take another process for the proxy.
 */
const notForCommands = {
  NOTIFY_SOCKET: undefined,
  WATCHDOG_USEC: undefined,
  WATCHDOG_PID: undefined,
};

function run(command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = {
      env: { ...process.env, ...notForCommands },
      timeout: keyCommandMs,
      maxBuffer: keyTextBytesMax,
      killSignal: "SIGKILL" as const,
    };
    execFile("/bin/sh", ["-c", command], options, (error, stdout) =>
      error === null ? resolve(stdout) : reject(error),
    );
  });
}

/** Leaves out the command and its output: both may hold secrets. */
function reasonOf(error: unknown): string {
  const { code, killed, signal } = error as NodeJS.ErrnoException & {
    readonly killed?: boolean;
    readonly signal?: string;
  };
  if (killed === true) return `it took longer than ${keyCommandMs} ms`;
  if (typeof code === "number") return `it ended with exit code ${code}`;
  return code ?? signal ?? "unknown";
}

interface ReadToken {
  readonly key: string;
  /** Null if unknown. */
  readonly expiresInMs: number | null;
}

const tokenFields = ["token", "access_token", "accessToken", "api_key"];
const expiryFields = [
  "expires_at",
  "expires_on",
  "expiration",
  "expiry",
  "expiresOn",
  "token_expiry",
];

/** Null without a key. */
export function readToken(text: string, nowMs: number): ReadToken | null {
  const trimmed = text.trim();
  const json = trimmed.startsWith("{") ? parseJson(trimmed) : undefined;
  if (!isObject(json))
    return isKey(trimmed) ? { key: trimmed, expiresInMs: expiryOfJwt(trimmed, nowMs) } : null;
  const key = tokenFields.map((field) => json[field]).find((value) => typeof value === "string");
  if (typeof key !== "string" || !isKey(key)) return null;
  return { key, expiresInMs: expiryOfFields(json, nowMs) ?? expiryOfJwt(key, nowMs) };
}

function isKey(text: string): boolean {
  return /^[\x21-\x7e]{1,16384}$/.test(text);
}

function expiryOfFields(json: Readonly<Record<string, unknown>>, nowMs: number): number | null {
  const seconds = json["expires_in"];
  if (typeof seconds === "number" && seconds >= 0) return seconds * 1000;
  for (const field of expiryFields) {
    const value = json[field];
    const expiresAtMs = typeof value === "number" ? value * 1000 : Date.parse(String(value ?? ""));
    if (!Number.isNaN(expiresAtMs)) return expiresAtMs - nowMs;
  }
  return null;
}

function expiryOfJwt(key: string, nowMs: number): number | null {
  const [, payload, signature] = key.split(".");
  if (payload === undefined || signature === undefined) return null;
  const claims = parseJson(Buffer.from(payload, "base64url").toString());
  const exp = isObject(claims) ? claims["exp"] : null;
  return typeof exp === "number" ? exp * 1000 - nowMs : null;
}
