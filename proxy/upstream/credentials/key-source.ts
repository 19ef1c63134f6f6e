/**
 * Where a provider's keys come from: the configuration; a file, which is read again every few
 * seconds, as Kubernetes replaces it; or a command, which is run again ahead of the key's expiry
 * and never for a request.
 */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import type { ProviderConfig } from "../../../shared/config/config.js";
import {
  keyCommandMs,
  keyFileMs,
  keyRenewalMs,
  keyRetryMs,
  keyTextBytesMax,
} from "../attempt-bounds.js";
import { ProviderKeys } from "./provider-keys.js";
import { readToken } from "./read-token.js";

interface KeySource {
  readonly keys: ProviderKeys;
  /** Once the first key has been read, or could not be. */
  readonly ready: Promise<void>;
  close(): void;
}

interface KeyLog {
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
}

type Configured = Pick<
  ProviderConfig,
  "name" | "apiKey" | "apiKeys" | "apiKeyFile" | "apiKeyCommand"
>;

export function openKeySource(
  { name, apiKey, apiKeys, apiKeyFile, apiKeyCommand }: Configured,
  { log, monoMs }: { readonly log: KeyLog; readonly monoMs: () => number },
): KeySource {
  if (apiKeyFile === null && apiKeyCommand === null) {
    const keys = apiKeys ?? (apiKey === null ? [] : [{ key: apiKey, weight: 1 }]);
    return { keys: new ProviderKeys(keys, { monoMs }), ready: Promise.resolve(), close() {} };
  }
  const what = apiKeyFile === null ? "api_key_command" : "api_key_file";
  const read = (): Promise<string> =>
    apiKeyFile === null ? run(apiKeyCommand!) : readFile(apiKeyFile, "utf8");
  let timer: NodeJS.Timeout | null = null;
  let reading = false;
  let isClosed = false;
  let readMs = -Infinity;
  let told: string | null = null;
  const keys = new ProviderKeys([], {
    monoMs,
    renew: () => {
      if (monoMs() - readMs > keyRetryMs) void renew();
    },
  });

  async function renew(): Promise<void> {
    if (reading || isClosed) return;
    reading = true;
    const { key, problem, nextMs } = await attempt();
    reading = false;
    readMs = monoMs();
    keys.renewed(key, problem);
    tell(key === null ? problem : null);
    if (timer !== null) clearTimeout(timer);
    if (!isClosed) timer = setTimeout(() => void renew(), nextMs).unref();
  }

  async function attempt(): Promise<{
    readonly key: string | null;
    readonly problem: string;
    readonly nextMs: number;
  }> {
    try {
      const text = await read();
      const token = text.length > keyTextBytesMax ? null : readToken(text, Date.now());
      if (token === null)
        return { key: null, problem: `its ${what} gives no key`, nextMs: keyRetryMs };
      const nextMs = apiKeyFile === null ? renewalMs(token.expiresInMs) : keyFileMs;
      return { key: token.key, problem: "", nextMs };
    } catch (error) {
      return { key: null, problem: `its ${what} fails: ${reasonOf(error)}`, nextMs: keyRetryMs };
    }
  }

  /** Once, until it changes. */
  function tell(problem: string | null): void {
    if (problem !== null && problem !== told)
      log.warn({ provider: name, reason: problem }, "a provider's key can't be read");
    if (problem === null && told !== null) log.info({ provider: name }, "a provider's key is read");
    told = problem;
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

/** At four fifths of its time, so that no call gets one that is about to expire. */
function renewalMs(expiresInMs: number | null): number {
  if (expiresInMs === null) return keyRenewalMs;
  return Math.min(Math.max(expiresInMs * 0.8, keyRetryMs), keyRenewalMs * 12);
}

/**
 * Its notices are not the service's: podman, for one, passes the socket on, and systemd would take
 * another process for the proxy.
 */
const notForCommands = { NOTIFY_SOCKET: undefined, WATCHDOG_USEC: undefined };

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

/** Without the command and what it printed: both may hold secrets. */
function reasonOf(error: unknown): string {
  const { code, killed, signal } = error as NodeJS.ErrnoException & {
    readonly killed?: boolean;
    readonly signal?: string;
  };
  if (killed === true) return `it took longer than ${keyCommandMs} ms`;
  if (typeof code === "number") return `it ended with exit code ${code}`;
  return code ?? signal ?? "unknown";
}
