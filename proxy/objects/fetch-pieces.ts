/** Sends a request of Sluice's own to a provider, and returns the long answer in pieces. */
import type { UpstreamFailure } from "../upstream/errors/upstream-failure.js";
import type { Upstream, UpstreamCall } from "../upstream/upstream.js";

export type FetchedPieces =
  /** The provider waits while the pieces aren't read. Reading may throw `AnswerBroken`. */
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly pieces: AsyncIterable<Buffer>;
    }
  | { readonly kind: "failed"; readonly failure: UpstreamFailure };

/** The answer ended early; thrown while it is read. */
export class AnswerBroken extends Error {
  override name = "AnswerBroken";
  readonly failure: UpstreamFailure;

  constructor(failure: UpstreamFailure) {
    super(failure.reason);
    this.failure = failure;
  }
}

interface Fetch {
  readonly path: string;
  /** As in `UpstreamRequest`. */
  readonly isNative?: boolean;
  readonly headers: readonly string[];
  /** Called once, with a function that ends the call. */
  readonly onCall: (abort: () => void) => void;
}

/** Sends a GET. Never rejects. The pieces must be read, or left by a `break` or `return`. */
export function fetchPieces(
  upstream: Upstream,
  { path, isNative = false, headers, onCall }: Fetch,
): Promise<FetchedPieces> {
  return new Promise((resolve) => {
    const waiting: Buffer[] = [];
    let hasEnded = false;
    let broken: UpstreamFailure | null = null;
    let call: UpstreamCall | null = null;
    let wake = (): void => {};
    const fail = (failure: UpstreamFailure): void => {
      broken ??= failure;
      call?.abort();
      resolve({ kind: "failed", failure });
      wake();
    };
    async function* pieces(): AsyncGenerator<Buffer> {
      try {
        for (;;) {
          const piece = waiting.shift();
          if (piece !== undefined) yield piece;
          else if (broken !== null) throw new AnswerBroken(broken);
          else if (hasEnded) return;
          else {
            const came = new Promise<void>((next) => {
              wake = next;
            });
            call?.resume();
            await came;
          }
        }
      } finally {
        if (!hasEnded) call?.abort();
      }
    }
    call = upstream.send(
      { method: "GET", path, isNative, headers, body: null, isRepeatable: true },
      {
        onHead: (status) => resolve({ kind: "answered", status, pieces: pieces() }),
        onData(piece) {
          waiting.push(piece);
          call?.pause();
          wake();
        },
        onEnd() {
          hasEnded = true;
          wake();
        },
        onFailure: fail,
        onBug: (error) => fail({ kind: "broken", reason: String(error) }),
      },
    );
    onCall(() => fail({ kind: "broken", reason: "the client is gone" }));
  });
}
