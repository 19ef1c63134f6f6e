/**
 * Reports invalid answers of other proxies about their metrics, and proxies that can't be asked. A
 * scrape shows the valid part of an answer. Each proxy is reported once, until it answers correctly
 * or leaves. Pure.
 */
import type { ReportedMetrics } from "../../../shared/metrics/reported-metrics.js";
import type { WorkerPlace } from "./worker-places.js";

/** `no_listener`, `gone`: the proxy has ended, or is about to. `code`: why it couldn't be asked. */
export type WorkerAnswer =
  | (ReportedMetrics & { readonly odd: number })
  | { readonly code: string }
  | "no_listener"
  | "gone"
  | "none in time"
  | "too large"
  | "no metrics";

/** A port has at most this many proxies; further ones aren't reported. */
const reportedMax = 128;

const reasons = {
  "none in time": "it doesn't answer in time",
  "too large": "its answer is too large",
  "no metrics": "what it answers are no metrics",
} as const;

/** Why a proxy can't be asked, in words; for other errors the code. */
const refusals: ReadonlyMap<string, string> = new Map([
  ["EACCES", "permission denied"],
  ["EPERM", "permission denied"],
  ["EMFILE", "this process may not open more files"],
  ["ENFILE", "this host may not open more files"],
  ["EAGAIN", "too many wait for it already"],
]);

export class OddAnswers {
  readonly #onOdd: (proxy: string, reason: string) => void;
  readonly #reported = new Set<string>();

  constructor(onOdd: (proxy: string, reason: string) => void) {
    this.#onOdd = onOdd;
  }

  noteAnswer({ file }: Pick<WorkerPlace, "file">, answer: WorkerAnswer): void {
    const reason = reasonOf(answer);
    if (reason === null) return void this.#reported.delete(file);
    if (this.#reported.has(file) || this.#reported.size >= reportedMax) return;
    this.#reported.add(file);
    this.#onOdd(file, reason);
  }

  /** Forgets proxies that have no file any more: they have left. */
  there(files: readonly string[]): void {
    const still = new Set(files);
    for (const file of this.#reported) if (!still.has(file)) this.#reported.delete(file);
  }
}

function reasonOf(answer: WorkerAnswer): string | null {
  if (answer === "no_listener" || answer === "gone") return null;
  if (typeof answer === "string") return reasons[answer];
  if ("code" in answer) return `it can't be asked: ${refusals.get(answer.code) ?? answer.code}`;
  return answer.odd === 0 ? null : `${answer.odd} of its series are odd`;
}
