/**
 * A mixed load on a gateway, and the truth about it: each request that was executed, with what must
 * be recorded of it.
 */
import { createRandom } from "../../sim/random.js";
import type { ReceivedCall, ScriptedUpstream } from "../providers/scripted-upstream.js";
import {
  type Asked,
  answer,
  anyKind,
  bodyOf,
  fromCache,
  isCut,
  type Kind,
  type Outcome,
  outcomeOf,
  readCut,
  virtualModel,
} from "./usage-kinds.js";

/** Who calls: the master key with a path, or a managed key, which is bound to its own. */
export interface Sender {
  readonly path: string;
  readonly key?: {
    readonly id: string;
    readonly value: string;
    readonly labels: readonly string[];
  };
}

/** What is to be recorded of one executed request. */
export interface Served extends Outcome {
  readonly requestId: string;
  /** The daemon's wall clock, as the round has it. */
  readonly clockMs: number;
  readonly userPath: string;
  readonly keyId: string;
  readonly labels: readonly string[];
  readonly endpoint: string;
  /** The virtual model that was asked for; empty: the model itself. */
  readonly requestedModel: string;
}

export interface Running {
  /** Resolved when this many more requests have ended, refusals included. */
  ended(requests: number): Promise<void>;
  /** Resolved when no client has a request under way any more. */
  stop(): Promise<void>;
}

export interface UsageLoad {
  readonly served: readonly Served[];
  /** How often a budget refused. */
  readonly refused: number;
  /** What reached a provider although it was refused. */
  readonly leaked: readonly string[];
  /** One request; its status. */
  ask(url: string, sender: Sender, kind: Kind, clockMs: number): Promise<number>;
  /** Clients that ask one request after the other, as the seed has it, until stopped. */
  run(
    urls: readonly string[],
    options: { readonly clientsPerUrl: number; readonly clockMs: number },
  ): Running;
}

/**
 * Takes both providers over. `master` is the key that opens the gateway for senders without one of
 * their own.
 */
export function createUsageLoad(
  upstreams: { readonly test: ScriptedUpstream; readonly backup: ScriptedUpstream },
  {
    seed,
    master,
    senders,
  }: { readonly seed: number; readonly master: string; readonly senders: readonly Sender[] },
): UsageLoad {
  const asked: Asked[] = [];
  const served: Served[] = [];
  const leaked: string[] = [];
  const latestPlain = new Map<Sender, Asked>();
  let refused = 0;

  for (const [name, upstream] of Object.entries(upstreams)) {
    upstream.answer = (call) => {
      const { user, input_file_id: file } = JSON.parse(call.body) as {
        user?: string;
        input_file_id?: string;
      };
      const request = asked[Number(user ?? file)]!;
      request.calls++;
      request.sentBytes = call.body.length;
      // A provider's time to answer, so that requests overlap.
      setTimeout(() => answer(call, request, name), request.number % 23);
    };
  }

  async function ask(url: string, sender: Sender, kind: Kind, clockMs: number): Promise<number> {
    let cut: Asked["cut"] = () => {};
    const cutting = new Promise<ReceivedCall>((resolve) => (cut = resolve));
    const request: Asked = { number: asked.length, kind, calls: 0, sentBytes: 0, cut };
    asked.push(request);
    const requestId = `load-${request.number}`;
    const sent = (kind === "again" ? latestPlain.get(sender) : undefined) ?? request;
    const { endpoint, body } = bodyOf(sent);
    const client = new AbortController();
    const response = await fetch(url + endpoint, {
      method: "POST",
      body,
      signal: client.signal,
      headers: {
        "content-type": "application/json",
        "x-request-id": requestId,
        authorization: `Bearer ${sender.key?.value ?? master}`,
        ...(sender.key === undefined ? { "x-sluice-user-path": sender.path } : {}),
      },
    });
    if (response.status === 429) {
      refused++;
      if (sent === request && request.calls > 0) leaked.push(requestId);
      await response.arrayBuffer();
      return 429;
    }
    await (isCut(kind) ? readCut(response, client, kind, cutting) : response.arrayBuffer());
    served.push({
      requestId,
      clockMs,
      userPath: sender.path,
      keyId: sender.key?.id ?? "",
      labels: sender.key?.labels ?? [],
      endpoint,
      requestedModel: sent.kind === "over" ? virtualModel : "",
      ...outcomeOf(sent, body.length),
      ...(response.headers.get("x-cache") === "HIT" ? fromCache : {}),
    });
    if (kind === "plain") latestPlain.set(sender, request);
    return response.status;
  }

  return {
    served,
    leaked,
    get refused() {
      return refused;
    },
    ask,
    run(urls, { clientsPerUrl, clockMs }) {
      let stopped = false;
      let ended = 0;
      let waiters: { readonly goal: number; readonly resolve: () => void }[] = [];
      const client = async (url: string): Promise<void> => {
        while (!stopped) {
          const random = createRandom(seed + asked.length * 7919);
          const status = await ask(url, random.pick(senders), random.pick(anyKind), clockMs);
          if (![200, 429, 500, 502].includes(status))
            throw new Error(`unexpected status ${status}`);
          ended++;
          waiters = waiters.filter(({ goal, resolve }) => ended < goal || resolve());
        }
      };
      const clients = Promise.all(
        urls.flatMap((url) => Array.from({ length: clientsPerUrl }, () => client(url))),
      );
      return {
        ended: (requests) =>
          Promise.race([
            new Promise<void>((resolve) => waiters.push({ goal: ended + requests, resolve })),
            clients.then(() => {}),
          ]),
        async stop() {
          stopped = true;
          await clients;
        },
      };
    },
  };
}
