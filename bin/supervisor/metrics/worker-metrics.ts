/**
 * The metrics of proxies that share a port under systemd, without a supervisor of Sluice: the
 * scraped proxy asks the others, each on its own socket in a shared directory. Nothing is added up,
 * since the counts of ended proxies aren't known: each series has the label of its process.
 */
import { readdirSync, rmSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { basename, dirname, join } from "node:path";
import type { ProxyGroup } from "../../../proxy/metrics/metrics.js";
import { socketPathBytesMax } from "../../../shared/bounds.js";
import { isAbsent } from "../../../shared/checked.js";
import { serviceVariables } from "../../../shared/config/settings/settings.js";
import { makeDirectory } from "../../../shared/make-directory.js";
import {
  parseMetricsMessage,
  type ReportedMetrics,
} from "../../../shared/metrics/reported-metrics.js";
import { OddAnswers, type WorkerAnswer } from "./odd-answers.js";
import { labelsOf, type WorkerPlace, workerPlace, workerPlacesIn } from "./worker-places.js";

interface WorkerOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly pid?: number;
  readonly nowMs?: () => number;
  /** A proxy that takes longer is stuck, and its series are omitted. */
  readonly answerMs?: number;
}

/** Twice the answer of a proxy with the default maximum of series. */
const answerBytesMax = 32 * 1024 * 1024;
/** For all answers to one scrape, which are in memory together. */
const answersBytesMax = 4 * answerBytesMax;
const connectionsMax = 16;
/** An older socket without a listener was left by a killed process. */
const bindingMs = 10_000;

type ReadMetrics = () => Promise<ReportedMetrics>;

/** Null for a proxy with its own port, or that a supervisor of Sluice has started. */
export function workerMetrics({
  env = process.env,
  pid = process.pid,
  nowMs = () => Date.now(),
  answerMs = 1_000,
}: WorkerOptions = {}): ProxyGroup | null {
  const configured = env[serviceVariables.workerMetrics];
  if (configured === undefined || configured === "") return null;
  const directory = dirname(configured);
  const name = basename(configured);
  let read: ReadMetrics | null = null;
  let gathering: Promise<ReportedMetrics> | null = null;
  let report: OddAnswers = new OddAnswers(() => {});
  let served: { readonly place: WorkerPlace; readonly server: Server } | null = null;
  const metricsOf = async (place: WorkerPlace, room: Room): Promise<ReportedMetrics | null> => {
    const answer = await ask(join(directory, place.file), answerMs, room);
    if (answer === "no_listener" && nowMs() - place.servesSinceMs > bindingMs)
      rmSync(join(directory, place.file), { force: true });
    report.noteAnswer(place, answer);
    return typeof answer === "object" && "counted" in answer ? answer : null;
  };
  const gatherAll = async (): Promise<ReportedMetrics> => {
    // A proxy that can't serve, as on a full disk, reports only its own metrics, under its name.
    const ownPlace = served?.place ?? workerPlace(name, nowMs(), pid);
    const files = served === null ? [] : filesIn(directory);
    report.there(files);
    const otherPlaces = workerPlacesIn(files).filter(({ file }) => file !== ownPlace.file);
    const room = { bytes: answersBytesMax };
    const reported = await Promise.all(
      [...labelsOf([ownPlace, ...otherPlaces])].map(async ([place, label]) =>
        withWorkerLabel(await (place === ownPlace ? read?.() : metricsOf(place, room)), label),
      ),
    );
    return {
      counted: reported.flatMap(({ counted }) => counted),
      read: reported.flatMap((report) => report.read),
    };
  };
  return {
    sums: false,
    answerWith(own) {
      read = own;
    },
    async serves(onOdd) {
      report = new OddAnswers(onOdd);
      makeDirectory(directory, 0o700);
      const place = workerPlace(name, nowMs(), pid);
      served = { place, server: await answerOn(join(directory, place.file), read, answerMs) };
    },
    gather() {
      // Concurrent scrapes share one answer.
      gathering ??= gatherAll().finally(() => {
        gathering = null;
      });
      return gathering;
    },
    async leave() {
      if (served === null) return;
      served.server.close();
      rmSync(join(directory, served.place.file), { force: true });
      served = null;
    },
  };
}

function filesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    // The directory was removed, so no other worker can be asked.
    return [];
  }
}

function withWorkerLabel(
  reported: ReportedMetrics | null | undefined,
  label: string,
): ReportedMetrics {
  const all = (series: ReportedMetrics["read"]): ReportedMetrics["read"] =>
    series.map(([name, labels, values]) => [name, [...labels, label], values] as const);
  return isAbsent(reported)
    ? { counted: [], read: [] }
    : { counted: all(reported.counted), read: all(reported.read) };
}

/** Answers every connection, and reads nothing from it. */
function answerOn(path: string, read: ReadMetrics | null, answerMs: number): Promise<Server> {
  const server = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    socket.setTimeout(answerMs, () => socket.destroy());
    socket.resume();
    void read?.().then(
      (reported) => socket.end(JSON.stringify({ metrics: "reported", id: 0, ...reported })),
      () => socket.destroy(),
    );
  });
  server.maxConnections = connectionsMax;
  // A longer path would be truncated.
  if (Buffer.byteLength(path) > socketPathBytesMax)
    return Promise.reject(new Error(`${path} is too long for a socket`));
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, () => resolve(server.unref()));
  });
}

/** The bytes of answers that may still be read. */
interface Room {
  bytes: number;
}

/** Errors that mean that the proxy has ended. */
const answerOfError: ReadonlyMap<string, WorkerAnswer> = new Map([
  ["ECONNREFUSED", "no_listener"],
  // The proxy ended after the directory was read.
  ["ENOENT", "gone"],
  ["ECONNRESET", "gone"],
  ["EPIPE", "gone"],
]);

/** `no_listener`: there is no listener. Other texts say why there is no readable answer. */
function ask(path: string, answerMs: number, room: Room): Promise<WorkerAnswer> {
  return new Promise((resolve) => {
    const pieces: Buffer[] = [];
    let bytes = 0;
    const socket = connect(path);
    const timer = setTimeout(() => socket.destroy(), answerMs);
    socket.on("error", ({ code = "unknown" }: NodeJS.ErrnoException) =>
      resolve(answerOfError.get(code) ?? { code }),
    );
    socket.on("data", (piece) => {
      bytes += piece.length;
      room.bytes -= piece.length;
      if (bytes <= answerBytesMax && room.bytes >= 0) return void pieces.push(piece);
      resolve("too large");
      socket.destroy();
    });
    socket.on("end", () => resolve(parseAnswer(Buffer.concat(pieces).toString("utf8"))));
    socket.on("close", () => {
      clearTimeout(timer);
      resolve("none in time");
    });
  });
}

function parseAnswer(text: string): WorkerAnswer {
  try {
    const message = parseMetricsMessage(JSON.parse(text));
    if (message?.metrics === "reported") return message;
  } catch {
    // Truncated, or from another program.
  }
  return text === "" ? "gone" : "no metrics";
}
