/** What the types of providers can be asked for. */
import { type Operation, operations } from "../operation.js";
import type { ProviderConfig } from "./config.js";

const byType: Readonly<Record<ProviderConfig["type"], ReadonlySet<Operation>>> = {
  openai: new Set(operations.filter((operation) => operation !== "messages" && operation !== "count_tokens")),
  simulator: new Set<Operation>(["chat_completions"]),
};

export function operationsOf(type: ProviderConfig["type"]): ReadonlySet<Operation> {
  return byType[type];
}
