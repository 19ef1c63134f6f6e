/**
 * The HTTP part: Sluice's proxy and the bare forwarders in turn, under the same load, before the
 * same provider.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  chatRequest,
  requestBody,
  requestHeaders,
  requestPath,
  responseBody,
} from "../load/chat-exchange.js";
import type { HttpJob } from "../load/http-load.js";
import { findProgram, startNginx } from "../peers/installed-peers.js";
import { type SluicePair, sluiceMissing, startPair } from "../peers/sluice.js";
import { giveJob } from "./job-channel.js";
import type { Phase } from "./phase.js";
import { withChildren } from "./process-stat.js";
import { inTurn, type Rounds, type RunContext } from "./rounds.js";

interface HttpPeer {
  readonly name: string;
  readonly url: string;
  readonly pids: readonly number[];
  readonly besidePids: readonly number[];
}

export async function measureProxy(context: RunContext, connections: number): Promise<Rounds> {
  const { processes } = context;
  const skipped: Record<string, string> = {};
  const upstream = await processes.node(ourProgram("../peers/upstream.js"), []);
  const missing = sluiceMissing();
  if (missing !== null) skipped["sluice"] = missing;
  const limited =
    missing === null
      ? asPeer("sluice", await startFresh(context, upstream.url, "limited", "two rules"))
      : null;
  const unlimited =
    missing === null
      ? asPeer("sluice-unlimited", await startFresh(context, upstream.url, "unlimited", "no rules"))
      : null;
  const peers = [
    ...(limited === null ? [] : [limited]),
    ...(unlimited === null ? [] : [unlimited]),
    ...(await startForwarders(context, upstream.url, skipped)),
  ];
  for (const peer of peers) await checkAnswer(peer);
  const generator = await processes.node(ourProgram("../load/http-load.js"), []);
  const contenders = peers.map(({ name, ...peer }) => ({
    name,
    run: (seconds: number) =>
      giveJob<HttpJob, Phase>(generator.child, {
        ...peer,
        seconds,
        connections,
        request: chatRequest(new URL(peer.url).hostname),
      }),
  }));
  const rounds = await inTurn(context, contenders, skipped);
  await processes.stopAll();
  return rounds;
}

async function startForwarders(
  { processes, dir }: RunContext,
  upstreamUrl: string,
  skipped: Record<string, string>,
): Promise<HttpPeer[]> {
  const undici = await processes.node(ourProgram("../peers/undici-forwarder.js"), [upstreamUrl]);
  // http-proxy calls a function that newer versions of Node warn of.
  const httpProxy = await processes.node(
    ourProgram("../peers/http-proxy-forwarder.js"),
    [upstreamUrl],
    ["--no-deprecation"],
  );
  const peers: HttpPeer[] = [
    { name: "undici", url: undici.url, pids: [undici.pid], besidePids: [] },
    { name: "http-proxy", url: httpProxy.url, pids: [httpProxy.pid], besidePids: [] },
  ];
  const nginxFile = findProgram("nginx");
  if (nginxFile === null) {
    skipped["nginx"] = "not installed";
    return peers;
  }
  const nginx = await startNginx(processes, join(dir, "nginx"), nginxFile, upstreamUrl);
  return [
    ...peers,
    { name: "nginx", url: nginx.url, pids: withChildren(nginx.pid), besidePids: [] },
  ];
}

function startFresh(
  context: RunContext,
  upstreamUrl: string,
  name: string,
  rules: "two rules" | "no rules",
): Promise<SluicePair> {
  const dir = join(context.dir, name);
  mkdirSync(dir, { mode: 0o700 });
  return startPair(context.processes, dir, upstreamUrl, rules);
}

function asPeer(name: string, { daemon, proxy }: SluicePair): HttpPeer {
  return { name, url: proxy.url, pids: [proxy.pid], besidePids: [daemon.pid] };
}

/** One request by an ordinary client: what is measured must be the real thing. */
async function checkAnswer(peer: HttpPeer): Promise<void> {
  const response = await fetch(`${peer.url}${requestPath}`, {
    method: "POST",
    headers: requestHeaders,
    body: requestBody,
  });
  const text = await response.text();
  if (response.status !== 200)
    throw new Error(`${peer.name} answered ${response.status}: ${text.slice(0, 300)}`);
  if (text.length < responseBody.length / 2 || !text.includes("total_tokens"))
    throw new Error(
      `${peer.name} answered with something else than the provider's completion: ${text.slice(0, 300)}`,
    );
  if (peer.name === "sluice" && !response.headers.has("x-ratelimit-limit-tokens"))
    throw new Error("Sluice's answer has no x-ratelimit-limit-tokens: its rules aren't in force");
  if (peer.name === "sluice-unlimited" && response.headers.has("x-ratelimit-limit-requests"))
    throw new Error("Sluice without rules has rate limit headers");
}

function ourProgram(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}
