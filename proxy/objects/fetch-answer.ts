/** Sends a request of Sluice's own to a provider, and returns the short answer as a whole. */
import type { UpstreamFailure } from "../upstream/errors/upstream-failure.js";
import type { Upstream, UpstreamCall } from "../upstream/upstream.js";

type FetchedAnswer =
  | { readonly kind: "answered"; readonly status: number; readonly body: Buffer }
  | {
      readonly kind: "failed";
      readonly failure: UpstreamFailure;
      /** Whether the provider's answer was a success, but is larger than `bytesMax`. */
      readonly isTooLarge: boolean;
    };

interface Fetch {
  readonly path: string;
  /** As in `UpstreamRequest`. */
  readonly isNative?: boolean;
  readonly headers: readonly string[];
  readonly bytesMax: number;
  /** Called once, with a function that ends the call. */
  readonly onCall: (abort: () => void) => void;
}

/** Sends a GET. Never rejects. Keys that the provider repeats in an error are removed. */
export function fetchAnswer(
  upstream: Upstream,
  { path, isNative = false, headers, bytesMax, onCall }: Fetch,
): Promise<FetchedAnswer> {
  return new Promise((resolve) => {
    const pieces: Buffer[] = [];
    let bytes = 0;
    let status = 0;
    let call: UpstreamCall | null = null;
    const fail = (reason: string, isTooLarge = false): void => {
      call?.abort();
      resolve({ kind: "failed", failure: { kind: "broken", reason }, isTooLarge });
    };
    call = upstream.send(
      { method: "GET", path, isNative, headers, body: null, isRepeatable: true },
      {
        onHead(code) {
          status = code;
        },
        onData(piece) {
          bytes += piece.length;
          pieces.push(piece);
          if (bytes > bytesMax) fail(`its answer is larger than ${bytesMax} bytes`, status < 300);
        },
        onEnd() {
          const body = Buffer.concat(pieces);
          const clean = status < 300 ? body : withoutKeys(upstream, body);
          resolve({ kind: "answered", status, body: clean });
        },
        onFailure: (failure) => resolve({ kind: "failed", failure, isTooLarge: false }),
        onBug: (error) => fail(String(error)),
      },
    );
    onCall(() => fail("the client is gone"));
  });
}

function withoutKeys(upstream: Upstream, error: Buffer): Buffer {
  return Buffer.from(upstream.redact(error.toString("latin1")), "latin1");
}
