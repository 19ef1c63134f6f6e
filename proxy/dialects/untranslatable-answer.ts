/** What a translation throws of an answer that makes no sense in the provider's dialect. The message is a sentence for the log and the client. */
export class UntranslatableAnswer extends Error {
  override name = "UntranslatableAnswer";
}
