/** In which dialect one call goes to a target: it is asked before the admission, and to send it. */
import type { ProviderConfig } from "../../shared/config/config.js";
import type { Operation } from "../../shared/operation.js";
import type { AskedOfResponses } from "../body/meaning/asked-of-responses.js";
import type { AskedReasoning } from "../body/meaning/asked-reasoning.js";
import { chooseDialect, needsResponses, offeredTo } from "./choose-dialect.js";

interface AskedCall {
  readonly reasoning: AskedReasoning;
  readonly asked: AskedOfResponses;
}

export class CallDialects {
  readonly #operation: Operation;
  readonly #call: AskedCall;
  /** What was asked last, as nearly always there is one target. */
  #provider: ProviderConfig | null = null;
  #model = "";
  #last: ReturnType<typeof chooseDialect> = null;

  constructor(operation: Operation, call: AskedCall) {
    this.#operation = operation;
    this.#call = call;
  }

  /** Null: the call can't be sent there. */
  at(provider: ProviderConfig, model: string): ReturnType<typeof chooseDialect> {
    if (provider === this.#provider && model === this.#model) return this.#last;
    this.#provider = provider;
    this.#model = model;
    this.#last = this.#choose(provider, model);
    return this.#last;
  }

  #choose(provider: ProviderConfig, model: string): ReturnType<typeof chooseDialect> {
    const isNeeded = needsResponses(provider, model, this.#call.reasoning);
    const offered = offeredTo(provider, model, this.#call.asked);
    const dialect = chooseDialect(this.#operation, offered, isNeeded);
    // An estimate is better than the 404 of a host that may not count.
    const counts = dialect?.operation !== "input_tokens" || provider.chat.countsTokens;
    return counts || dialect.translation === null ? dialect : null;
  }
}
