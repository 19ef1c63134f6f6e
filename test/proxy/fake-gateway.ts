/**
 * A gateway without sockets: providers that answer as the test wants, and a daemon that admits
 * every request unless the test sets a verdict.
 */
import { authenticatedCaller, type Caller } from "../../proxy/auth/caller.js";
import { unlimitedPerTurn, usageReadBounds } from "../../proxy/bounds.js";
import { MemoryLedger } from "../../proxy/capacity/memory-ledger.js";
import { SharedReads } from "../../proxy/capacity/shared-reads.js";
import {
  FairTurns,
  RunningPerCaller,
  runningPerCallerMax,
} from "../../proxy/capacity/unlimited-requests.js";
import type { Capacity, Gateway } from "../../proxy/gateway.js";
import { LoopBreaker } from "../../proxy/handlers/loop-breaker.js";
import type { CallParts } from "../../proxy/handlers/model-call.js";
import type { Spool } from "../../proxy/http/body-spool.js";
import { passedHeaders } from "../../proxy/http/copy-headers.js";
import type { Exchange } from "../../proxy/http/exchange.js";
import type {
  Admission,
  AdmissionDetails,
  AdmissionOutcome,
  LimitReport,
  SpentUsage,
} from "../../proxy/limiter/admission.js";
import type { Limiter } from "../../proxy/limiter/client/limiter-client.js";
import { createTargetPrices } from "../../proxy/prices/target-prices.js";
import type { RequestContext } from "../../proxy/request-context.js";
import { RequestRecord } from "../../proxy/request-record.js";
import { LearnedRefusals } from "../../proxy/routing/learned-refusals.js";
import { createModelCatalog } from "../../proxy/routing/model-catalog.js";
import { createModelSizes } from "../../proxy/routing/model-sizes.js";
import { createTargetOrder } from "../../proxy/routing/order-targets.js";
import { createRecordedModels } from "../../proxy/routing/recorded-models.js";
import { TargetHealth } from "../../proxy/routing/target-health.js";
import {
  asUpstreamFailure,
  type UpstreamFailure,
} from "../../proxy/upstream/errors/upstream-failure.js";
import { LimitReports } from "../../proxy/upstream/limit-reports.js";
import type { RequestBody, Upstream, UpstreamRequest } from "../../proxy/upstream/upstream.js";
import { everything } from "../../shared/access/admin-role.js";
import type { Config } from "../../shared/config/config.js";
import type { Target } from "../../shared/domain/target-name.js";
import type { AdminOp, DaemonAnswer } from "../../shared/wire/admin-op.js";
import { type ObjectOwner, parseMadeObjects } from "../../shared/wire/stored-object.js";
import { accepted } from "../shared/config/resolve-sample.js";
import { FakeExchange } from "./fake-exchange.js";
import { fakeMetrics } from "./fake-metrics.js";

/** A request to a provider: `provider METHOD path`, and its body as it was sent. */
export interface Sent {
  readonly what: string;
  readonly headers: readonly string[];
  readonly body: string | null;
}

export type Answer =
  | { readonly status: number; readonly body: string; readonly type?: string }
  | UpstreamFailure;

export interface FakeGateway {
  readonly gateway: Gateway;
  readonly sent: Sent[];
  /** By request, as `Sent` writes it, or by provider; what isn't there is answered with `{}`. */
  readonly answers: Map<string, Answer>;
  readonly admitted: { readonly targets: readonly Target[]; readonly submission: boolean }[];
  readonly settled: SpentUsage[];
  readonly progress: SpentUsage[];
  /** What answers said of the providers' limits. */
  readonly reports: LimitReport[];
  /** Who has made which object, by its id; more are added when they are made. */
  readonly owners: Map<string, ObjectOwner[]>;
  /** The outcome of the next admissions; null: they are admitted. */
  verdict: AdmissionOutcome | null;
}

/** Of a path, and not the operator's. */
const tenant = authenticatedCaller("/team");
export const operator: Caller = { ...tenant, isOperator: true, administers: everything };

/** A context in which a call is read; its caller is known, so the daemon isn't asked. */
export function callContext(
  exchange: Exchange,
  { isUtf8 = () => true, nowMs = () => 0, newSpool = noDisk, ...server }: CallSettings,
): RequestContext<CallParts> {
  const gateway = {
    bodySlices: new FairTurns(1, (run) => void setImmediate(run)),
    config: { server: { bodyBytesMax: 0, uploadBytesMax: 0, defaultModels: [], ...server } },
    isUtf8,
    limiter: null,
    loops: noLoops,
    monoMs: () => 0,
    newSpool,
    nowMs,
    setTimer(_ms: number, run: () => void) {
      queueMicrotask(run);
      return () => {};
    },
  };
  return {
    gateway: gateway as unknown as RequestContext<CallParts>["gateway"],
    exchange,
    caller: tenant,
    record: new RequestRecord(0),
  };
}

/** Without a rule on loops. */
const noLoops = new LoopBreaker(
  (head) => head,
  () => null,
);

interface CallSettings
  extends Partial<Pick<Gateway, "isUtf8" | "newSpool" | "nowMs">>,
    Partial<Pick<Config["server"], "bodyBytesMax" | "uploadBytesMax" | "defaultModels">> {}

const noDisk = (): Promise<Spool> => Promise.reject(new Error("no disk"));

/** Room for everything. */
export function fakeCapacity(): Capacity {
  return {
    connections: { isFull: false, max: 10, open: 1, requests: 1 },
    files: { isExhausted: false },
    memory: new MemoryLedger(1e9),
    unauthenticated: new MemoryLedger(1e9),
  };
}

/** One that never opens a breaker. */
export function fakeTargetHealth(): TargetHealth {
  return new TargetHealth({
    monoMs: () => 0,
    nowMs: () => 0,
    configOf: () => ({
      breakerFailures: 0,
      breakerOpenMs: 1,
      upstreamLimits: { mode: "observe", trustsLimits: true, adaptive: null },
    }),
    onOpened() {},
    onClosed() {},
    onRefused() {},
  });
}

/** `yaml`: the configuration's file; each provider lists its models there. */
export function fakeGateway(yaml: string): FakeGateway {
  const { config } = accepted(yaml);
  const models = createModelCatalog(config, {
    upstreams: new Map(),
    nowMs: () => 0,
    schedule: () => {},
    onLearned: () => {},
    onFailed: () => {},
  });
  const fake: FakeGateway = {
    gateway: {
      config,
      providers: new Map(
        config.providers.map((provider) => [
          provider.name,
          {
            config: provider,
            passed: passedHeaders(provider, config.server.userPathHeader),
            upstream: fakeUpstream(provider.name),
            passthrough: null,
          },
        ]),
      ),
      mcpServers: new Map(),
      targetOrder: createTargetOrder(() => null),
      targetHealth: fakeTargetHealth(),
      refusals: new LearnedRefusals(() => 0),
      limitReports: new LimitReports({
        send: (report) => void fake.reports.push(report),
        monoMs: () => 0,
        nowMs: () => 0,
      }),
      targetLoad: null,
      models,
      recordedModels: createRecordedModels(config, { models, nowMs: () => 0 }),
      noticeUnpriced: () => {},
      metrics: fakeMetrics(),
      tracing: null,
      sizeOf: createModelSizes(config.providers, null),
      prices: createTargetPrices(config, { list: null, nowMs: () => 0 }),
      pricesAt: (nowMs: () => number) => createTargetPrices(config, { list: null, nowMs }),
      limiter: fakeLimiter(),
      credentials: { jwt: null },
      caching: null,
      pages: { hosts: new Set(), origins: new Set() },
      rewriters: null,
      loops: noLoops,
      capacity: fakeCapacity(),
      runningPerCaller: new RunningPerCaller(runningPerCallerMax),
      fairTurns: new FairTurns(unlimitedPerTurn, (run) => void setImmediate(run)),
      bodySlices: new FairTurns(1, (run) => void setImmediate(run)),
      usageReads: new SharedReads(usageReadBounds),
      monoMs: () => 0,
      setTimer(_ms: number, run: () => void) {
        queueMicrotask(run);
        return () => {};
      },
      random: () => 0,
      nowMs: () => 0,
      isUtf8: () => true,
    } as unknown as Gateway,
    sent: [],
    answers: new Map(),
    admitted: [],
    settled: [],
    progress: [],
    reports: [],
    owners: new Map(),
    verdict: null,
  };
  return fake;

  function fakeUpstream(name: string): Upstream {
    return {
      send(request, sink) {
        void textOf(request).then(
          (body) => {
            const what = `${name} ${request.method} ${request.path}`;
            fake.sent.push({ what, headers: request.headers, body });
            const { answers } = fake;
            const answer = answers.get(what) ?? answers.get(name) ?? { status: 200, body: "{}" };
            if ("kind" in answer) return sink.onFailure(answer);
            sink.onHead(answer.status, ["content-type", answer.type ?? "application/json"]);
            sink.onData(Buffer.from(answer.body));
            sink.onEnd();
          },
          (error: Error) => sink.onFailure(asUpstreamFailure(error)),
        );
        return { isSent: true, pause() {}, resume() {}, abort() {} };
      },
      redact: (text) => text,
      close: () => Promise.resolve(),
    };
  }

  function fakeLimiter(): Limiter {
    return {
      admit(
        _: unknown,
        targets: readonly Target[],
        { submission = false }: AdmissionDetails = {},
      ): Promise<AdmissionOutcome> {
        if (fake.verdict !== null) return Promise.resolve(fake.verdict);
        fake.admitted.push({ targets, submission });
        const admission: Admission = {
          lease: 1,
          admittedAtMs: 0,
          lsn: 1,
          userPath: "/team",
          keyId: "",
          target: submission ? null : targets[0]!,
          targetAtMs: 0,
          targetLsn: 1,
          submission,
          startedMonoMs: 0,
          isSettled: false,
        };
        return Promise.resolve({ kind: "admitted", admission, headers: null });
      },
      progress(_admission: Admission, spent: SpentUsage) {
        fake.progress.push(spent);
      },
      settle(admission: Admission, spent: SpentUsage, then: () => void) {
        if (admission.isSettled) throw new Error("settled twice");
        admission.isSettled = true;
        fake.settled.push(spent);
        then();
      },
      noteRefusal() {},
      report() {},
      notices: { keysExist: true, importedKeysExist: false },
      reachable: true,
      call(op: AdminOp, body: unknown): Promise<DaemonAnswer> {
        if (op === "objects.owners") {
          const { ids } = body as { readonly ids: readonly string[] };
          return answered({ owners: ids.map((id) => fake.owners.get(id) ?? []) });
        }
        if (op === "batches.capped") return answered({ capped: false });
        if (op === "loops.find") return answered({ loops: null });
        if (op === "responses.pending") return answered({ responses: [] });
        if (op !== "objects.own") throw new Error(`nobody answers ${op}`);
        const made = parseMadeObjects(body);
        if (!made.ok) throw new Error(made.failure.message);
        for (const { id, provider } of made.value.objects)
          fake.owners.set(id, [{ provider, userPath: made.value.userPath }]);
        return answered({ status: "ok" });
      },
    } as unknown as Limiter;
  }
}

function answered(body: unknown): Promise<DaemonAnswer> {
  return Promise.resolve({ ok: true, body });
}

async function textOf({ body }: UpstreamRequest): Promise<string | null> {
  return body === null ? null : (await bytesOf(body)).toString();
}

/** The complete body of a request. */
export async function bytesOf(body: Exclude<RequestBody, null>): Promise<Buffer> {
  if (Buffer.isBuffer(body)) return body;
  const pieces: Buffer[] = [];
  for await (const piece of body.pieces) pieces.push(piece);
  return Buffer.concat(pieces);
}

export interface Served {
  readonly status: number;
  /** Of JSON. */
  readonly body: unknown;
  readonly exchange: FakeExchange;
  readonly record: RequestRecord;
}

export interface RequestSample {
  readonly method?: string;
  readonly path: string;
  readonly query?: string;
  readonly headers?: readonly string[];
  readonly body?: string | readonly Buffer[];
  /** The client leaves before anything is read. */
  readonly leaves?: boolean;
  /** By default one of `/team`, without the master key. */
  readonly caller?: Caller;
}

/** One request through a handler, and what the client gets for it. */
export async function served(
  { gateway }: FakeGateway,
  run: (context: RequestContext) => Promise<void>,
  { body, leaves = false, caller = tenant, ...request }: RequestSample,
): Promise<Served> {
  const exchange = new FakeExchange(request);
  exchange.sentPieces = typeof body === "string" ? [Buffer.from(body)] : [...(body ?? [])];
  if (leaves) exchange.leave();
  const record = new RequestRecord(0);
  await run({ gateway, exchange, caller, record });
  const text = exchange.body.toString();
  return {
    status: exchange.status,
    body: text.startsWith("{") && exchange.ended !== "cut" ? JSON.parse(text) : text,
    exchange,
    record,
  };
}
