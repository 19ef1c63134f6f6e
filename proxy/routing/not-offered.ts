/** What is said of a provider that can't be asked for something. */
import type { ProviderConfig } from "../../shared/config/config.js";
import { type Failure, invalid } from "../../shared/error-code.js";
import type { Operation } from "../../shared/operation.js";

export function notOffered({ name }: ProviderConfig, operation: Operation): Failure {
  return invalid(`provider ${name} does not offer ${operation}`, "model");
}
