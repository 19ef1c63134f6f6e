/**
 * The body of a request to a model as a text, which everything reads that asks before it is parsed:
 * so a large one is walked through once.
 */
import type { Operation } from "../../shared/operation.js";
import {
  type BodyOutline,
  inTurns,
  outlineOf,
  outlineSliced,
  strangerValuesMax,
} from "./count-values.js";

export interface BodyText {
  readonly bytes: Buffer;
  /** In Latin-1: see `model-body.ts`. */
  readonly text: string;
  /** Null: so short that nobody asks. */
  readonly outline: BodyOutline | null;
}

/** Whose subject may be lists of tokens, by their ids: 2,048 of 8,192 each for embeddings. */
const takesTokens: ReadonlySet<Operation> = new Set<Operation>(["embeddings", "completions"]);

export function bodyText(operation: Operation, bytes: Buffer): BodyText {
  const text = bytes.toString("latin1");
  const isShort = text.length <= strangerValuesMax;
  return { bytes, text, outline: isShort ? null : outlineOf(text, takesTokens.has(operation)) };
}

/** A larger one is walked through in several turns of the event loop. */
export const slicedBytesMin = 1024 * 1024;

/** The same, of a large body. */
export async function largeBodyText(
  operation: Operation,
  bytes: Buffer,
  nextTurn: () => Promise<void>,
): Promise<BodyText> {
  const text = bytes.toString("latin1");
  await nextTurn();
  const outline = await inTurns(outlineSliced(text, takesTokens.has(operation)), nextTurn);
  await nextTurn();
  return { bytes, text, outline };
}

/** Whether parsing it takes so long that its caller must be known. */
export function isDense({ outline }: BodyText): boolean {
  return outline !== null && outline.values > strangerValuesMax;
}
