/**
 * The command line's connection to the daemon: connect, send a request, receive the answer, close.
 * Every wait has a deadline, and every error says what to do. Not here: the proxy's connection,
 * which reconnects and holds leases.
 */
import { randomUUID } from "node:crypto";
import { userInfo } from "node:os";
import { auditTextCharsMax, frameBytesMaxFromDaemon } from "../bounds.js";
import { dial } from "../socket/ipc.js";
import type { Peer } from "../socket/socket-peer.js";
import { adminSocketBeside } from "../socket/socket-place.js";
import { version } from "../version.js";
import { type AdminOp, type DaemonAnswer, isAudited, isChange } from "./admin-op.js";
import { createFrameReader, encodeFrame } from "./codec.js";
import { connectError, DaemonError } from "./daemon-error.js";
import type { FromDaemon } from "./message-from-daemon.js";
import { parseFromDaemon } from "./message-from-daemon.js";
import type { Requester, ToDaemon } from "./message-to-daemon.js";
import { writeToDaemon } from "./message-to-daemon.js";
import { describeVersions, type WireVersions, wireVersions } from "./wire-versions.js";

/** How long the command line waits for a connection, and for each answer. */
const daemonDeadlineMs = 5_000;

const thisBuild = `sluice ${version}, ${describeVersions(wireVersions)}`;
const lookAtLog = `see its log; this command line is ${thisBuild}`;

export interface DaemonClient {
  readonly socketPath: string;
  readonly daemonVersion: string;
  /** Rejects with `DaemonError` if no answer arrives. */
  call(op: AdminOp, body: unknown): Promise<DaemonAnswer>;
  /** Closes the connection; pending calls are rejected. */
  close(): void;
}

/**
 * Connects and waits for the welcome; rejects with `DaemonError`. The deadline applies to this and
 * to each later call. A daemon that doesn't support this release's wire version is offered older
 * ones, each on a new connection.
 */
export async function connectDaemon(options: {
  readonly socketPath: string;
  /** By default beside the socket for requests. */
  readonly adminSocketPath?: string;
  readonly deadlineMs?: number;
  readonly versions?: WireVersions;
}): Promise<DaemonClient> {
  const { socketPath, adminSocketPath = adminSocketBeside(socketPath) } = options;
  const { oldest, newest } = options.versions ?? wireVersions;
  for (let offered = newest; ; offered--) {
    const conversation = new Conversation(
      { socketPath, adminSocketPath },
      options.deadlineMs ?? daemonDeadlineMs,
    );
    try {
      await conversation.open(offered);
      return conversation;
    } catch (error) {
      conversation.close();
      const refused = error instanceof DaemonError && error.trouble === "refused";
      if (!refused || offered <= oldest) throw error;
    }
  }
}

/** The daemon can't see the user of its peer; only its own user and root can open this socket. */
function askedBy(op: AdminOp): Requester | undefined {
  if (!isAudited(op)) return undefined;
  return { who: `os user ${osUser()}`.slice(0, auditTextCharsMax), from: "socket", requestId: "" };
}

function osUser(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run as a user without a name.
    return String(process.getuid?.() ?? "unknown");
  }
}

interface Waiting {
  resolve(message: FromDaemon): void;
  reject(error: DaemonError): void;
}

class Conversation implements DaemonClient {
  readonly socketPath: string;
  readonly #adminSocketPath: string;
  daemonVersion = "";
  readonly #deadlineMs: number;
  readonly #reader = createFrameReader(frameBytesMaxFromDaemon);
  readonly #waiting = new Map<number, Waiting>();
  #link: { close(): void } | null = null;
  #peer: Peer | null = null;
  #lastId = 0;
  #ended: DaemonError | null = null;

  constructor(
    { socketPath, adminSocketPath }: { socketPath: string; adminSocketPath: string },
    deadlineMs: number,
  ) {
    this.socketPath = socketPath;
    this.#adminSocketPath = adminSocketPath;
    this.#deadlineMs = deadlineMs;
  }

  async open(wireVersion: number): Promise<void> {
    await this.#connect();
    const reply = await this.#exchange((id) => ({
      kind: "hello",
      id,
      wireVersion,
      role: "cli",
      proxyId: `cli-${randomUUID()}`,
      leases: [],
      more: false,
    }));
    if (reply.kind === "welcome") {
      this.daemonVersion = reply.daemonVersion;
      return;
    }
    if (reply.kind !== "failed")
      throw this.#brokenDaemonError(`a hello was answered by ${reply.kind}`);
    const { message } = reply.failure;
    throw new DaemonError(
      "refused",
      `the daemon on ${this.socketPath} refuses this command line (${thisBuild}): ${message}`,
    );
  }

  async call(op: AdminOp, body: unknown): Promise<DaemonAnswer> {
    const reply = await this.#exchange((id) => ({
      kind: "admin",
      id,
      op,
      body,
      by: askedBy(op),
    })).catch((error: unknown) => {
      throw error instanceof DaemonError && isChange(op)
        ? new DaemonError(
            error.trouble,
            `${error.message}; the change may have been made, or may still be`,
            error,
          )
        : error;
    });
    if (reply.kind === "answer") return { ok: true, body: reply.body };
    if (reply.kind === "failed" && reply.failure.code === "operation_unknown")
      throw this.#olderDaemonError(`doesn't know ${op}`);
    if (reply.kind === "failed") return { ok: false, failure: reply.failure };
    throw this.#brokenDaemonError(`${op} was answered by ${reply.kind}`);
  }

  close(): void {
    this.#end(new DaemonError("lost", "the conversation with the daemon was closed"));
  }

  #connect(): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => this.#end(this.#silentDaemonError("accept the connection")),
        this.#deadlineMs,
      );
      this.#waiting.set(0, { resolve: () => resolve(), reject });
      this.#link = dial({
        path: this.socketPath,
        adminPath: this.#adminSocketPath,
        mayRetry: false,
        onConnect: (peer) => {
          clearTimeout(timer);
          this.#waiting.delete(0);
          this.#peer = peer;
          resolve();
        },
        onError: (error) => {
          clearTimeout(timer);
          this.#end(connectError(this.socketPath, error));
        },
        onBytes: (_peer, bytes) => {
          if (!this.#reader.feed(bytes, (frame) => this.#onFrame(frame)))
            this.#end(this.#brokenDaemonError("its frames can't be read"));
        },
        onClose: () =>
          this.#end(
            new DaemonError(
              "lost",
              `the daemon on ${this.socketPath} hung up without an answer: ${this.#otherRelease()}${lookAtLog}`,
            ),
          ),
      });
    });
  }

  #exchange(make: (id: number) => ToDaemon): Promise<FromDaemon> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== null || this.#peer === null) {
        reject(
          this.#ended ?? new DaemonError("lost", "the conversation with the daemon isn't open"),
        );
        return;
      }
      const id = ++this.#lastId;
      const timer = setTimeout(
        () => this.#end(this.#silentDaemonError("answer")),
        this.#deadlineMs,
      );
      this.#waiting.set(id, {
        resolve: (message) => {
          clearTimeout(timer);
          resolve(message);
        },
        reject: (error) => {
          clearTimeout(timer);
          reject(error);
        },
      });
      this.#peer.send(encodeFrame(writeToDaemon(make(id))));
    });
  }

  #onFrame(frame: unknown): void {
    const message = parseFromDaemon(frame);
    if (message === null) {
      this.#end(this.#brokenDaemonError("it sent a message that isn't in the protocol"));
      return;
    }
    // Events and settles are for proxies; an answer with an unknown id is dropped.
    if (message.kind === "event" || message.kind === "unknown event") return;
    if (message.kind === "settled") return;
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    waiting?.resolve(message);
  }

  /** The only exit: closes the connection and rejects pending calls. */
  #end(error: DaemonError): void {
    if (this.#ended !== null) return;
    this.#ended = error;
    this.#link?.close();
    this.#peer?.close();
    for (const waiting of this.#waiting.values()) waiting.reject(error);
  }

  #olderDaemonError(problem: string): DaemonError {
    return new DaemonError(
      "refused",
      `the daemon is older than this command line: it is sluice ${this.daemonVersion} and ${problem}; restart it with this release (${thisBuild})`,
    );
  }

  /** An earlier release closes the connection on an unknown operation. */
  #otherRelease(): string {
    const { daemonVersion } = this;
    return daemonVersion === "" || daemonVersion === version
      ? ""
      : `it is sluice ${daemonVersion}, which may not know what was asked; `;
  }

  #silentDaemonError(doing: string): DaemonError {
    return new DaemonError(
      "silent",
      `the daemon on ${this.socketPath} didn't ${doing} within ${this.#deadlineMs} ms: look at its log, or restart it`,
    );
  }

  #brokenDaemonError(problem: string): DaemonError {
    return new DaemonError(
      "broken",
      `what listens on ${this.socketPath} isn't a daemon of sluice ${version}: ${problem}`,
    );
  }
}
