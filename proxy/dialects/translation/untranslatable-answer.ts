/**
 * What a translation throws of an answer that makes no sense in the provider's dialect. The message
 * is a sentence for the log and the client.
 */
export class UntranslatableAnswer extends Error {
  override name = "UntranslatableAnswer";
}

/**
 * Of one that has no place for it in the client's dialect because it has failed: another try, or
 * another target, may do better.
 */
export class FailedAnswer extends UntranslatableAnswer {
  override name = "FailedAnswer";
}
