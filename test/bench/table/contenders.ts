/** The programs that the table of `npm run bench` compares: how each is started and asked. */
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePort } from "../../support/processes/free-port.js";
import { programPath } from "../../support/processes/program-path.js";
import { benchModel, benchUserPath, httpRequest, requestHeaders } from "../load/chat-exchange.js";
import { withChildren } from "../measure/process-stat.js";
import type { Processes, Running } from "../measure/processes.js";
import type { GatewaySetUp } from "../overshoot/gateways/gateway.js";
import { gomodel } from "../overshoot/gateways/gomodel.js";
import { portkey } from "../overshoot/gateways/portkey.js";
import { findProgram, startNginx } from "../peers/installed-peers.js";
import {
  type ConfigParts,
  ownBuild,
  sluiceMissing,
  startConfigured,
  writeConfig,
} from "../peers/sluice.js";
import { providersAt, type Scenario } from "./scenarios.js";

/** By column, from left to right. */
export const contenderNames = [
  "undici",
  "http-proxy",
  "nginx",
  "GoModel",
  "Portkey",
  "Sluice, no limits",
  "Sluice",
] as const;
export type ContenderName = (typeof contenderNames)[number];

export interface Contender {
  readonly url: string;
  /** The process that requests pass through, and those that work beside it. */
  readonly pids: readonly number[];
  readonly besidePids: readonly number[];
  readonly headers: Readonly<Record<string, string>>;
  /** The only model that it knows; null: those of the scenarios. */
  readonly model: string | null;
  /** Where it has a scenario's endpoint. */
  pathOf(scenario: Scenario): string;
  stop(): Promise<void>;
}

export interface Setting {
  /** An empty directory of the contender's own. */
  readonly home: string;
  readonly processes: Processes;
  /** Without a path. */
  readonly providerUrl: string;
}

export interface ContenderKind {
  /** Why it takes no part; null if it does. */
  readonly missing: string | null;
  start(setting: Setting): Promise<Contender>;
}

/** One that forwards what it is asked for to the provider. */
function forwarder({ processes }: Setting, running: Running): Contender {
  return {
    url: running.url,
    pids: withChildren(running.pid),
    besidePids: [],
    headers: requestHeaders,
    model: null,
    pathOf: ({ upstreamPath }) => upstreamPath,
    stop: () => processes.stop(running),
  };
}

/** Without limits: the least that it does. */
function otherGateway(setUp: GatewaySetUp): ContenderKind {
  const program = setUp.find();
  return {
    missing: program === null ? "not installed" : null,
    async start({ home, processes, providerUrl }) {
      const setting = { caps: [], home, providerUrl, processes, program: program! };
      const gateway = await setUp.start(setting);
      const { url, headers, model } = gateway.target("");
      const running = gateway.running();
      return {
        url,
        pids: withChildren(running.pid),
        besidePids: [],
        headers: { ...ownHeaders, ...headers },
        model,
        pathOf: ({ path }) => path,
        stop: () => processes.stop(running),
      };
    },
  };
}

const nginx = findProgram("nginx");
const sluice = sluiceMissing();

export const contenderKinds: Readonly<Record<ContenderName, ContenderKind>> = {
  undici: {
    missing: null,
    start: async (setting) =>
      forwarder(
        setting,
        await setting.processes.node(program("../peers/undici-forwarder.js"), [
          setting.providerUrl,
        ]),
      ),
  },
  "http-proxy": {
    missing: null,
    start: async (setting) =>
      forwarder(
        setting,
        // It calls a function that newer versions of Node warn of.
        await setting.processes.node(
          program("../peers/http-proxy-forwarder.js"),
          [setting.providerUrl],
          ["--no-deprecation"],
        ),
      ),
  },
  nginx: {
    missing: nginx === null ? "not installed" : null,
    start: async (setting) =>
      forwarder(
        setting,
        await startNginx(setting.processes, setting.home, nginx!, setting.providerUrl),
      ),
  },
  GoModel: otherGateway(gomodel),
  Portkey: otherGateway(portkey),
  "Sluice, no limits": {
    missing: sluice,
    start: (setting) => startPair(setting, { rate_limits: { user_paths: [] } }),
  },
  Sluice: { missing: sluice, start: (setting) => startUp(setting, true) },
};

const cap = 1_000_000_000;

/** Five rules and two budgets that match, and a price. */
const fullParts = {
  rate_limits: {
    user_paths: [
      { path: "/", limits: [{ period: "minute", max_requests: cap }] },
      { path: "/bench", limits: [{ period: "hour", max_requests: cap, max_tokens: 1000 * cap }] },
      {
        path: benchUserPath,
        limits: [
          { period: "minute", max_requests: cap, max_tokens: 1000 * cap },
          { period: "concurrent", max_requests: 100_000 },
        ],
      },
    ],
    models: [{ model: benchModel, limits: [{ period: "minute", max_requests: cap }] }],
  },
  budgets: {
    user_paths: [
      { path: "/", limits: [{ period: "monthly", amount: cap }] },
      { path: "/bench", limits: [{ period: "daily", amount: cap }] },
    ],
  },
  prices: { [`bench/${benchModel}`]: { input: 2.5, output: 10 } },
};

const masterKey = "sk-bench-0123456789abcdefghijklmnopqrstuv";

/** `sluice up` with rules, budgets and records; `isClosed`: and a managed key. */
export async function startUp(
  { home, processes, providerUrl }: Setting,
  isClosed: boolean,
): Promise<Contender> {
  const port = await freePort();
  const config = writeConfig(home, {
    server: {
      ...{ host: "127.0.0.1", port, passthrough: "all" },
      ...(isClosed ? { master_key: masterKey } : {}),
    },
    providers: providersAt(providerUrl),
    ...fullParts,
  });
  const args = [programPath("sluice"), "up", "--config", config];
  const up = await processes.program(processes.execPath, args, { host: "127.0.0.1", port });
  const url = `http://127.0.0.1:${port}`;
  const headers = isClosed
    ? { ...ownHeaders, authorization: `Bearer ${await issueKey(url)}` }
    : requestHeaders;
  const all = withChildren(up.pid);
  const proxies = all.filter((pid) =>
    readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("sluice-proxy"),
  );
  return {
    url,
    pids: proxies,
    besidePids: all.filter((pid) => !proxies.includes(pid)),
    headers,
    model: null,
    pathOf: ({ path }) => path,
    stop: () => processes.stop(up),
  };
}

/** A managed key has a path of its own. */
const { "x-sluice-user-path": _path, ...ownHeaders } = requestHeaders;

/** As soon as the gateway is there. */
async function issueKey(url: string): Promise<string> {
  for (;;) {
    const answer = await fetch(`${url}/admin/auth-keys`, {
      method: "POST",
      headers: { authorization: `Bearer ${masterKey}`, "content-type": "application/json" },
      body: JSON.stringify({ name: "bench", user_path: benchUserPath }),
    }).catch(() => null);
    if (answer?.status === 201) return ((await answer.json()) as { value: string }).value;
    await delay(5);
  }
}

/** Proxy and daemon alone, as systemd starts them. */
export async function startPair(
  { home, processes, providerUrl }: Setting,
  parts: Omit<ConfigParts, "providers">,
): Promise<Contender> {
  const { daemon, proxy } = await startConfigured(processes, home, {
    providers: providersAt(providerUrl),
    ...parts,
  });
  return {
    url: proxy.url,
    pids: [proxy.pid],
    besidePids: [daemon.pid],
    headers: requestHeaders,
    model: null,
    pathOf: ({ path }) => path,
    stop: async () => void (await Promise.all([proxy, daemon].map(processes.stop))),
  };
}

const program = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** A scenario's request to a contender; `bytes`: on the wire. */
export function requestTo(
  { url, headers, model, pathOf }: Contender,
  scenario: Scenario,
): { readonly url: string; readonly body: string; readonly bytes: string } {
  const path = pathOf(scenario);
  const body =
    model === null
      ? scenario.body
      : JSON.stringify({ ...(JSON.parse(scenario.body) as object), model });
  const bytes = httpRequest(new URL(url).hostname, path, body, headers);
  return { url: url + path, body, bytes };
}

/** The proxy in a process that watches its event loop, with the daemon. */
export async function startWatched({
  home,
  processes,
  providerUrl,
}: Setting): Promise<{ readonly url: string; readonly proxy: Running }> {
  const parts = { providers: providersAt(providerUrl), ...fullParts };
  const { proxy } = await startConfigured(processes, home, parts, {
    ...ownBuild,
    proxyFile: program("../peers/watched-proxy.js"),
  });
  return { url: proxy.url, proxy };
}
