/**
 * What a call to a provider is charged, by how it ended. The upper bound is absent where the charge
 * is exact. "Request" is the most that the request can use (`usage-bound.ts`).
 *
 * | end | what came | charge | upper bound |
 * |---|---|---|---|
 * | complete | a usage | as reported | |
 * | complete | text, and a usage of 0 tokens | estimate | request |
 * | complete | a usage with output and no input | reported, and the prompt | request |
 * | complete | a stream's text, and 0 output, under hard caps | reported, and its text | request |
 * | complete | no text, and 0 tokens of a model that writes it | as reported | request |
 * | complete | no usage | estimate | request, if a model ran on text |
 * | complete | a stream that begins with an error | as for an error | |
 * | complete | a stream that holds nothing but a failure | as for failed | |
 * | running | the start of a background response | estimate of the prompt | request |
 * | failed | a usage | as reported | as reported: the fee is unknown |
 * | failed | no usage, or 0 tokens | | request, if a model ran on text |
 * | error | 408, 504, 524, or the first event of a stream | | request, if a model ran on text |
 * | error | any other | | |
 * | untranslatable | a whole answer with a usage | as for complete | |
 * | untranslatable | anything else | what came | request |
 * | cut | a stream up to its last event, with a usage | as for complete | |
 * | cut | nothing; the request wasn't sent whole | | |
 * | cut | nothing | estimate of the prompt and hidden reasoning | request |
 * | cut | part of an answer | what came, and hidden reasoning unless it is shown | request |
 * | capped | a stream up to its last event, with a usage | as for complete | |
 * | capped | part of an answer | what came, and hidden reasoning unless it is shown | request |
 * | cut | the status of an error, or a stream that begins with an error | as for an error | |
 *
 * A request that was lost and sent again adds its own bound in each row.
 *
 * Not here: the usage that an answer reports or shows (`response-meter.ts`), and its price.
 */
import { countsNothing, joinedNotes, type MeteredUsage, unmetered } from "./count-usage.js";
import { withHiddenReasoning } from "./hidden-reasoning.js";
import type { ResponseMeter } from "./response-meter.js";
import { noUsage, sumOfUsages, type Usage } from "./usage.js";
import { boundOfUsage, isBoundedByTokens, type SentRequest } from "./usage-bound.js";

/** How a call ended. */
export type CallEnd =
  /** The answer is complete, whatever its usage. */
  | "complete"
  /** The provider continues in the background. */
  | "running"
  /** The whole answer arrived, and it is empty or only reports that the model failed. */
  | "failed"
  /** The provider answered with an error or a redirect. */
  | "error"
  /** The answer can't be translated to the client's dialect. */
  | "untranslatable"
  /** The provider, the client or a deadline ended the call before the answer was complete. */
  | "cut"
  /** A hard cap ended the stream. */
  | "capped";

/** A call that ends. */
export interface EndedCall {
  /** The provider's status; 0 before its response. */
  readonly status: number;
  /** Whether the whole request was sent: the provider may then work on it and bill it. */
  readonly isSent: boolean;
  /** Whether the request was lost and sent again: the provider may have worked twice. */
  readonly isResent: boolean;
  readonly meter: ResponseMeter;
  /** Called only for an unknown usage. */
  sentRequest(): SentRequest;
  /** The time since the request was sent. */
  elapsedMs(): number;
}

/**
 * `note`: why the call ended, for the log. `answer`: what the meter read of a complete or failed
 * answer, unless it is a stream.
 */
export function chargeFor(
  call: EndedCall,
  end: CallEnd,
  note: string | null = null,
  answer?: unknown,
): MeteredUsage {
  const charge = chargeForAnswer(call, end, note, answer);
  if (!call.isResent) return charge;
  const bound = boundOfUsage(noUsage, call.sentRequest());
  const atMost = charge.atMost ?? charge.usage;
  return { ...charge, atMost: atMost === null ? bound : sumOfUsages(atMost, bound) };
}

/** As `chargeFor`, without a lost request. */
function chargeForAnswer(
  call: EndedCall,
  end: CallEnd,
  note: string | null,
  answer: unknown,
): MeteredUsage {
  const { status, meter } = call;
  switch (end) {
    case "complete":
      if (meter.beginsWithError) return chargeForAnswer(call, "error", note, answer);
      if (meter.isFailed) return chargeForAnswer(call, "failed", note, answer);
      return chargeForComplete(call, meter.usageOf(answer));
    case "running":
      return withBound(call, meter.usageOfPrompt(note));
    case "failed": {
      const { usage, estimated } = meter.usageOf(answer);
      return usage === null || estimated || isNothing(usage)
        ? chargeNothingBounded(call, note)
        : { usage, estimated, atMost: usage, note };
    }
    case "error":
      return isTimeoutStatus(status) || meter.isStream
        ? chargeNothingBounded(call, note)
        : { ...unmetered, note };
    case "untranslatable": {
      const metered = meter.usageSeen(note);
      return metered.estimated ? withBound(call, metered) : chargeForComplete(call, metered);
    }
    case "cut":
      if (status >= 300 || meter.beginsWithError)
        return chargeForAnswer(call, "error", note, answer);
      if (meter.isUsageComplete)
        return withNote(chargeForAnswer(call, "complete", note, answer), note);
      if (status === 0 && !call.isSent) return { ...unmetered, note };
      return chargeCutAnswer(
        call,
        status === 0 ? meter.usageOfPrompt(note) : meter.usageSeen(note),
      );
    case "capped":
      if (meter.isUsageComplete) return chargeForAnswer(call, "complete", note, answer);
      return chargeCutAnswer(call, meter.usageSeen(note));
  }
}

function chargeForComplete(call: EndedCall, metered: MeteredUsage): MeteredUsage {
  const { usage, estimated } = metered;
  if (usage === null || (!estimated && usage.totalTokens > 0)) return metered;
  const sent = call.sentRequest();
  const isUnknown = estimated ? isBoundedByTokens(sent) : countsNothing(usage, sent.operation);
  return isUnknown ? withBound(call, metered) : metered;
}

function chargeCutAnswer(call: EndedCall, metered: MeteredUsage): MeteredUsage {
  const isKnown = !metered.estimated || (call.status !== 0 && call.meter.isOutputKnown);
  if (metered.usage === null || isKnown) return withBound(call, metered);
  const usage = withHiddenReasoning(metered.usage, call.sentRequest(), call.elapsedMs());
  return withBound(call, { ...metered, usage });
}

function withBound(call: EndedCall, charge: MeteredUsage): MeteredUsage {
  const { usage } = charge;
  return usage === null ? charge : { ...charge, atMost: boundOfUsage(usage, call.sentRequest()) };
}

function withNote(charge: MeteredUsage, note: string | null): MeteredUsage {
  return { ...charge, note: joinedNotes(note, charge.note) };
}

function isNothing({ totalTokens, reportedCost }: Usage): boolean {
  return totalTokens === 0 && reportedCost === null;
}

/** Charges nothing for a request that the provider may have executed all the same. */
function chargeNothingBounded(call: EndedCall, note: string | null): MeteredUsage {
  const sent = call.sentRequest();
  const atMost = isBoundedByTokens(sent) ? boundOfUsage(noUsage, sent) : null;
  return { ...unmetered, atMost, note };
}

/** An intermediary gave up waiting; the provider may still execute the request. */
function isTimeoutStatus(status: number): boolean {
  return status === 408 || status === 504 || status === 524;
}
