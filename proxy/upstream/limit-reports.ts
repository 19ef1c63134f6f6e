/**
 * Reports to the daemon what providers' answers say of their limits (docs/upstream-limits.md).
 * Where the limits are only shown, the headers of one answer a second and target are read.
 */
import type { ProviderConfig } from "../../shared/config/config.js";
import type { Target } from "../../shared/domain/target-name.js";
import type { ReportedLimit } from "../../shared/domain/upstream-limits.js";
import { observedTargetsMax, observeMs } from "../bounds.js";
import type { LimitReport } from "../limiter/limiter.js";
import { readReportedLimits, readReportedWait } from "./reported-limits.js";
import type { Upstream } from "./upstream.js";

/** An answer, when it begins, or an error, once its body has arrived. */
export interface Heard {
  readonly status: number;
  readonly rawHeaders: readonly (Buffer | string)[];
  /** The provider's text; empty unless it is an error. */
  readonly body: string;
  /** When the request was sent. */
  readonly sentMonoMs: number;
  readonly firstByteMonoMs: number;
}

interface LimitReportPorts {
  readonly send: (report: LimitReport) => void;
  readonly monoMs: () => number;
  readonly nowMs: () => number;
}

interface Asked {
  readonly config: Pick<ProviderConfig, "upstreamLimits" | "apiKeys">;
  readonly upstream: Pick<Upstream, "hasReadyKey"> | null;
  readonly target: Target;
  /** The class of the request; see `AdaptiveCap`. */
  readonly size: () => number;
}

const noLimits: readonly ReportedLimit[] = [];

export class LimitReports {
  readonly #ports: LimitReportPorts;
  /** When the headers of a provider's model were last read, by its configuration. */
  readonly #readMs = new WeakMap<object, Map<string, number>>();

  constructor(ports: LimitReportPorts) {
    this.#ports = ports;
  }

  /** What hears the answers of one request; undefined if nothing is to be learned from them. */
  hearerOf(asked: Asked): ((heard: Heard) => void) | undefined {
    const { mode, adaptive } = asked.config.upstreamLimits;
    if (adaptive !== null || mode === "avoid") return (heard) => this.#report(asked, heard);
    return mode === "off" ? undefined : (heard) => this.#observe(asked, heard);
  }

  #observe(asked: Asked, heard: Heard): void {
    const { target, config } = asked;
    let read = this.#readMs.get(config);
    if (read === undefined) {
      read = new Map();
      this.#readMs.set(config, read);
    }
    const monoMs = this.#ports.monoMs();
    if (heard.status < 300 && monoMs - (read.get(target.model) ?? -Infinity) < observeMs) return;
    if (read.size >= observedTargetsMax) read.clear();
    read.set(target.model, monoMs);
    const { limits, waitMs } = this.#read(heard);
    if (limits.length > 0 || heard.status === 429) this.#send(asked, heard, { limits, waitMs });
  }

  #report(asked: Asked, heard: Heard): void {
    const { config, upstream, size } = asked;
    const { limits, waitMs } = this.#read(heard);
    const { status, sentMonoMs, firstByteMonoMs } = heard;
    // What one key has used up, another key may still have.
    const hasOtherKey =
      status === 429 ? upstream?.hasReadyKey?.() === true : (config.apiKeys?.length ?? 0) > 1;
    const ofOneKey = {
      limits: limits.filter(({ remaining }) => remaining !== 0),
      waitMs: undefined,
    };
    const isTimed = config.upstreamLimits.adaptive !== null;
    this.#send(asked, heard, {
      ...(hasOtherKey ? ofOneKey : { limits, waitMs }),
      ...(isTimed ? { firstByteMs: Math.round(firstByteMonoMs - sentMonoMs), size: size() } : {}),
    });
  }

  #read({ status, rawHeaders, body }: Heard): Pick<LimitReport, "limits" | "waitMs"> {
    const nowMs = this.#ports.nowMs();
    if (status < 300) return { limits: readReportedLimits(rawHeaders, nowMs) };
    if (status !== 429) return { limits: noLimits };
    const { limits, waitMs } = readReportedWait(rawHeaders, body, nowMs);
    return waitMs === null ? { limits } : { limits, waitMs };
  }

  #send(
    { target: { provider, model } }: Asked,
    { status, sentMonoMs }: Heard,
    said: Pick<LimitReport, "limits" | "waitMs" | "firstByteMs" | "size">,
  ): void {
    const startedAgoMs = Math.max(0, Math.round(this.#ports.monoMs() - sentMonoMs));
    this.#ports.send({ target: { provider, model }, startedAgoMs, status, ...said });
  }
}

/** Requests of similar length, streamed or not, for `AdaptiveCap`. */
export function sizeClass(promptBytes: number, stream: boolean): number {
  const length = Math.min(31, Math.floor(Math.log2(Math.max(1, promptBytes))));
  return stream ? length : 32 + length;
}
