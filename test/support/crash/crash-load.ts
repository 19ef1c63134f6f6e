/**
 * The load of a crash test and the truth about it. Clients and provider stand in one process, so
 * what was requested, executed and reported is known in one order; each response carries a number
 * of tokens that no other does, so that one that is lost, or charged twice, is found by its number.
 */
import { chat } from "../client.js";
import type { Part } from "../processes/processes.js";
import type { Relay } from "../processes/socket-relay.js";
import {
  beginStream,
  chunk,
  completion,
  type ReceivedCall,
  type ScriptedUpstream,
  usageChunk,
} from "../providers/scripted-upstream.js";

/**
 * A provider's time to answer: so that requests overlap, and the load is the system's and not the
 * test's.
 */
const answerMs = 25;

/** One proxy process from its start to its end. */
export interface Life {
  readonly part: Part;
  readonly relay: Relay;
  /**
   * `doomed`: asked to end, so that its callers may see a broken connection; `killed`: its slots
   * are free from now on.
   */
  fate: "living" | "doomed" | "killed";
  /**
   * Killed in one crash with the daemon: what it knew and the daemon hadn't made durable is known
   * to no proxy.
   */
  forgotten: boolean;
}

export interface Sent {
  readonly id: number;
  readonly path: string;
  readonly life: Life;
  executed: boolean;
  /** Reported by the provider at the end of its response. */
  tokens: number | null;
  /** The client had the whole answer. */
  whole: boolean;
  /** The client went away. */
  left: boolean;
}

/** A stream that has begun and waits. */
export interface OpenStream {
  readonly sent: Sent;
  /**
   * The provider ends it; resolved when the client has seen the end, or the connection break under
   * a doomed proxy.
   */
  finish(): Promise<void>;
  /** The client goes away. */
  leave(): void;
}

export interface Truth {
  readonly sent: readonly Sent[];
  /**
   * The most responses that were under way at once for a path, those of killed proxies not counted.
   */
  peak(path: string): number;
  /** The status, or null when the connection broke under a doomed proxy. */
  ask(life: Life, path: string, options?: { readonly stream?: boolean }): Promise<number | null>;
  open(life: Life, path: string): Promise<OpenStream>;
  /** From now on nothing that this proxy began is under way. */
  killed(life: Life): void;
}

/** Takes the provider over: every call is answered soon, but for those of `open`. */
export function createTruth(upstream: ScriptedUpstream): Truth {
  const sent: Sent[] = [];
  const underWay = new Map<string, Set<Sent>>();
  const peaks = new Map<string, number>();
  const opening = new Map<number, (call: ReceivedCall) => void>();

  function begin(life: Life, path: string): Sent {
    const request: Sent = {
      id: sent.length,
      path,
      life,
      executed: false,
      tokens: null,
      whole: false,
      left: false,
    };
    sent.push(request);
    return request;
  }

  function ends(request: Sent): void {
    underWay.get(request.path)?.delete(request);
  }

  /** Before the last bytes leave: the slot may be given on as soon as the proxy has them. */
  function reportTokens(request: Sent): number {
    ends(request);
    request.tokens = 1000 + request.id;
    return request.tokens;
  }

  upstream.answer = (call) => {
    const { user, stream } = JSON.parse(call.body) as { user: string; stream: boolean };
    const request = sent[Number(user)]!;
    request.executed = true;
    if (request.life.fate !== "killed") {
      const open = underWay.get(request.path) ?? new Set();
      underWay.set(request.path, open.add(request));
      peaks.set(request.path, Math.max(peaks.get(request.path) ?? 0, open.size));
    }
    if (stream) beginStream(call).write(chunk("some of it"));
    const opened = opening.get(request.id);
    if (opened !== undefined) return opened(call);
    setTimeout(() => {
      if (stream)
        call.response.end(
          `${chunk("", "stop")}${usageChunk(reportTokens(request))}data: [DONE]\n\n`,
        );
      else
        call.response
          .writeHead(200, { "content-type": "application/json" })
          .end(completion(reportTokens(request)));
    }, answerMs);
  };

  async function read(request: Sent, response: Response): Promise<void> {
    await response.arrayBuffer();
    if (response.status === 200) request.whole = true;
  }

  return {
    sent,
    peak: (path) => peaks.get(path) ?? 0,
    async ask(life, path, { stream = false } = {}) {
      const request = begin(life, path);
      try {
        const response = await chat(life.part.ready, { path, stream, user: String(request.id) });
        await read(request, response);
        return response.status;
      } catch (error) {
        if (life.fate === "living") throw error;
        return null;
      }
    },
    async open(life, path) {
      const request = begin(life, path);
      const called = new Promise<ReceivedCall>((resolve) => opening.set(request.id, resolve));
      const client = new AbortController();
      const response = await chat(
        life.part.ready,
        { path, stream: true, user: String(request.id) },
        client.signal,
      );
      if (response.status !== 200)
        throw new Error(`${path}: ${response.status} ${await response.text()}`);
      const call = await called;
      return {
        sent: request,
        async finish() {
          call.response.end(
            `${chunk("", "stop")}${usageChunk(reportTokens(request))}data: [DONE]\n\n`,
          );
          await read(request, response).catch((error: unknown) => {
            if (life.fate === "living") throw error;
          });
        },
        leave() {
          ends(request);
          request.left = true;
          client.abort();
        },
      };
    },
    killed(life) {
      life.fate = "killed";
      for (const request of sent) if (request.life === life) ends(request);
    },
  };
}

/** Where the clients of one proxy turn to: its present life, which may be followed by another. */
export interface Seat {
  life: Life;
  /** Resolved when another life has begun. */
  next: Promise<void>;
}

export interface Load {
  /** Resolved when this many more requests were answered, refusals included. */
  answered(requests: number): Promise<void>;
  /** Resolved when no client has a request under way any more. */
  stop(): Promise<void>;
}

/**
 * Clients that ask for these paths in turn, plain and streamed, until stopped; rejects what is
 * neither served nor refused.
 */
export function startLoad(
  truth: Truth,
  seats: readonly Seat[],
  { paths, clientsPerSeat }: { readonly paths: readonly string[]; readonly clientsPerSeat: number },
): Load {
  let stopped = false;
  let answered = 0;
  let waiters: { readonly goal: number; readonly resolve: () => void }[] = [];
  const client = async (seat: Seat, number: number): Promise<void> => {
    for (let turn = number; !stopped; turn++) {
      const { life } = seat;
      const status = await truth.ask(life, paths[turn % paths.length]!, { stream: turn % 2 === 0 });
      if (status === null) {
        if (seat.life === life) await seat.next;
        continue;
      }
      if (status !== 200 && status !== 429)
        throw new Error(`unexpected status ${status}\n${life.part.output()}`);
      answered++;
      waiters = waiters.filter(({ goal, resolve }) => answered < goal || resolve());
    }
  };
  const clients = Promise.all(
    seats.flatMap((seat) =>
      Array.from({ length: clientsPerSeat }, (_, number) => client(seat, number)),
    ),
  );
  return {
    answered(requests) {
      const reached = new Promise<void>((resolve) =>
        waiters.push({ goal: answered + requests, resolve }),
      );
      return Promise.race([reached, clients.then(() => {})]);
    },
    async stop() {
      stopped = true;
      await clients;
    },
  };
}
