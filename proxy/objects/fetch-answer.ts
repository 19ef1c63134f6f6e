/** A short answer of a provider's as a whole, for what Sluice asks itself. */
import type { UpstreamFailure } from "../upstream/errors/upstream-failure.js";
import type { Upstream, UpstreamCall } from "../upstream/upstream.js";

type FetchedAnswer =
  | { readonly kind: "answered"; readonly status: number; readonly body: Buffer }
  | {
      readonly kind: "failed";
      readonly failure: UpstreamFailure;
      /** Whether it succeeded, but is larger than `bytesMax`. */
      readonly isTooLarge: boolean;
    };

interface Fetch {
  readonly path: string;
  /** As in `UpstreamRequest`. */
  readonly isNative?: boolean;
  readonly headers: readonly string[];
  readonly bytesMax: number;
  /** Is handed what ends the call. */
  readonly onCall: (abort: () => void) => void;
}

/** A GET. Never rejects. An error comes without the keys that the provider may repeat in it. */
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
