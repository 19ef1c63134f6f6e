/**
 * Reads the input file of a batch from its provider: whether the caller may submit it, and its
 * size.
 */
import { type Failure, failure } from "../../../shared/error-code.js";
import type { Provider } from "../../gateway.js";
import { forwardRequestHeaders, pairsWhose } from "../../http/copy-headers.js";
import type { Admission } from "../../limiter/admission.js";
import { problemInLines } from "../../objects/batch-input.js";
import { AnswerBroken, fetchPieces } from "../../objects/fetch-pieces.js";
import { firstForeign } from "../../objects/object-access.js";
import type { RequestContext } from "../../request-context.js";
import { unansweredFailure } from "../../upstream/errors/provider-failure.js";
import { mapUpstreamError } from "../../upstream/errors/upstream-error.js";
import { objectPath } from "./send-object-request.js";

/** The size of a provider's error. */
const errorBytesMax = 64 * 1024;

interface BatchInput {
  /** Null if the input has none. */
  readonly problem: Failure | null;
  /** The size of the whole file, if there is no problem. */
  readonly bytes: number;
}

/** Reads the input of a batch whose body was checked. */
export async function readBatchInput(
  { gateway, exchange, caller }: RequestContext<"config" | "isUtf8" | "limiter">,
  { userPath }: Pick<Admission, "userPath">,
  { provider, fileId }: { readonly provider: Provider; readonly fileId: string },
): Promise<BatchInput> {
  const { config, upstream, passed } = provider;
  let bytes = 0;
  const cantCheck = (problem: Failure): BatchInput => ({
    problem: {
      ...problem,
      message: `the input file ${fileId} can't be checked: ${problem.message}`,
      param: "input_file_id",
    },
    bytes,
  });
  async function* countBytes(pieces: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
    for await (const piece of pieces) {
      bytes += piece.length;
      yield piece;
    }
  }
  const answer = await fetchPieces(upstream, {
    path: objectPath(config, "files", { rest: `/${fileId}/content`, query: "" }),
    headers: forWholeFile(forwardRequestHeaders(exchange.rawHeaders, passed)),
    onCall: (abort) => exchange.onGone(abort),
  });
  if (answer.kind === "failed")
    return cantCheck(unansweredFailure(config.name, false, answer.failure));
  try {
    if (answer.status !== 200) {
      const error = upstream.redact((await firstBytes(answer.pieces)).toString("latin1"));
      return cantCheck(
        answer.status < 300
          ? partOfFile(config.name, answer.status)
          : mapUpstreamError(config.name, answer.status, Buffer.from(error, "latin1")),
      );
    }
    const { uploadBytesMax, bodyBytesMax } = gateway.config.server;
    const problem = await problemInLines({
      fileId,
      pieces: countBytes(answer.pieces),
      fileBytesMax: uploadBytesMax,
      lineBytesMax: bodyBytesMax,
      memory: exchange.memory,
      isUtf8: gateway.isUtf8,
      firstForeign: (ids) =>
        caller.isOperator
          ? Promise.resolve({ ok: true, id: null })
          : firstForeign(gateway.limiter, userPath, ids),
    });
    return { problem, bytes };
  } catch (error) {
    if (!(error instanceof AnswerBroken)) throw error;
    return cantCheck(unansweredFailure(config.name, true, error.failure));
  }
}

/**
 * Without the caller's headers for ranges or encodings: Sluice must check exactly what the provider
 * executes.
 */
function forWholeFile(headers: readonly string[]): string[] {
  return pairsWhose(headers, (name) => !/^(?:range|if-|accept|content-)/i.test(name));
}

/** Any other success, such as 206, returns a part of the file or nothing. */
function partOfFile(provider: string, status: number): Failure {
  return {
    ...failure("provider_unavailable", `${provider} answered ${status}, not 200`),
    provider,
  };
}

async function firstBytes(pieces: AsyncIterable<Buffer>): Promise<Buffer> {
  const readPieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    readPieces.push(piece);
    bytes += piece.length;
    if (bytes > errorBytesMax) break;
  }
  return Buffer.concat(readPieces);
}
